"""From what a user names as a server to the channel that reaches it.

A server object, a command, a Python file, or an entry of a client's configuration
file (`{"command": ..., "args": [...], "env": {...}}`).
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from dovetail.client.channel import Channel, Connectable
from dovetail.client.memory import MemoryChannel
from dovetail.client.stdio import Command, StdioChannel
from dovetail.errors import UsageError

__all__ = ["Target", "find_command", "open_target"]

Target: TypeAlias = Connectable | str | os.PathLike[str] | Sequence[str] | Mapping[str, Any]

# A file, and behind a colon the name of the server object in it.
_PYTHON_FILE = re.compile(r"[^\s].*\.py(:[A-Za-z_]\w*)?")


def open_target(
    target: Target,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    echo_stderr: bool = False,
) -> Channel:
    """A channel, not opened yet; raises UsageError for what names no server."""
    if not isinstance(target, (str, os.PathLike, Sequence, Mapping)):
        if not callable(getattr(target, "connect", None)):
            raise UsageError(f"{target!r} is no server: {_ALLOWED}")
        return MemoryChannel(target)
    return StdioChannel(find_command(target, env, cwd), echo_stderr=echo_stderr)


def find_command(
    target: str | os.PathLike[str] | Sequence[str] | Mapping[str, Any],
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> Command:
    """The process that a target stands for; raises UsageError."""
    argv, own_env = _read_command(target)
    if not argv or not argv[0]:
        raise UsageError(f"{target!r} holds no command to start")
    return Command(argv, {**own_env, **(env or {})}, cwd)


_ALLOWED = (
    "give a Server, a command (text or list), a path to a .py file, "
    'or {"command": ..., "args": [...], "env": {...}}'
)


def _read_command(
    target: str | os.PathLike[str] | Sequence[str] | Mapping[str, Any],
) -> tuple[list[str], Mapping[str, str]]:
    if isinstance(target, Mapping):
        return _read_entry(target)
    if isinstance(target, os.PathLike):
        return _run_file(os.fspath(target)), {}
    if not isinstance(target, str):
        return _check_texts(target, "a command"), {}
    _refuse_url(target)
    if _PYTHON_FILE.fullmatch(target) and _exists(target):
        return _run_file(target), {}
    try:
        return shlex.split(target), {}
    except ValueError as error:
        raise UsageError(f"The command {target!r} cannot be split: {error}") from None


def _read_entry(entry: Mapping[str, Any]) -> tuple[list[str], Mapping[str, str]]:
    _refuse_url(entry.get("url", ""))
    command = entry.get("command")
    if not isinstance(command, str) or not command:
        raise UsageError(f"The entry has no text under 'command': {dict(entry)!r}")
    arguments = _check_texts(entry.get("args") or (), "'args'")
    env = entry.get("env") or {}
    if not isinstance(env, Mapping):
        raise UsageError(f"'env' must map names to texts, got {env!r}")
    return [command, *arguments], {str(name): str(value) for name, value in env.items()}


def _check_texts(parts: Any, what: str) -> list[str]:
    if isinstance(parts, str) or not isinstance(parts, Sequence):
        raise UsageError(f"{what} must be a list of texts, got {parts!r}")
    for part in parts:
        if not isinstance(part, str):
            raise UsageError(f"{what} must be a list of texts, got {part!r} in it")
    return list(parts)


def _refuse_url(text: Any) -> None:
    if isinstance(text, str) and text.startswith(("http://", "https://")):
        raise UsageError(f"{text!r} is a URL; HTTP servers come with the HTTP transport")


def _exists(file: str) -> bool:
    return os.path.exists(file.rpartition(":")[0] if not file.endswith(".py") else file)


def _run_file(file: str) -> list[str]:
    return [sys.executable, "-m", "dovetail", "run", file]

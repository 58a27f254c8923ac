"""From what a user names as a server to the channel that reaches it.

A server object, a command, a Python file, a URL, or an entry of a client's configuration
file (`{"command": ..., "args": [...], "env": {...}}` or `{"url": ..., "headers": {...}}`).
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

__all__ = ["Target", "find_command", "is_url", "open_target"]

Target: TypeAlias = Connectable | str | os.PathLike[str] | Sequence[str] | Mapping[str, Any]

# A file, and behind a colon the name of the server object in it.
_PYTHON_FILE = re.compile(r"[^\s].*\.py(:[A-Za-z_]\w*)?")


def open_target(
    target: Target,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    echo_stderr: bool = False,
    headers: Mapping[str, str] | None = None,
) -> Channel:
    """A channel, not opened yet; raises UsageError for what names no server."""
    url = _find_url(target)
    if url is not None:
        own = _read_headers(target.get("headers")) if isinstance(target, Mapping) else {}
        return _open_url(url, {**own, **(headers or {})})
    if headers:
        raise UsageError(f"headers= are for a URL; {_show(target)} is reached without HTTP")
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
        raise UsageError(f"{_show(target)} holds no command to start")
    return Command(argv, {**own_env, **(env or {})}, cwd)


_ALLOWED = (
    "give a Server, a command (text or list), a path to a .py file, a URL, "
    'or {"command": ..., "args": [...], "env": {...}}'
)


def _find_url(target: Target) -> str | None:
    text = target.get("url") if isinstance(target, Mapping) else target
    if isinstance(target, Mapping) and text is not None and not isinstance(text, str):
        raise UsageError(f"'url' must be a text, got {text!r}")
    if isinstance(target, Mapping) and isinstance(text, str) and not is_url(text):
        raise UsageError(f"'url' must begin with http:// or https://, got {text!r}")
    return text if isinstance(text, str) and is_url(text) else None


def is_url(text: str) -> bool:
    """Whether a text names a server over HTTP, and no command."""
    return text.lower().startswith(("http://", "https://"))


def _read_headers(headers: Any) -> Mapping[str, str]:
    if not isinstance(headers or {}, Mapping):
        raise UsageError("'headers' must map names to texts")
    return headers or {}


def _open_url(url: str, headers: Mapping[str, str]) -> Channel:
    try:
        # h11 comes with the HTTP server; a client of processes must not need it.
        from dovetail.client.http_channel import HttpChannel  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name != "h11":
            raise
        raise UsageError("A URL needs the package h11: pip install h11") from None
    return HttpChannel(url, headers)


def _read_command(
    target: str | os.PathLike[str] | Sequence[str] | Mapping[str, Any],
) -> tuple[list[str], Mapping[str, str]]:
    if isinstance(target, Mapping):
        return _read_entry(target)
    if isinstance(target, os.PathLike):
        return _run_file(os.fspath(target)), {}
    if not isinstance(target, str):
        return _check_texts(target, "a command"), {}
    if _PYTHON_FILE.fullmatch(target) and _exists(target):
        return _run_file(target), {}
    try:
        return shlex.split(target), {}
    except ValueError as error:
        raise UsageError(f"The command {target!r} cannot be split: {error}") from None


def _read_entry(entry: Mapping[str, Any]) -> tuple[list[str], Mapping[str, str]]:
    command = entry.get("command")
    if not isinstance(command, str) or not command:
        raise UsageError(f"The entry has no text under 'command' or 'url'; {_show(entry)}")
    arguments = _check_texts(entry.get("args") or (), "'args'")
    env = entry.get("env") or {}
    if not isinstance(env, Mapping):
        raise UsageError(f"'env' must map names to texts, got a {type(env).__name__}")
    return [command, *arguments], {str(name): str(value) for name, value in env.items()}


def _check_texts(parts: Any, what: str) -> list[str]:
    if isinstance(parts, str) or not isinstance(parts, Sequence):
        raise UsageError(f"{what} must be a list of texts, got {parts!r}")
    for part in parts:
        if not isinstance(part, str):
            raise UsageError(f"{what} must be a list of texts, got {part!r} in it")
    return list(parts)


def _show(target: object) -> str:
    """What was given, without the values of an entry, some of which are secrets."""
    if not isinstance(target, Mapping):
        return repr(target)
    return f"an entry with {', '.join(map(repr, target)) or 'nothing in it'}"


def _exists(file: str) -> bool:
    return os.path.exists(file.rpartition(":")[0] if not file.endswith(".py") else file)


def _run_file(file: str) -> list[str]:
    return [sys.executable, "-m", "dovetail", "run", file]

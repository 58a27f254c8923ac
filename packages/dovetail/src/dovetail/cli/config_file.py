"""Servers in the configuration file of a client: `{"mcpServers": {"weather": {...}}}`.

An entry has `command`, `args`, `env` and `cwd`, or `url` and `headers`. As in the clients that read
such files, `${NAME}`, `${NAME:-default}` and `${env:NAME}` stand for environment variables.
Messages never show values, because many are secrets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from dovetail.errors import UsageError
from dovetail.wire import codec

__all__ = ["read_entry"]

# The member with the servers; editors use the second name.
_MEMBERS = ("mcpServers", "servers")
_VARIABLE = re.compile(r"\$\{(?P<source>\w+:(?!-))?(?P<name>[^}:]*)(?::-(?P<default>[^}]*))?\}")


def read_entry(file: str, name: str | None) -> Mapping[str, Any]:
    """The entry of a server, as a target of the client; raises UsageError."""
    servers = _read_servers(file)
    entry = servers.get(name) if name is not None else None
    if name is None or name not in servers:
        problem = "Name a server" if name is None else f"There is no server {name!r}"
        raise UsageError(f"{problem} in {file!r}; it has: {', '.join(servers) or 'none'}")
    if not isinstance(entry, Mapping) or not ("command" in entry or "url" in entry):
        raise UsageError(f"{file!r}: the server {name!r} needs 'command' or 'url'")
    expanded: dict[str, Any] = _expand(entry, f"{file!r}: {name}")
    cwd = expanded.get("cwd")
    if cwd is not None and not isinstance(cwd, str):
        raise UsageError(f"{file!r}: 'cwd' of the server {name!r} must be a string")
    # Relative to the file, which may be used from any directory.
    return {**expanded, "cwd": str(Path(file).parent / cwd)} if cwd else expanded


def _read_servers(file: str) -> Mapping[str, Any]:
    try:
        config = codec.decode_json(Path(file).read_bytes())
    except OSError as error:
        raise UsageError(f"--config: cannot read {file!r}: {error.strerror}") from None
    except msgspec.ValidationError as error:
        raise UsageError(f"--config: {file!r} is not valid JSON: {error}") from None
    for member in _MEMBERS if isinstance(config, dict) else ():
        if isinstance(config.get(member), dict):
            servers: Mapping[str, Any] = config[member]
            return servers
    raise UsageError(f"--config: {file!r} has no object named {' or '.join(_MEMBERS)}")


def _expand(value: Any, place: str) -> Any:
    """The value with its variables replaced; raises UsageError that names a missing one."""
    if isinstance(value, Mapping):
        return {key: _expand(item, f"{place}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [_expand(item, place) for item in value]
    return (
        _VARIABLE.sub(lambda found: _look_up(found, place), value)
        if isinstance(value, str)
        else value
    )


def _look_up(found: re.Match[str], place: str) -> str:
    if found["source"] not in (None, "env:"):
        raise UsageError(f"{place}: {found[0]} is only known to an editor; replace it by its value")
    text = os.environ.get(found["name"], found["default"])
    if text is None:
        raise UsageError(f"{place}: the environment variable {found['name']!r} is not set")
    return text

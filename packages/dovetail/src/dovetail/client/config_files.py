"""The configuration file of a client: `{"mcpServers": {"weather": {...}}}`.

As in the clients that read such files, `${NAME}`, `${NAME:-default}` and `${env:NAME}` stand for
environment variables. Messages never show values, because many are secrets.
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

__all__ = ["expand", "read_config_bytes", "read_servers"]

# The member with the servers; editors use the second name.
_MEMBERS = ("mcpServers", "servers")
_VARIABLE = re.compile(r"\$\{(?P<source>\w+:(?!-))?(?P<name>[^}:]*)(?::-(?P<default>[^}]*))?\}")


def read_servers(file: str) -> Mapping[str, Any]:
    """Return the entries of the servers in a file; raises UsageError."""
    try:
        config = codec.decode_json(read_config_bytes(file))
    except msgspec.ValidationError as error:
        raise UsageError(f"{file!r} is not valid JSON: {error}") from None
    for member in _MEMBERS if isinstance(config, dict) else ():
        if isinstance(config.get(member), dict):
            servers: Mapping[str, Any] = config[member]
            return servers
    raise UsageError(f"{file!r} has no object named {' or '.join(_MEMBERS)}")


def read_config_bytes(file: str) -> bytes:
    """Return the contents of a file; raises UsageError."""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {file!r}: {error.strerror}") from None


def expand(value: Any, path: str, problems: list[str]) -> Any:
    """Return the value with its variables replaced; adds a problem for each that is not set."""
    if isinstance(value, Mapping):
        return {key: expand(item, f"{path}.{key}", problems) for key, item in value.items()}
    if isinstance(value, list):
        return [expand(item, path, problems) for item in value]
    if not isinstance(value, str):
        return value
    return _VARIABLE.sub(lambda found: _look_up(found, path, problems), value)


def _look_up(found: re.Match[str], path: str, problems: list[str]) -> str:
    if found["source"] not in (None, "env:"):
        problems.append(f"{path}: {found[0]} is only known to an editor; replace it by its value")
        return found[0]
    text = os.environ.get(found["name"], found["default"])
    if text is None:
        problems.append(f"{path}: the environment variable {found['name']!r} is not set")
        return found[0]
    return text

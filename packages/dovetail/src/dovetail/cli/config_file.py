"""`--config FILE`: a server in the configuration file of a client.

An entry has `command`, `args`, `env` and `cwd`, or `url` and `headers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dovetail.client.config_files import expand, read_servers
from dovetail.errors import UsageError

__all__ = ["read_entry"]


def read_entry(file: str, name: str | None) -> Mapping[str, Any]:
    """The entry of a server, as a target of the client; raises UsageError."""
    try:
        servers = read_servers(file)
    except UsageError as error:
        raise UsageError(f"--config: {error}") from None
    entry = servers.get(name) if name is not None else None
    if name is None or name not in servers:
        problem = "Name a server" if name is None else f"There is no server {name!r}"
        raise UsageError(f"{problem} in {file!r}; it has: {', '.join(servers) or 'none'}")
    if not isinstance(entry, Mapping) or not ("command" in entry or "url" in entry):
        raise UsageError(f"{file!r}: the server {name!r} needs 'command' or 'url'")
    problems: list[str] = []
    expanded: dict[str, Any] = expand(entry, f"{file!r}: {name}", problems)
    if problems:
        raise UsageError("; ".join(problems))
    cwd = expanded.get("cwd")
    if cwd is not None and not isinstance(cwd, str):
        raise UsageError(f"{file!r}: 'cwd' of the server {name!r} must be a string")
    # Relative to the file, which may be used from any directory.
    return {**expanded, "cwd": str(Path(file).parent / cwd)} if cwd else expanded

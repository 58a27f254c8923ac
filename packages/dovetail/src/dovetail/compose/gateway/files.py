"""Reads gateway files: `gateway.toml`, or the `mcp.json` of a client."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dovetail.client.config_files import expand, read_config_bytes, read_servers
from dovetail.compose.gateway.config import GatewayConfig, GatewayConfigError
from dovetail.compose.gateway.decoding import decode_settings

__all__ = ["read_gateway"]

# The keys of an entry that are used; clients keep settings of their own in it.
_CLIENT_KEYS = ("url", "command", "args", "env", "cwd", "headers")


def read_gateway(file: str) -> GatewayConfig:
    """Return the settings in a file; raises GatewayConfigError with all problems.

    Paths in it are relative to the file, which may be used from any directory.
    """
    is_json = file.endswith(".json")
    problems: list[str] = []
    raw = _read_client_file(file) if is_json else _read_toml(file)
    upstreams = raw.get("upstreams")
    if isinstance(upstreams, Mapping):
        folder = Path(file).parent
        entries = {
            name: _prepare(entry, f"upstreams.{name}", folder, problems)
            for name, entry in upstreams.items()
        }
        raw = {**raw, "upstreams": entries}
    if isinstance(raw.get("guard"), Mapping):
        raw = {**raw, "guard": _from_folder(raw["guard"], ("keys", "audit"), Path(file).parent)}
    config = decode_settings(raw, GatewayConfig, "", problems)
    if problems:
        raise GatewayConfigError(repr(file), problems)
    return config


def _read_client_file(file: str) -> dict[str, Any]:
    entries = {
        name: {key: entry[key] for key in _CLIENT_KEYS if key in entry}
        if isinstance(entry, Mapping)
        else entry
        for name, entry in read_servers(file).items()
        if not (isinstance(entry, Mapping) and entry.get("disabled") is True)
    }
    return {"upstreams": entries}


def _read_toml(file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(read_config_bytes(file).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GatewayConfigError(repr(file), [f"not valid TOML: {error}"]) from None


def _prepare(entry: Any, path: str, folder: Path, problems: list[str]) -> Any:
    """Return an entry with its variables replaced and its directory resolved."""
    if not isinstance(entry, Mapping):
        return entry
    expanded = {
        key: expand(value, f"{path}.{key}", problems) if key in _CLIENT_KEYS else value
        for key, value in entry.items()
    }
    return _from_folder(expanded, ("cwd",), folder)


def _from_folder(settings: Mapping[str, Any], keys: tuple[str, ...], folder: Path) -> Any:
    """Return settings with paths that are relative to a folder; `-` is not a path."""
    return {
        key: str(folder / value)
        if key in keys and isinstance(value, str) and value != "-"
        else value
        for key, value in settings.items()
    }

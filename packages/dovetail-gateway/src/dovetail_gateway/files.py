"""Reads gateway files: `gateway.toml`, or the `mcp.json` of a client."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import UnionType
from typing import (
    Any,
    Protocol,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

import msgspec

from dovetail.client.targets import expand, read_config_bytes, read_servers
from dovetail_gateway.config import GatewayConfig, GatewayConfigError

__all__ = [
    "Checked",
    "decode_settings",
    "read_gateway",
]

S = TypeVar("S")


@runtime_checkable
class Checked(Protocol):
    """Settings with rules that concern several of their keys."""

    def find_problems(self, path: str) -> Iterator[str]:
        """Yield what does not fit together; tables inside them check themselves."""


def decode_settings(value: Any, kind: type[S], path: str, problems: list[str]) -> S:
    """Return the settings; adds a problem with its path for each key that is unknown or wrong.

    A wrong value is replaced by the default, so that the rest can be checked.
    """
    if not isinstance(value, Mapping):
        problems.append(f"{path or 'the file'}: expected a table, got {_kind_of(value)}")
        return kind()
    hints = get_type_hints(kind)
    found: dict[str, Any] = {}
    is_complete = True
    for key, item in value.items():
        place = f"{path}.{key}" if path else str(key)
        if key not in hints:
            problems.append(f"{place}: unknown key{_suggest(str(key), hints)}")
            continue
        try:
            found[key] = _read(item, hints[key], place, problems)
        except msgspec.ValidationError as error:
            # TOML has no null.
            problems.append(f"{place}: {str(error).replace(' | null', '')}")
            is_complete = False
    settings = kind(**found)
    if is_complete and isinstance(settings, Checked):
        problems += settings.find_problems(path)
    return settings


def _read(value: Any, hint: Any, path: str, problems: list[str]) -> Any:
    if isinstance(hint, UnionType):
        # A table that may be absent.
        hint = next((each for each in get_args(hint) if is_dataclass(each)), hint)
    if is_dataclass(hint):
        return decode_settings(value, cast(type[Any], hint), path, problems)
    if get_origin(hint) is Mapping and is_dataclass(inner := get_args(hint)[1]):
        tables = msgspec.convert(value, dict[str, Any])
        return {
            name: decode_settings(item, cast(type[Any], inner), f"{path}.{name}", problems)
            for name, item in tables.items()
        }
    return msgspec.convert(value, hint)


def _suggest(key: str, allowed: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(key, allowed, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(allowed)}"


def _kind_of(value: Any) -> str:
    return f"`{type(value).__name__}`"


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

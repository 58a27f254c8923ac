"""Decodes settings into dataclasses and collects all problems; msgspec stops at the first one."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
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

__all__ = ["Checked", "decode_settings"]


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

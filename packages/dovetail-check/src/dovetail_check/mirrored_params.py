"""Parameters of tools that Streamable HTTP repeats in headers: the `x-mcp-header` annotation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["Mark", "is_token", "marks_in", "param_values"]

KEY = "x-mcp-header"
# RFC 9110 section 5.6.2
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# Keywords whose value is data, not a schema: what looks like a mark in there is none.
_DATA = frozenset({"const", "default", "enum", "examples"})
# Keywords whose members are schemas by name, so that a member called x-mcp-header is a property.
_BY_NAME = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
_DEPTH = 32


class Mark(NamedTuple):
    """One annotation."""

    # The way to it: keywords and names.
    path: tuple[str, ...]
    value: Any
    # The schema that carries it.
    schema: Mapping[str, Any]

    @property
    def where(self) -> str:
        """The way to it, as a JSON pointer."""
        return "/" + "/".join(self.path)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The way to the argument; None where it leads not only through `properties`."""
        keywords, names = self.path[::2], self.path[1::2]
        is_reachable = len(keywords) == len(names) > 0 and set(keywords) == {"properties"}
        return names if is_reachable else None


def marks_in(schema: Any) -> list[Mark]:
    """Every annotation anywhere in a schema."""
    return list(_search(schema, ()))


def _search(schema: Any, path: tuple[str, ...]) -> Iterator[Mark]:
    if len(path) > _DEPTH:
        return
    if isinstance(schema, list):
        for n, part in enumerate(schema):
            yield from _search(part, (*path, str(n)))
    if not isinstance(schema, Mapping):
        return
    if KEY in schema:
        yield Mark(path, schema[KEY], schema)
    for keyword, inside in schema.items():
        if keyword in _DATA or keyword == KEY:
            continue
        if keyword in _BY_NAME and isinstance(inside, Mapping):
            for name, part in inside.items():
                yield from _search(part, (*path, keyword, str(name)))
        else:
            yield from _search(inside, (*path, keyword))


def is_token(value: Any) -> bool:
    """Whether it can stand in the name of a header."""
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


def param_values(schema: Any, arguments: Any) -> dict[str, str]:
    """The texts of the headers that a call with these arguments carries, by their full names."""
    found: dict[str, str] = {}
    for mark in marks_in(schema):
        text = _text(_at(arguments, mark.names)) if mark.names is not None else None
        if text is not None and is_token(mark.value):
            found[f"Mcp-Param-{mark.value}"] = text
    return found


def _at(arguments: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        arguments = arguments.get(name) if isinstance(arguments, Mapping) else None
    return arguments


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | str) else None

"""The `x-mcp-header` annotation: tool parameters that Streamable HTTP repeats in headers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["Mark", "is_token", "marks_in", "param_values"]

KEY = "x-mcp-header"
# RFC 9110 section 5.6.2
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# Keywords whose value is data, not a schema, so that it has no annotations.
_DATA = frozenset({"const", "default", "enum", "examples"})
# Keywords that map names to schemas, so that a member called x-mcp-header is a property.
_BY_NAME = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
_DEPTH = 32


class Mark(NamedTuple):
    """One annotation."""

    # The path to it: keywords and names.
    path: tuple[str, ...]
    value: Any
    # The schema that carries it.
    schema: Mapping[str, Any]

    @property
    def where(self) -> str:
        """The path as a JSON pointer."""
        return "/" + "/".join(self.path)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The path to the argument; None if it uses keywords other than `properties`."""
        keywords, names = self.path[::2], self.path[1::2]
        is_reachable = len(keywords) == len(names) > 0 and set(keywords) == {"properties"}
        return names if is_reachable else None


def marks_in(schema: Any) -> list[Mark]:
    """Return all annotations in a schema."""
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
    """Whether it can be part of a header name."""
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


def param_values(schema: Any, arguments: Any) -> dict[str, str]:
    """Return the headers that a call with these arguments must carry."""
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

"""Parameters that Streamable HTTP repeats in headers (2026-07-28 server/tools#x-mcp-header).

`Annotated[str, Header("Region")]` lets proxies route by an argument without reading the body.
Annotations are validated when the tool is registered: clients must ignore a tool with a wrong
annotation, and its author would not see why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from dovetail.errors import UsageError

__all__ = ["Header", "HeaderParams", "annotate", "find_headers", "value_at"]

KEYWORD = "x-mcp-header"

# Property path and header name of each parameter that is repeated.
HeaderParams: TypeAlias = tuple[tuple[tuple[str, ...], str], ...]

# tools.xheader.token: 1*tchar of RFC 9110
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# tools.xheader.primitive
_PRIMITIVE = ("string", "integer", "boolean")


class Header:
    """Repeat this parameter in the header `Mcp-Param-<name>`. Not for secrets: proxies see it."""

    def __init__(self, name: str) -> None:
        # tools.xheader.nonempty, tools.xheader.no-control
        if not _TOKEN.fullmatch(name):
            raise UsageError(
                f"a header name has letters, digits and !#$%&'*+.^_`|~- only, got {name!r}"
            )
        self.name = name


def annotate(hints: Mapping[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the arguments with the headers from the annotations."""
    named = {
        name: extra.name
        for name, hint in hints.items()
        for extra in getattr(hint, "__metadata__", ())
        if isinstance(extra, Header)
    }
    if not named:
        return schema
    properties = {
        name: {**field, KEYWORD: named[name]} if name in named else field
        for name, field in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def find_headers(schema: dict[str, Any], where: str) -> HeaderParams:
    """Return the parameters with a header; raises UsageError for one that must not have any.

    `where` names the tool in error messages.
    """
    found = tuple(_in_properties(schema, (), where))
    reachable = sum(1 for _ in _anywhere(schema))
    if reachable != len(found):
        # tools.xheader.reachable
        raise UsageError(
            f"{where}: {KEYWORD} is allowed on properties of objects only, not inside arrays, "
            "choices, conditions or definitions"
        )
    names = [name.lower() for _, name in found]
    if len(set(names)) != len(names):
        # tools.xheader.unique
        raise UsageError(f"{where}: two parameters name the same header; case does not matter")
    return found


def value_at(path: tuple[str, ...], arguments: Any) -> Any:
    """Return the value of a parameter in the arguments, None if it is missing."""
    for key in path:
        if not isinstance(arguments, dict):
            return None
        arguments = arguments.get(key)
    return arguments


def _in_properties(
    schema: dict[str, Any], path: tuple[str, ...], where: str
) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, field in schema.get("properties", {}).items():
        if not isinstance(field, dict):
            continue
        here = (*path, name)
        if KEYWORD in field:
            yield here, _checked(field, ".".join(here), where)
        yield from _in_properties(field, here, where)


def _checked(field: dict[str, Any], name: str, where: str) -> str:
    if field.get("type") not in _PRIMITIVE:
        raise UsageError(
            f"{where}: only a string, an integer or a boolean can be repeated in a header; "
            f"{name!r} is {field.get('type', 'something else')}"
        )
    value = field[KEYWORD]
    return Header(value if isinstance(value, str) else "").name


def _anywhere(part: Any) -> Iterator[None]:
    if isinstance(part, dict):
        # A schema under this key is a property with that name.
        if KEYWORD in part and not isinstance(part[KEYWORD], dict):
            yield None
        for inner in part.values():
            yield from _anywhere(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _anywhere(inner)

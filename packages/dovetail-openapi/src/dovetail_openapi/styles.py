"""Parameter values as text: the styles of OpenAPI, which are those of RFC 6570.

Names and values are percent-encoded; the delimiters of a style are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

import msgspec

from dovetail.errors import ToolError

__all__ = ["cookie_pairs", "encode", "header_value", "path_segment", "query_pairs", "to_text"]

Pairs = list[tuple[str, str]]

# RFC 3986 section 2.2, without "#", which would end the query, and "&", "+" and "=", which would
# change its structure.
_RESERVED = ":/?[]@!$'()*,;"
_DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}
_COMMA = ","


def to_text(value: Any) -> str:
    """Return a scalar as text; nested values as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return msgspec.json.encode(value).decode()


def encode(value: Any, *, allow_reserved: bool = False) -> str:
    """Return a scalar percent-encoded."""
    return quote(to_text(value), safe=_RESERVED if allow_reserved else "")


def path_segment(name: str, value: Any, style: str, explode: bool) -> str:
    """Return the text that replaces a variable of a path."""
    key = quote(name, safe="")
    if style == "matrix":
        return "".join(f";{item}" for item in _matrix(key, value, explode))
    if style == "label":
        return "." + _joined(value, explode, "." if explode else ",", encode)
    return _joined(value, explode, ",", encode)


def header_value(value: Any, explode: bool) -> str:
    """Return a value in the style `simple`, without percent-encoding."""
    return _joined(value, explode, ",", to_text)


def query_pairs(
    name: str, value: Any, style: str, explode: bool, *, allow_reserved: bool = False
) -> Pairs:
    """Return the encoded names and values of a query parameter or of a field of a form."""

    def written(item: Any) -> str:
        return encode(item, allow_reserved=allow_reserved)

    delimiter = _DELIMITERS.get(style, _COMMA)

    def item_text(item: Any) -> str:
        text = written(item)
        if delimiter != _COMMA and delimiter in text:
            # The style has no way to tell this one from a delimiter.
            raise ToolError(f"{name}: an item cannot contain {unquote(delimiter)!r}, got {item!r}")
        return text

    key = quote(name, safe="")
    if style == "deepObject":
        return [(path, written(leaf)) for path, leaf in _leaves(key, value)]
    if isinstance(value, list):
        if explode:
            return [(key, written(item)) for item in value]
        return [(key, _joined(value, False, delimiter, item_text))] if value else []
    if isinstance(value, dict):
        if explode:
            return [(quote(each, safe=""), written(item)) for each, item in value.items()]
        return [(key, _joined(value, False, delimiter, item_text))]
    return [(key, written(value))]


def cookie_pairs(name: str, value: Any, explode: bool) -> Pairs:
    """Return the names and values of a cookie parameter; `form` is the only style."""
    return query_pairs(name, value, "form", explode)


def _joined(value: Any, explode: bool, delimiter: str, written: Any) -> str:
    if isinstance(value, list):
        return delimiter.join(map(written, value))
    if isinstance(value, dict):
        if explode:
            pairs = (f"{written(key)}={written(item)}" for key, item in value.items())
            return delimiter.join(pairs)
        return delimiter.join(written(part) for pair in value.items() for part in pair)
    text: str = written(value)
    return text


def _matrix(key: str, value: Any, explode: bool) -> Iterator[str]:
    if explode and isinstance(value, list):
        yield from (f"{key}={encode(item)}" for item in value)
    elif explode and isinstance(value, dict):
        yield from (f"{encode(each)}={encode(item)}" for each, item in value.items())
    else:
        yield f"{key}={_joined(value, False, ',', encode)}"


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield `a[b][0]` and the scalar there; the specification defines the first level only."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{path}%5B{quote(key, safe='')}%5D", item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(f"{path}%5B{index}%5D", item)
    else:
        yield path, value

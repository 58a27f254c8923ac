"""The request of an operation, from the arguments of a call.

Values cannot change the structure of the request: what they could escape from is encoded, and what
cannot be encoded is refused.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import msgspec

from dovetail.errors import ToolError
from dovetail_openapi.document import DocumentNode
from dovetail_openapi.operations import Body, Operation, OperationParameter
from dovetail_openapi.schemas import is_binary
from dovetail_openapi.security import Placement

__all__ = [
    "BODY",
    "EncodedBody",
    "RequestParts",
    "build_request",
    "cookie_pairs",
    "encode",
    "encode_body",
    "header_value",
    "path_segment",
    "query_pairs",
    "to_text",
]

# The argument that has the body.
BODY = "body"
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_DOTS = (".", "..")
# How often an escaped value may be escaped.
_MOST_DECODINGS = 5
_SEPARATOR = re.compile(r"[/\\]")
# Literal text of a path that needs no encoding (RFC 3986 pchar, and escapes that are there).
_PATH_SAFE = "/:@!$&'()*+,;=~%"


class RequestParts(NamedTuple):
    """A request without the server that it goes to."""

    path: str
    query: str
    headers: list[tuple[bytes, bytes]]
    body: EncodedBody | None


def build_request(
    operation: Operation,
    parameters: Mapping[str, OperationParameter],
    arguments: Mapping[str, Any],
    credentials: Placement,
) -> RequestParts:
    """Return the request; `parameters` are by argument name. Raises ToolError."""
    segments: dict[str, str] = {}
    query: list[tuple[str, str]] = []
    headers: dict[str, str] = {}
    cookies: list[tuple[str, str]] = []
    for argument, parameter in parameters.items():
        if argument not in arguments:
            continue
        value = arguments[argument]
        if parameter.is_json:
            value = _as_json(value)
        name, style, explode = parameter.name, parameter.style, parameter.explode
        if parameter.place == "path":
            _check_segments(argument, value)
            segments[name] = path_segment(name, value, style, explode)
        elif value is None:
            # There is no text for null outside of JSON.
            continue
        elif parameter.place == "query":
            reserved = parameter.allow_reserved
            query += query_pairs(name, value, style, explode, allow_reserved=reserved)
        elif parameter.place == "header":
            headers[name] = header_value(value, explode)
        else:
            cookies += cookie_pairs(name, value, explode)
    # Credentials come last, so that no argument replaces them.
    keys = {quote(name, safe=""): value for name, value in credentials.query.items()}
    query = [*(pair for pair in query if pair[0] not in keys), *keys.items()]
    own = {name.lower() for name in credentials.header}
    headers = {name: value for name, value in headers.items() if name.lower() not in own}
    headers |= credentials.header
    cookies = [pair for pair in cookies if pair[0] not in credentials.cookie]
    cookies += credentials.cookie.items()
    if cookies:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies)
    body = None
    if operation.body is not None and BODY in arguments:
        body = encode_body(operation.body, arguments[BODY])
        if body.content_type is not None:
            headers["Content-Type"] = body.content_type
    # The encodings that are decoded here, instead of those that the client can decode.
    headers.setdefault("Accept-Encoding", "gzip, deflate")
    headers.setdefault("Accept", ", ".join(operation.media_types) or "*/*")
    # Real documents make paths unique with a fragment or a query behind them: /a#second, /a?x=1
    template, _, fixed = operation.head.path.partition("#")[0].partition("?")
    pairs = [f"{name}={value}" for name, value in query]
    return RequestParts(
        path=_fill(template, segments),
        query="&".join([fixed, *pairs] if fixed else pairs),
        headers=[_header(name, value) for name, value in headers.items()],
        body=body,
    )


def _as_json(value: Any) -> str:
    # A string is written with quotes here, unlike in to_text.
    return to_text([value])[1:-1] if isinstance(value, str) else to_text(value)


def _check_segments(argument: str, value: Any) -> None:
    """Refuse values that lead out of their segment on servers that decode before they route."""
    scalars = value if isinstance(value, list) else [value]
    if isinstance(value, dict):
        scalars = [*value, *value.values()]
    for each in scalars or [""]:
        text = to_text(each)
        if not text:
            raise ToolError(f"{argument}: an empty value is not allowed in the path")
        if any(part in _DOTS for part in _SEPARATOR.split(_decode_all(text))):
            raise ToolError(f"{argument}: {text[:80]!r} is not allowed in the path")


def _decode_all(text: str) -> str:
    """Return a text without escapes, as servers and proxies see it that each decode it."""
    for _ in range(_MOST_DECODINGS):
        decoded = unquote(text)
        if decoded == text:
            return text
        text = decoded
    # Nobody means that, and decoding further could take long.
    return ".."


def _fill(template: str, segments: Mapping[str, str]) -> str:
    parts = re.split(r"\{([^{}]*)\}", template)
    return "".join(
        segments[part] if index % 2 else quote(part, safe=_PATH_SAFE)
        for index, part in enumerate(parts)
    )


def _header(name: str, value: str) -> tuple[bytes, bytes]:
    if _CONTROLS.search(value):
        raise ToolError(f"{name}: line breaks and control characters are not allowed in a header")
    return name.encode("ascii", "replace"), value.encode(errors="replace")


# -- bodies: JSON, forms, multipart forms, text and bytes ------------------------------------------

_STYLE_KEYWORDS = {"style", "explode", "allowReserved"}
# In the order that httpx takes them: name, (file name, bytes, content type).
Part = tuple[str, tuple[str | None, bytes, str]]


class EncodedBody(NamedTuple):
    """The arguments of `httpx.Client.build_request` for a body."""

    content: bytes | None
    files: list[Part] | None
    content_type: str | None


def encode_body(body: Body, value: Any) -> EncodedBody:
    """Return the encoded value; raises ToolError."""
    media_type = body.media_type
    if body.kind == "json":
        return EncodedBody(msgspec.json.encode(value), None, media_type)
    if body.kind == "form":
        return EncodedBody(_form(body, value), None, media_type)
    if body.kind == "multipart":
        # The client sets the content type, which contains the boundary.
        return EncodedBody(None, _parts(body, value), None)
    if body.kind == "text":
        return EncodedBody(to_text(value).encode(), None, media_type)
    concrete = "application/octet-stream" if "*" in media_type else media_type
    return EncodedBody(_decode("body", value), None, concrete)


def properties_of(body: Body) -> dict[str, DocumentNode]:
    """Return the properties of the body of a form, by name."""
    found: dict[str, DocumentNode] = {}
    pending = [] if body.schema is None else [body.schema]
    while pending:
        schema = pending.pop().resolve()
        found |= {name: part for name, part in schema.members("properties") if part.value}
        pending += schema.items("allOf")
    return found


def _form(body: Body, value: Any) -> bytes:
    pairs: list[tuple[str, str]] = []
    for name, item in value.items():
        if item is None:
            continue
        encoding = body.encodings.get(name)
        if encoding is None or not _STYLE_KEYWORDS & encoding.value.keys():
            # Objects are JSON text unless the document gives a style.
            style, explode, reserved = "form", True, False
            item = to_text(item) if isinstance(item, dict) else item
        else:
            style = encoding.text("style") or "form"
            explode = encoding.value.get("explode", style in ("form", "deepObject")) is True
            reserved = encoding.value.get("allowReserved") is True
        pairs += query_pairs(name, item, style, explode, allow_reserved=reserved)
    return "&".join(f"{name}={text}" for name, text in pairs).encode()


def _parts(body: Body, value: Any) -> list[Part]:
    properties = properties_of(body)
    parts: list[Part] = []
    for name, item in value.items():
        schema = properties[name].resolve() if name in properties else None
        encoding = body.encodings.get(name)
        wanted = "" if encoding is None else encoding.text("contentType").partition(",")[0].strip()
        each = schema.find("items") if schema is not None and isinstance(item, list) else None
        each = schema if each is None else each.resolve()
        is_file = each is not None and is_binary(each)
        values = item if isinstance(item, list) else [item]
        parts += [(name, _part(name, one, is_file, wanted)) for one in values if one is not None]
    return parts


def _part(name: str, value: Any, is_file: bool, wanted: str) -> tuple[str | None, bytes, str]:
    content_type = "" if "*" in wanted else wanted
    if is_file:
        return name, _decode(name, value), content_type or "application/octet-stream"
    if isinstance(value, dict | list):
        return None, msgspec.json.encode(value), content_type or "application/json"
    return None, to_text(value).encode(), content_type or "text/plain"


def _decode(name: str, value: Any) -> bytes:
    try:
        return base64.b64decode(to_text(value), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ToolError(f"{name}: expected base64, got something else ({error})") from None


# -- values as text: the styles of OpenAPI, which are those of RFC 6570 ----------------------------
# Names and values are percent-encoded; the delimiters of a style are not.

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

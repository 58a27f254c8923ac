"""The request of an operation, from the arguments of a call.

Values cannot change the structure of the request: what they could escape from is encoded, and what
cannot be encoded is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from dovetail.errors import ToolError
from dovetail_openapi.bodies import EncodedBody, encode_body
from dovetail_openapi.operations import Operation, OperationParameter
from dovetail_openapi.security import Placement
from dovetail_openapi.styles import (
    cookie_pairs,
    header_value,
    path_segment,
    query_pairs,
    to_text,
)

__all__ = ["BODY", "RequestParts", "build_request"]

# The argument that has the body.
BODY = "body"
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_DOTS = (".", "..")
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
        if any(unquote(part) in _DOTS for part in _SEPARATOR.split(text)):
            raise ToolError(f"{argument}: {text[:80]!r} is not allowed in the path")


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

"""Bodies of requests: JSON, forms, multipart forms, text and bytes."""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple

import msgspec

from dovetail.errors import ToolError
from dovetail_openapi.document import DocumentNode
from dovetail_openapi.operations import Body
from dovetail_openapi.schemas import is_binary
from dovetail_openapi.styles import query_pairs, to_text

__all__ = ["EncodedBody", "encode_body"]

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

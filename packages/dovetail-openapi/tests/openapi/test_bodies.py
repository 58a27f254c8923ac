"""Bodies: each media type gets the bytes that it demands."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from dovetail.errors import ToolError
from dovetail_openapi.document import Document
from dovetail_openapi.operations import Body
from dovetail_openapi.request_parts import encode_body


def body(media_type: str, schema: Any = None, encoding: Any = None) -> Body:
    root = Document({"schema": schema or {}, "encoding": encoding or {}}, "").root
    return Body(media_type, True, root.find("schema"), dict(root.members("encoding")), "")


@pytest.mark.parametrize(
    ("media_type", "value", "expected"),
    [
        ("application/json", {"a": [1, None]}, b'{"a":[1,null]}'),
        ("application/merge-patch+json", "x", b'"x"'),
        ("text/csv", "a,b", b"a,b"),
        ("application/octet-stream", "AAE=", b"\x00\x01"),
        ("application/x-www-form-urlencoded", {"a": "x y&z", "b": [1, 2], "c": None, "d": True},
         b"a=x%20y%26z&b=1&b=2&d=true"),
        ("application/x-www-form-urlencoded", {"a": {"b": 1}}, b"a=%7B%22b%22%3A1%7D"),
    ],
)  # fmt: skip
def test_content(media_type: str, value: Any, expected: bytes) -> None:
    encoded = encode_body(body(media_type), value)
    assert (encoded.content, encoded.content_type) == (expected, media_type)


def test_a_form_follows_its_encoding() -> None:
    encoding = {"a": {"style": "deepObject"}, "b": {"style": "form", "explode": False}}
    form = body("application/x-www-form-urlencoded", {}, encoding)
    encoded = encode_body(form, {"a": {"x": 1}, "b": [1, 2]})
    assert encoded.content == b"a%5Bx%5D=1&b=1,2"


def test_the_parts_of_a_multipart_form() -> None:
    schema = {
        "allOf": [{"properties": {"photo": {"type": "string", "format": "binary"}}}],
        "properties": {"all": {"type": "array", "items": {"format": "binary"}}, "n": {}},
    }
    encoding = {"photo": {"contentType": "image/png, image/jpeg"}}
    data = base64.b64encode(b"\x89PNG").decode()
    value = {"photo": data, "all": [data, data], "n": 3, "meta": {"a": 1}, "none": None}
    encoded = encode_body(body("multipart/form-data", schema, encoding), value)
    assert encoded.content_type is None
    assert encoded.files == [
        ("photo", ("photo", b"\x89PNG", "image/png")),
        ("all", ("all", b"\x89PNG", "application/octet-stream")),
        ("all", ("all", b"\x89PNG", "application/octet-stream")),
        ("n", (None, b"3", "text/plain")),
        ("meta", (None, b'{"a":1}', "application/json")),
    ]


def test_text_that_is_not_base64_is_refused() -> None:
    with pytest.raises(ToolError, match="body: expected base64"):
        encode_body(body("image/png"), "not base64!")

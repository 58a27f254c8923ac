"""Headers that mirror the body: read strictly, compared by meaning."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from dovetail.errors import HeaderMismatchError
from dovetail.transports.streamable_http.modern import check_mirror, read_value


def wrapped(text: str) -> bytes:
    return b"=?base64?" + base64.b64encode(text.encode()) + b"?="


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain", "plain"),
        (b"", ""),
        (b" \t padded in the middle \t", "padded in the middle"),
        (wrapped("Zürich ☃"), "Zürich ☃"),
        (wrapped(" kept "), " kept "),
        (wrapped(""), ""),
        (wrapped("=?base64?YQ==?="), "=?base64?YQ==?="),
        # Not wrapped, although it looks a little like it.
        (b"=?base64?=", "=?base64?="),
        (b"=?base64?YQ==", "=?base64?YQ=="),
        (b"=?BASE64?YQ==?=", "=?BASE64?YQ==?="),
    ],
)
def test_a_value_is_read(raw: bytes, text: str) -> None:
    assert read_value("Mcp-Name", raw) == text


@pytest.mark.parametrize(
    "raw",
    [
        b"=?base64?!?=",
        b"=?base64?YQ?=",
        b"=?base64?YQ==\nYQ==?=",
        b"=?base64?/w==?=",
        b"=?base64?Y Q==?=",
        "Zürich".encode(),
        b"a\x00b",
        b"a\x7fb",
        b"a\rb",
    ],
)
def test_what_carries_no_text_is_refused(raw: bytes) -> None:
    with pytest.raises(HeaderMismatchError, match="Mcp-Name"):
        read_value("Mcp-Name", raw)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"a", "a"),
        (b" a ", "a"),
        (wrapped("a"), "a"),
        (b"", ""),
        (b"true", True),
        (b"false", False),
        (b"42", 42),
        (b"42.0", 42),
        (b"42", 42.0),
        (b"-1", -1),
        (b"4.2e1", 42),
        (b"9007199254740993", 9007199254740993),
        (wrapped("42"), 42),
        (None, None),
        (b"unexpected", None),
    ],
)
def test_a_header_that_says_the_same_passes(raw: bytes | None, value: Any) -> None:
    check_mirror("X", raw, value)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (None, "a"),
        (None, ""),
        (None, False),
        (None, 0),
        (b"A", "a"),
        (b"b", "a"),
        (b"", "a"),
        (b"1", "a"),
        (b"True", True),
        (b"1", True),
        (b"0", False),
        (b"43", 42),
        (b"4_2", 42),
        (b"x", 42),
        (b"", 0),
        (b"nan", 42),
        (b"Infinity", 42),
        (b"1e99999999", 42),
        (b"0x2a", 42),
        (b"9007199254740992", 9007199254740993),
        (b"a", ["a"]),
        (b"a", {"a": 1}),
    ],
)
def test_a_header_that_says_something_else_is_refused(raw: bytes | None, value: Any) -> None:
    with pytest.raises(HeaderMismatchError, match="X") as caught:
        check_mirror("X", raw, value)
    assert caught.value.code == -32020

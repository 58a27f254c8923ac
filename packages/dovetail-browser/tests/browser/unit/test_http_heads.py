from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail_browser.http_heads import parse_request, parse_response


def test_a_request_is_parsed_and_forwarded() -> None:
    head = parse_request(
        b"POST http://a.example/x HTTP/1.1\r\nHost: other.example\r\nContent-Length: 3\r\n"
        b"Proxy-Authorization: Basic x\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\n"
        b"Upgrade: h2c\r\nCookie: a=b\r\n\r\n"
    )
    assert head is not None and head.method == "POST" and head.target == "http://a.example/x"
    assert head.body_length == 3 and head.value("cookie") == "a=b"
    assert head.forwarded("/x", "a.example") == (
        b"POST /x HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nCookie: a=b\r\n"
        b"Connection: close\r\n\r\n"
    )


def test_a_connection_header_cannot_drop_framing_headers() -> None:
    head = parse_request(
        b"POST http://a/ HTTP/1.1\r\nConnection: content-length\r\nContent-Length: 3\r\n\r\n"
    )
    assert head is not None and b"Content-Length: 3" in head.forwarded("/", "a")


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "GET /",
        "GET  / HTTP/1.1",
        "GET / HTTP/1.1 x",
        "GET / HTTP/2",
        "G(T / HTTP/1.1",
        "GET / HTTP/1.1\r\nno colon",
        "GET / HTTP/1.1\r\n folded: x",
        "GET / HTTP/1.1\r\nA: b\r\n folded",
        "GET / HTTP/1.1\r\nname : x",
        "GET / HTTP/1.1\r\nA: x\ny: z",
        "GET / HTTP/1.1\r\nA: x\0",
        "GET / HTTP/1.1\r\n: x",
    ],
)
def test_ambiguous_heads_are_rejected(lines: str) -> None:
    assert parse_request(f"{lines}\r\n\r\n".encode()) is None


@pytest.mark.parametrize(
    ("headers", "length"),
    [
        ("", 0),
        ("Content-Length: 7\r\n", 7),
        ("Content-Length: 7\r\nContent-Length: 7\r\n", 7),
        ("Content-Length: 7\r\nContent-Length: 8\r\n", None),
        ("Content-Length: +7\r\n", None),
        ("Content-Length: 7, 7\r\n", None),
        ("Content-Length: \u0667\r\n", None),
        ("Transfer-Encoding: chunked\r\n", None),
        ("Transfer-Encoding: chunked\r\nContent-Length: 7\r\n", None),
    ],
)
def test_the_length_of_a_body_is_certain_or_unknown(headers: str, length: int | None) -> None:
    head = parse_request(f"POST http://a/ HTTP/1.1\r\n{headers}\r\n".encode())
    assert head is not None and head.body_length == length


def test_hop_by_hop_headers_of_a_response_are_removed() -> None:
    head = parse_response(
        b"HTTP/1.0 200 \r\nKeep-Alive: 5\r\nConnection: keep-alive\r\nSet-Cookie: a\r\n"
        b"Set-Cookie: b\r\nContent-Length: 9\r\n\r\n"
    )
    assert head is not None and head.length == 9 and not head.is_interim
    assert head.forwarded() == (
        b"HTTP/1.1 200 \r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 9\r\n"
        b"Connection: close\r\n\r\n"
    )


def test_an_interim_response_is_forwarded_unchanged() -> None:
    head = parse_response(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
    assert head is not None and head.is_interim
    assert head.forwarded() == b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"


@given(st.binary(max_size=200))
def test_parsing_never_raises(data: bytes) -> None:
    for head in (parse_request(data), parse_response(data)):
        assert head is None or head.headers is not None

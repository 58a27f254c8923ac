"""Raw HTTP requests on which parsers disagree, and what must come of each.

The bodies call `count` with the key "own"; whatever an attacker would smuggle calls it with the
key "smuggled". Neither parser nor application may take a part of a body for a request.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["CASES", "KEY", "WEBSOCKET_CASES", "Case", "call_body", "make_request"]

# Replaced by a key of its own in each run, of the same length.
KEY = b"0123456789abcdef"

_MODERN = "2026-07-28"
_LINE = b"POST /mcp HTTP/1.1"
_HOST = b"Host: 127.0.0.1"


class Case(NamedTuple):
    """What is sent, and the allowed outcomes."""

    name: str
    raw: bytes
    # The statuses of the responses, in order; a set if parsers may choose (RFC 9112).
    statuses: tuple[int | frozenset[int], ...]
    # Whether the server closes the connection after the last response; None if it may.
    closes: bool | None
    # How many calls with the key "own" reach the application.
    reached: int | frozenset[int]


def call_body(tool: str, key: bytes) -> bytes:
    """The body of a modern call."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": _MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": {"key": key.decode()}, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


def make_request(
    body: bytes,
    fields: Iterable[bytes] | None = None,
    *,
    tool: bytes = b"count",
    line: bytes = _LINE,
    host: Iterable[bytes] = (_HOST,),
    end: bytes = b"\r\n",
) -> bytes:
    """A request; without `fields` it has the right Content-Length."""
    framing = [b"Content-Length: %d" % len(body)] if fields is None else fields
    common = [
        b"Accept: application/json, text/event-stream",
        b"Content-Type: application/json",
        b"MCP-Protocol-Version: " + _MODERN.encode(),
        b"Mcp-Method: tools/call",
        b"Mcp-Name: " + tool,
    ]
    return end.join([line, *host, *common, *framing, b"", b""]) + body


_OWN = call_body("count", b"own-" + KEY)
_LENGTH = b"Content-Length: %d" % len(_OWN)
_PLAIN = make_request(_OWN)
_SMUGGLED = make_request(call_body("count", b"smuggled-" + KEY))
_CHUNKED = b"Transfer-Encoding: chunked"


def _chunk(data: bytes, size: bytes | None = None, after: bytes = b"\r\n") -> bytes:
    return (b"%x" % len(data) if size is None else size) + b"\r\n" + data + after


_LAST = b"0\r\n\r\n"
_BODY = _chunk(_OWN) + _LAST
_BAD = frozenset({400})
_UNSUPPORTED = frozenset({400, 501})
# A parser may accept or refuse; either way nothing is smuggled.
_EITHER = frozenset({200, 400})
_ONE_OR_NONE = frozenset({0, 1})


def _served(name: str, raw: bytes, count: int = 1, *, closes: bool | None = False) -> Case:
    return Case(name, raw, (200,) * count, closes, count)


def _refused(name: str, raw: bytes, statuses: frozenset[int] = _BAD) -> Case:
    return Case(name, raw, (statuses,), True, 0)


def _either(name: str, raw: bytes) -> Case:
    return Case(name, raw, (_EITHER,), None, _ONE_OR_NONE)


def _upgrade(name: str, *fields: bytes, body: bytes = _OWN) -> Case:
    """httptools does not read the body in a plain uvicorn, which then gets 400."""
    raw = make_request(body, [*fields, b"Content-Length: %d" % len(body)])
    is_call = body is _OWN
    return Case(name, raw, (_EITHER if is_call else _BAD,), True, _ONE_OR_NONE if is_call else 0)


CASES: tuple[Case, ...] = (
    # -- as it should be ----------------------------------------------------------------------
    _served("plain", _PLAIN),
    _served("pipelined", _PLAIN + _PLAIN, 2),
    _served("chunked", make_request(_BODY, [_CHUNKED])),
    _served("two chunks", make_request(_chunk(_OWN[:9]) + _chunk(_OWN[9:]) + _LAST, [_CHUNKED])),
    _served("chunked, upper case", make_request(_BODY, [b"TRANSFER-ENCODING: Chunked"])),
    _served("leading zeros", make_request(_chunk(_OWN, b"000%x" % len(_OWN)) + _LAST, [_CHUNKED])),
    _served("extension", make_request(_chunk(_OWN, b"%x;a=b" % len(_OWN)) + _LAST, [_CHUNKED])),
    _served("expect", make_request(_OWN, [_LENGTH, b"Expect: 100-continue"])),
    _served("close", make_request(_OWN, [_LENGTH, b"Connection: close"]), closes=True),
    _served("1.0", make_request(_OWN, line=b"POST /mcp HTTP/1.0"), closes=True),
    # -- Content-Length (RFC 9112 section 6.3) -------------------------------------------------
    _refused("two lengths", make_request(_OWN, [_LENGTH, b"Content-Length: 5"])),
    _either("the same length twice", make_request(_OWN, [_LENGTH, _LENGTH])),
    _either("a list of lengths", make_request(_OWN, [_LENGTH + b", %d" % len(_OWN)])),
    _refused("a list of different lengths", make_request(_OWN, [_LENGTH + b", 5"])),
    _refused("length with a sign", make_request(_OWN, [b"Content-Length: +%d" % len(_OWN)])),
    _refused("negative length", make_request(_OWN, [b"Content-Length: -1"])),
    _refused("hexadecimal length", make_request(_OWN, [b"Content-Length: 0x%x" % len(_OWN)])),
    _refused("length with an underscore", make_request(_OWN, [b"Content-Length: 1_0"])),
    _refused("length of words", make_request(_OWN, [b"Content-Length: many"])),
    _refused(
        "length beyond 64 bits",
        make_request(b"", [b"Content-Length: " + b"9" * 30]),
        frozenset({400, 413}),
    ),
    _refused("length with a space inside", make_request(_OWN, [b"Content-Length: 1 0"])),
    Case("empty body, then a request", make_request(b"") + _PLAIN, (400, 200), False, 1),
    Case("short body, then a request", make_request(b"{}") + _PLAIN, (400, 200), False, 1),
    # -- Transfer-Encoding ----------------------------------------------------------------------
    _refused("both framings", make_request(_BODY, [_LENGTH, _CHUNKED])),
    _refused("both framings, chunked first", make_request(_BODY, [_CHUNKED, _LENGTH])),
    _refused(
        "CL.TE",
        make_request(_LAST + _SMUGGLED, [b"Content-Length: %d" % len(_LAST + _SMUGGLED), _CHUNKED]),
    ),
    _refused("TE.CL", make_request(_chunk(_SMUGGLED) + _LAST, [b"Content-Length: 4", _CHUNKED])),
    _refused(
        "chunked twice", make_request(_BODY, [b"Transfer-Encoding: chunked, chunked"]), _UNSUPPORTED
    ),
    _refused("chunked in two fields", make_request(_BODY, [_CHUNKED, _CHUNKED]), _UNSUPPORTED),
    _refused(
        "chunked not last", make_request(_BODY, [b"Transfer-Encoding: chunked, gzip"]), _UNSUPPORTED
    ),
    _refused(
        "identity", make_request(_OWN, [_LENGTH, b"Transfer-Encoding: identity"]), _UNSUPPORTED
    ),
    _refused("unknown coding", make_request(_BODY, [b"Transfer-Encoding: xchunked"]), _UNSUPPORTED),
    _refused("quoted coding", make_request(_BODY, [b'Transfer-Encoding: "chunked"']), _UNSUPPORTED),
    _refused(
        "coding with a tab inside",
        make_request(_BODY, [b"Transfer-Encoding: chu\tnked"]),
        _UNSUPPORTED,
    ),
    _refused(
        "coding after a vertical tab",
        make_request(_BODY, [b"Transfer-Encoding: \x0bchunked"]),
        _UNSUPPORTED,
    ),
    # -- chunks -----------------------------------------------------------------------------------
    _refused(
        "chunk size with a prefix",
        make_request(_chunk(_OWN, b"0x%x" % len(_OWN)) + _LAST, [_CHUNKED]),
    ),
    _refused("negative chunk size", make_request(_chunk(_OWN, b"-1") + _LAST, [_CHUNKED])),
    _refused(
        "chunk size with a sign", make_request(_chunk(_OWN, b"+%x" % len(_OWN)) + _LAST, [_CHUNKED])
    ),
    _refused(
        "chunk size of many digits", make_request(_chunk(_OWN, b"f" * 25) + _LAST, [_CHUNKED])
    ),
    _refused("no chunk size", make_request(_chunk(_OWN, b"") + _LAST, [_CHUNKED])),
    _refused(
        "no line end after a chunk", make_request(_chunk(_OWN, after=b"xx") + _LAST, [_CHUNKED])
    ),
    _refused(
        "chunk size that ends in LF",
        make_request(b"%x\n" % len(_OWN) + _OWN + b"\r\n" + _LAST, [_CHUNKED]),
    ),
    # -- trailers ---------------------------------------------------------------------------------
    _served("trailer", make_request(_chunk(_OWN) + b"0\r\nX-Trailer: 1\r\n\r\n", [_CHUNKED])),
    _served(
        "trailer that is a request",
        make_request(_chunk(_OWN) + b"0\r\nPOST: x\r\n\r\n", [_CHUNKED]),
    ),
    _either(
        "trailer with a length",
        make_request(_chunk(_OWN) + b"0\r\nContent-Length: 50\r\n\r\n", [_CHUNKED]),
    ),
    _either(
        "trailer with a coding",
        make_request(_chunk(_OWN) + b"0\r\nTransfer-Encoding: gzip\r\n\r\n", [_CHUNKED]),
    ),
    # -- upgrades ---------------------------------------------------------------------------------
    _upgrade(
        "h2c", b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk"
    ),
    _upgrade("unknown protocol", b"Connection: upgrade", b"Upgrade: x/1"),
    _upgrade("upgrade that smuggles", b"Connection: Upgrade", b"Upgrade: h2c", body=_SMUGGLED),
    _upgrade(
        "two upgrades that smuggle",
        b"Connection: Upgrade",
        b"Upgrade: h2c, x",
        body=_SMUGGLED + _SMUGGLED,
    ),
    # -- heads ------------------------------------------------------------------------------------
    _refused("space before the colon", make_request(_OWN, [b"Content-Length : %d" % len(_OWN)])),
    _either(
        "folded line", make_request(_OWN, [_LENGTH, b"X-A: 1", b" Transfer-Encoding: chunked"])
    ),
    _refused("field without a name", make_request(_OWN, [_LENGTH, b": x"])),
    _refused("field without a colon", make_request(_OWN, [_LENGTH, b"nonsense"])),
    _refused("NUL in a value", make_request(_OWN, [_LENGTH, b"X-A: a\x00b"])),
    _refused("CR in a value", make_request(_OWN, [_LENGTH, b"X-A: a\rTransfer-Encoding: chunked"])),
    _refused("space in a name", make_request(_OWN, [_LENGTH, b"X A: 1"])),
    Case("two hosts", make_request(_OWN, host=[_HOST, b"Host: evil.example"]), (400,), None, 0),
    _refused("no host", make_request(_OWN, host=[])),
    _refused("HTTP/0.9", b"POST /mcp\r\n\r\n", frozenset({400, 505})),
    _refused("HTTP/2.0", make_request(_OWN, line=b"POST /mcp HTTP/2.0"), frozenset({400, 505})),
    _refused("HTTP/1.10", make_request(_OWN, line=b"POST /mcp HTTP/1.10")),
    _refused("garbage", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 8),
    _either("line ends of LF", make_request(_OWN, end=b"\n")),
)

# A plain uvicorn hands these to its own WebSocket server.
WEBSOCKET_CASES = (
    _upgrade("websocket", b"Connection: Upgrade", b"Upgrade: websocket"),
    _upgrade(
        "websocket that smuggles", b"Connection: Upgrade", b"Upgrade: websocket", body=_SMUGGLED
    ),
)

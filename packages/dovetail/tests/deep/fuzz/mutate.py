"""Lines that a client should not send: good ones of both eras, damaged in every way we know.

Everything follows from the seed. A line is cheap to make (some ten microseconds), because the
point is to send very many.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from dovetail.spec import keys

Json = dict[str, Any]

LEGACY = "2025-11-25"
MODERN = "2026-07-28"

HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": "handshake",
    "method": "initialize",
    "params": {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "fuzz", "version": "1"},
    },
}

_ENVELOPE: Json = {
    keys.PROTOCOL_VERSION: MODERN,
    keys.CLIENT_CAPABILITIES: {"elicitation": {"form": {}}, "sampling": {}, "roots": {}},
    keys.CLIENT_INFO: {"name": "fuzz", "version": "1"},
    "progressToken": "p",
}

_SHARED: list[tuple[str, Json]] = [
    ("tools/list", {}),
    ("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}),
    ("tools/call", {"name": "echo", "arguments": {"text": "Grüße 🎉", "tags": ["a", "b"]}}),
    ("tools/call", {"name": "place", "arguments": {"order": {"id": 7, "items": [{"n": 1}]}}}),
    ("tools/call", {"name": "in_thread", "arguments": {"text": "t"}}),
    ("tools/call", {"name": "by_hand", "arguments": {"n": 10, "extra": None}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "notes://today"}),
    ("resources/read", {"uri": "users://42/files/a/b%20c.txt?limit=3"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "plan", "arguments": {"city": "Oslo", "days": "3"}}),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "plan"},
            "argument": {"name": "city", "value": "O"},
            "context": {"arguments": {"days": "3"}},
        },
    ),
]
_LEGACY_ONLY: list[tuple[str, Json]] = [
    ("initialize", HANDSHAKE["params"]),  # type: ignore[list-item]
    ("ping", {}),
    ("logging/setLevel", {"level": "info"}),
    ("resources/subscribe", {"uri": "notes://today"}),
    ("resources/unsubscribe", {"uri": "notes://today"}),
]
_MODERN_ONLY: list[tuple[str, Json]] = [
    ("server/discover", {}),
    ("tools/call", {"name": "ask", "arguments": {}}),
    (
        "tools/call",
        {
            "name": "ask",
            "arguments": {},
            "requestState": "AAAA.BBBB",
            "inputResponses": {"elicit-1": {"action": "accept", "content": {"name": "x"}}},
        },
    ),
]
_UNANSWERED: list[Json] = [
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}},
    {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
    {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1}},
    {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}},
    {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}},
]
# One id for all: a stream stays open, and ten thousand of them would be growth without a leak.
_LISTEN: Json = {
    "jsonrpc": "2.0",
    "id": "listen",
    "method": "subscriptions/listen",
    "params": {
        "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["notes://today"]},
        "_meta": _ENVELOPE,
    },
}


def corpus() -> list[Json]:
    """Good messages of both eras, ids to be filled in."""
    messages: list[Json] = []
    for method, params in _SHARED + _LEGACY_ONLY:
        messages.append({"jsonrpc": "2.0", "id": 0, "method": method, "params": params})
    for method, params in _SHARED + _MODERN_ONLY:
        messages.append(
            {
                "jsonrpc": "2.0",
                "id": 0,
                "method": method,
                "params": {**params, "_meta": _ENVELOPE},
            }
        )
    return [*messages, *_UNANSWERED, _LISTEN]


_JUNK: list[Any] = [
    None, True, False, 0, -1, 1.5, 2**53, -(2**63), 2**64, 10**40, 1e308, "", "x", "\x00", "\u2028",
    "../../etc/passwd", "x" * 300, [], {}, [[]], {"": {}}, [None, 1, "a"], {"a": {"b": [1]}},
    "2026-07-28", "2025-03-26", "tools/call", -32700, "\u017f", "\U0010ffff",
]  # fmt: skip
_NUMBERS = [b"1e999", b"-1e999", b"9" * 400, b"0." + b"1" * 300, b"-0", b"1E+2", b"NaN", b"01"]
_BROKEN_UTF8 = [
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf8\x88\x80\x80\x80",
    b"\xc0\xaf",
    b"\xfe\xff",
]
_SURROGATES = [b"\\ud800", b"\\udc00\\ud800", b"\\uD83D", b"\\u00", b"\\x41"]
_SPACE = [b" ", b"\t", b"\r", b"\xef\xbb\xbf", b"\xc2\xa0", b"\x0b", b"\x1f", b"\x7f", b"\x00"]


class Mutator:
    """Makes lines, one after the other, always the same ones for a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._corpus = corpus()
        self._last_id = 0
        in_tree: list[Callable[[Json], Any]] = [
            self._swap, self._swap, self._delete, self._rename, self._add, self._batch,
        ]  # fmt: skip
        in_bytes: list[Callable[[bytes], bytes]] = [
            self._flip, self._flip, self._truncate, self._repeat, self._nest, self._number,
            self._break_utf8, self._control, self._surrogate, self._glue, self._space,
        ]  # fmt: skip
        self._in_tree = in_tree
        self._in_bytes = in_bytes

    def line(self) -> bytes:
        """The next line, without its newline."""
        message = self._message()
        choice = self._random.random()
        if choice < 0.1:
            return _encode(message)
        if choice < 0.5:
            tree = self._random.choice(self._in_tree)(copy.deepcopy(message))
            line = _encode(tree)
            return self._damage(line) if choice < 0.15 else line
        return self._damage(_encode(message))

    def _damage(self, line: bytes) -> bytes:
        return self._random.choice(self._in_bytes)(line).replace(b"\n", b" ")

    def _message(self) -> Json:
        message = self._random.choice(self._corpus)
        if message.get("method") == "notifications/cancelled":
            # Mostly of something that is in flight, or has not even begun.
            return {**message, "params": {"requestId": self._id()}}
        if message.get("id") != 0:
            return message
        self._last_id += 1
        return {**message, "id": self._id()}

    def _id(self) -> int | str:
        return self._last_id if self._last_id % 2 else f"s{self._last_id}"

    # -- in the tree --------------------------------------------------------------------------

    def _place(self, tree: Any) -> tuple[Any, Any]:
        """A container somewhere inside, and a key or an index in it."""
        while True:
            key = self._random.choice(list(tree) if isinstance(tree, dict) else range(len(tree)))
            inner = tree[key]
            if not isinstance(inner, dict | list) or not inner or self._random.random() < 0.3:
                return tree, key
            tree = inner

    def _swap(self, message: Json) -> Json:
        container, key = self._place(message)
        container[key] = self._random.choice(_JUNK)
        return message

    def _delete(self, message: Json) -> Json:
        container, key = self._place(message)
        del container[key]
        return message

    def _rename(self, message: Json) -> Json:
        container, key = self._place(message)
        if isinstance(container, dict):
            container[self._random.choice(["", "ID", "_meta", "params", f"{key}x"])] = (
                container.pop(key)
            )
        return message

    def _add(self, message: Json) -> Json:
        container, _ = self._place(message)
        if isinstance(container, dict):
            container[self._random.choice(["result", "error", "id", "x", "cursor"])] = (
                self._random.choice(_JUNK)
            )
        return message

    def _batch(self, message: Json) -> list[Any]:
        return [message, *(self._message() for _ in range(self._random.randrange(3)))]

    # -- in the bytes -------------------------------------------------------------------------

    def _at(self, line: bytes) -> int:
        return self._random.randrange(len(line) + 1)

    def _put(self, line: bytes, piece: bytes) -> bytes:
        place = self._at(line)
        return line[:place] + piece + line[place:]

    def _flip(self, line: bytes) -> bytes:
        damaged = bytearray(line)
        for _ in range(self._random.randrange(1, 6)):
            damaged[self._random.randrange(len(damaged))] = self._random.randrange(256)
        return bytes(damaged)

    def _truncate(self, line: bytes) -> bytes:
        return line[: self._at(line)] if self._random.random() < 0.7 else line[self._at(line) :]

    def _repeat(self, line: bytes) -> bytes:
        start, end = sorted((self._at(line), self._at(line)))
        return line[:end] + line[start:end] * self._random.randrange(1, 4) + line[end:]

    def _nest(self, line: bytes) -> bytes:
        depth = self._random.choice([3, 50, 500, 3000])
        head, colon, tail = line.partition(b'"params":')
        if not colon or self._random.random() < 0.2:
            return b"[" * depth + line + b"]" * depth
        return b"%b%b%b%b%b}" % (head, colon, b'{"a":' * depth, tail[:-1], b"}" * depth)

    def _number(self, line: bytes) -> bytes:
        digits = [place for place, byte in enumerate(line) if 48 <= byte <= 57]
        place = self._random.choice(digits or [0])
        return line[:place] + self._random.choice(_NUMBERS) + line[place + 1 :]

    def _break_utf8(self, line: bytes) -> bytes:
        return self._put(line, self._random.choice(_BROKEN_UTF8))

    def _control(self, line: bytes) -> bytes:
        return self._put(line, bytes([self._random.randrange(32)]))

    def _surrogate(self, line: bytes) -> bytes:
        quotes = [place for place, byte in enumerate(line) if byte == 34]
        place = self._random.choice(quotes) + 1
        return line[:place] + self._random.choice(_SURROGATES) + line[place:]

    def _glue(self, line: bytes) -> bytes:
        return line + self._random.choice([b"", b",", b" ", b"\r"]) + _encode(self._message())

    def _space(self, line: bytes) -> bytes:
        piece = self._random.choice(_SPACE)
        return piece + line if self._random.random() < 0.5 else self._put(line, piece)


def _encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

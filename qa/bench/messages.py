"""What the clients of this benchmark say: the same bytes to every contestant."""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

__all__ = [
    "ERAS",
    "INITIALIZED",
    "REVISIONS",
    "Era",
    "call_messages",
    "check_sums",
    "list_messages",
    "opening",
]

Era: TypeAlias = Literal["legacy", "modern"]
ERAS: tuple[Era, ...] = ("legacy", "modern")

REVISIONS: dict[Era, str] = {"legacy": "2025-11-25", "modern": "2026-07-28"}
_CLIENT = {"name": "bench", "version": "1"}
_META = {
    "io.modelcontextprotocol/protocolVersion": REVISIONS["modern"],
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}

INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


def _request(id: int, method: str, params: dict[str, Any], era: Era) -> bytes:
    if era == "modern":
        params = {"_meta": _META, **params}
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return json.dumps(message, separators=(",", ":")).encode()


def opening(era: Era) -> bytes:
    """The first request of a client."""
    if era == "modern":
        return _request(0, "server/discover", {}, era)
    hello = {"protocolVersion": REVISIONS["legacy"], "capabilities": {}, "clientInfo": _CLIENT}
    return _request(0, "initialize", hello, era)


def call_messages(tool: str, era: Era, first: int, count: int) -> list[bytes]:
    """Calls with ids from `first` on; each adds its id and 2."""
    return [
        _request(id, "tools/call", {"name": tool, "arguments": {"a": id, "b": 2}}, era)
        for id in range(first, first + count)
    ]


def list_messages(era: Era, first: int, count: int) -> list[bytes]:
    """Requests for the list of tools."""
    return [_request(id, "tools/list", {}, era) for id in range(first, first + count)]


def check_sums(answers: list[bytes], first: int, count: int) -> None:
    """Every call answered once, and rightly; a fast wrong answer is none."""
    seen = set()
    for line in answers:
        answer = json.loads(line)
        result = answer.get("result")
        if result is None or result.get("isError"):
            raise AssertionError(f"a call failed: {line[:300]!r}")
        if result["content"][0]["text"] != str(answer["id"] + 2):
            raise AssertionError(f"a wrong sum: {line[:300]!r}")
        seen.add(answer["id"])
    if seen != set(range(first, first + count)):
        raise AssertionError(f"{count - len(seen)} of {count} calls were not answered")

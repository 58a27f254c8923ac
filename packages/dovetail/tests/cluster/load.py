"""Clients that keep their connections, call without a pause and retry nothing."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from contextlib import suppress
from typing import Any, TypeAlias

__all__ = ["ERAS", "META", "Load"]

ERAS = ("modern", "legacy")
_MODERN, _LEGACY = "2026-07-28", "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": _MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_CLOSES = re.compile(rb"^connection: *close\r$", re.IGNORECASE | re.MULTILINE)
_LENGTH = re.compile(rb"^content-length: *(\d+)\r$", re.IGNORECASE | re.MULTILINE)

_Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def _post(headers: dict[str, str], **message: Any) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message})
    own = {
        "Host": "127.0.0.1",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **headers,
    }
    lines = [f"{name}: {value}" for name, value in own.items()]
    head = "\r\n".join(["POST /mcp HTTP/1.1", *lines, f"Content-Length: {len(body)}"])
    return f"{head}\r\n\r\n{body}".encode()


def _call(headers: dict[str, str], id: int) -> bytes:
    """A call of the tool `where`."""
    params: dict[str, Any] = {"name": "where", "arguments": {}}
    if headers["MCP-Protocol-Version"] == _MODERN:
        params["_meta"] = META
        headers = {**headers, "Mcp-Method": "tools/call", "Mcp-Name": "where"}
    return _post(headers, id=id, method="tools/call", params=params)


class Load:
    """Some clients of both eras, until `wanted` calls have been made and `stop` was called.

    With `sessions`, each legacy client keeps one session.
    """

    def __init__(self, port: int, clients: int, wanted: int, *, sessions: bool = False) -> None:
        self._has_sessions = sessions
        self._port = port
        self._wanted = wanted
        self._ids = iter(range(10**9))
        self._may_stop = False
        # By the process that answered.
        self.answers: Counter[str] = Counter()
        self.failures: list[str] = []
        self._tasks = [
            asyncio.create_task(self._call_repeatedly(ERAS[number % len(ERAS)]))
            for number in range(clients)
        ]

    @property
    def count(self) -> int:
        """The calls that have ended."""
        return sum(self.answers.values()) + len(self.failures)

    async def reach(self, count: int) -> None:
        """Wait until so many calls have ended."""
        while self.count < count:
            assert not all(task.done() for task in self._tasks), self.failures[:5]
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        """Let the clients finish."""
        self._may_stop = True
        await asyncio.gather(*self._tasks)

    async def _call_repeatedly(self, era: str) -> None:
        streams: _Streams | None = None
        headers = {"MCP-Protocol-Version": _MODERN if era == "modern" else _LEGACY}
        if era == "legacy" and self._has_sessions:
            streams = await self._connect()
            headers["Mcp-Session-Id"] = await _open_session(streams)
        while not (self._may_stop and self.count >= self._wanted):
            try:
                if streams is None:
                    streams = await self._connect()
                head, body = await _exchange(streams, _call(headers, next(self._ids)))
                self.answers[json.loads(body)["result"]["content"][0]["text"]] += 1
                closes = bool(_CLOSES.search(head))
            except (OSError, EOFError, ValueError, KeyError) as error:
                self.failures.append(f"{era}: {error!r}")
                closes = True
            if closes and streams is not None:
                await _close(streams[1])
                streams = None
        if streams is not None:
            await _close(streams[1])

    async def _connect(self) -> _Streams:
        return await asyncio.open_connection("127.0.0.1", self._port)


async def _open_session(streams: _Streams) -> str:
    """The id of a new session."""
    params = {
        "protocolVersion": _LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "load", "version": "1"},
    }
    head, _ = await _exchange(streams, _post({}, id=0, method="initialize", params=params))
    found = re.search(rb"^mcp-session-id: *(\S+)\r$", head, re.IGNORECASE | re.MULTILINE)
    assert found is not None
    return found[1].decode()


async def _exchange(streams: _Streams, request: bytes) -> tuple[bytes, bytes]:
    """The head and the body of a response; raises ValueError if its status is not 200."""
    reader, writer = streams
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = _LENGTH.search(head)
    body = await reader.readexactly(int(length[1]) if length else 0)
    if not head.startswith(b"HTTP/1.1 200 "):
        raise ValueError(f"{head!r} {body!r}")
    return head, body


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()

"""Clients that only listen, cheap enough for a thousand of them: one connection and one task each.

Our own client merges equal changes that were not read yet, so it cannot show that a client was told
once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.patience import CAP

__all__ = ["Listener", "listening"]

_REVISION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": _REVISION,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Listener:
    """One stream of `subscriptions/listen`."""

    def __init__(self) -> None:
        # The URIs of the updates, in the order in which they came.
        self.told: list[str] = []
        self.lists: list[str] = []
        self.acknowledged = asyncio.Event()
        self._arrival = asyncio.Event()

    async def listen(self, port: int, uris: Sequence[str]) -> None:
        """Open the stream and read it until the task is cancelled."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(_request(uris))
            while line := await reader.readline():
                if line.startswith(b"data: {"):
                    self._take(json.loads(line[6:]))
        finally:
            writer.close()

    def _take(self, message: Any) -> None:
        match message.get("method"):
            case "notifications/subscriptions/acknowledged":
                self.acknowledged.set()
            case "notifications/resources/updated":
                self.told.append(message["params"]["uri"])
            case other:
                self.lists.append(str(other))
        self._arrival.set()

    async def until_told(self, uri: str) -> None:
        """Wait until an update of this resource has arrived."""
        async with asyncio.timeout(CAP):
            while uri not in self.told:
                self._arrival.clear()
                await self._arrival.wait()


def _request(uris: Sequence[str]) -> bytes:
    filter = {"resourceSubscriptions": list(uris), "toolsListChanged": True}
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "subscriptions/listen",
            "params": {"notifications": filter, "_meta": _META},
        }
    )
    head = (
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n"
        f"MCP-Protocol-Version: {_REVISION}\r\nMcp-Method: subscriptions/listen\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return (head + body).encode()


@asynccontextmanager
async def listening(
    ports: Sequence[int], count: int, uris: Sequence[str]
) -> AsyncIterator[list[Listener]]:
    """`count` listeners over these ports in turn, each of them acknowledged."""
    listeners = [Listener() for _ in range(count)]
    tasks = [
        asyncio.create_task(each.listen(ports[index % len(ports)], uris))
        for index, each in enumerate(listeners)
    ]
    try:
        for each in listeners:
            await asyncio.wait_for(each.acknowledged.wait(), CAP)
        yield listeners
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

"""A legacy client that chooses the process for each of its requests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx

__all__ = ["INITIALIZE", "LegacyClient", "read_events"]

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2025-11-25",
}


class LegacyClient:
    """One legacy client that chooses a process for every request."""

    def __init__(self, http: httpx.AsyncClient, urls: Sequence[str]) -> None:
        self.http = http
        self.urls = urls
        self.headers = dict(HEADERS)
        self._last = 0

    async def start(self, at: int, **capabilities: Any) -> None:
        response = await self.post(at, "initialize", {**INITIALIZE, "capabilities": capabilities})
        assert response.status_code == 200, response.text
        self.headers["mcp-session-id"] = response.headers["mcp-session-id"]

    async def ready(self, at: int) -> None:
        response = await self.send(at, {"method": "notifications/initialized"})
        assert response.status_code == 202

    async def post(
        self, at: int, method: str, params: Any = None, id: Any = None
    ) -> httpx.Response:
        self._last += 1
        body = {"id": id or self._last, "method": method}
        return await self.send(at, body if params is None else {**body, "params": params})

    async def send(self, at: int, body: dict[str, Any]) -> httpx.Response:
        return await self.http.post(
            self.urls[at], json={"jsonrpc": "2.0", **body}, headers=self.headers
        )

    async def call(self, at: int, name: str, **arguments: Any) -> httpx.Response:
        return await self.post(at, "tools/call", {"name": name, "arguments": arguments})

    @asynccontextmanager
    async def stream(self, at: int, **extra: str) -> AsyncIterator[AsyncIterator[tuple[str, str]]]:
        headers = {**self.headers, "accept": "text/event-stream", **extra}
        url = self.urls[at]
        async with self.http.stream("GET", url, headers=headers) as response:
            assert response.status_code == 200, await response.aread()
            yield read_events(response)

    @asynccontextmanager
    async def streamed_call(
        self, at: int, name: str, id: Any = "call", **arguments: Any
    ) -> AsyncIterator[AsyncIterator[tuple[str, str]]]:
        params = {"name": name, "arguments": arguments, "_meta": {"progressToken": "token"}}
        body = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        url = self.urls[at]
        async with self.http.stream("POST", url, json=body, headers=self.headers) as response:
            yield read_events(response)


async def read_events(response: httpx.Response) -> AsyncIterator[tuple[str, str]]:
    """The id and the data of each event with data."""
    id = data = ""
    async for line in response.aiter_lines():
        if line.startswith("id: "):
            id = line[4:]
        elif line.startswith("data: "):
            data = line[6:]
        elif not line:
            if id or data:
                yield id, data
            data = ""

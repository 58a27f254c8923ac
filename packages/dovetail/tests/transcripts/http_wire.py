"""Transcripts over HTTP: real sockets, uvicorn with either parser, and httpx as the client.

Each line that a transcript sends is one POST. What comes back, as JSON or as events, is put into
one queue in the order of arrival, as if it were one connection.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from dovetail import Server
from dovetail.auth import ApiKeys, Guard
from dovetail.auth.api_keys import KeyFile
from dovetail.spec.keys import PROTOCOL_VERSION
from dovetail.spec.revisions import Family, Revision
from dovetail.transports.http_server import HttpParser, bind, serve_app
from dovetail.transports.streamable_http.app import HttpApp
from dovetail.wire.framing import SseBuffer
from tests.transcripts.server import PRINCIPALS, make_server

__all__ = ["open_http", "open_sse"]

_ACCEPT = "application/json, text/event-stream"


@asynccontextmanager
async def _serving(variant: str, parser: HttpParser, **options: Any) -> AsyncIterator[Any]:
    server = make_server(variant)
    headers: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        if variant in PRINCIPALS:
            keys = KeyFile(Path(folder) / "keys.json")
            headers["authorization"] = f"Bearer {keys.add(PRINCIPALS[variant])[1]}"
            options["guard"] = Guard(ApiKeys(keys.path))
        app = server.http_app(**options)
        async with _on_a_port(app, server, parser) as port:
            limits = httpx.Limits(max_connections=None)
            url = f"http://127.0.0.1:{port}"
            async with httpx.AsyncClient(
                base_url=url, timeout=None, limits=limits, headers=headers, verify=False
            ) as client:
                yield app, client


@asynccontextmanager
async def _on_a_port(app: HttpApp, server: Server, parser: HttpParser) -> AsyncIterator[int]:
    listener = bind("127.0.0.1", 0)
    port = listener.getsockname()[1]
    ready = asyncio.Event()
    # Mounted in a host: nobody starts the server's lifespan before the first request.
    serving = asyncio.create_task(
        serve_app(app, [], listener, parser=parser, on_ready=lambda _: ready.set())
    )
    try:
        await ready.wait()
        yield port
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await server.close()


class _HttpWire:
    """One client of Streamable HTTP, of either era."""

    def __init__(self, app: HttpApp, client: httpx.AsyncClient, revision: Revision) -> None:
        self._app = app
        self._client = client
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._running: set[asyncio.Task[None]] = set()
        # The headers of every legacy request; a modern client names its version in any case.
        is_modern = revision.family is Family.MODERN
        self._session = {"mcp-protocol-version": revision.date} if is_modern else {}

    async def send(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        single = message if isinstance(message, dict) else {}
        method = single.get("method")
        headers = self._headers(single)
        if method == "initialize" or "id" not in single or not isinstance(method, str):
            if isinstance(message, list):
                await self._start(line, headers)
                return
            await self._post(line, headers, is_handshake=method == "initialize")
            if method == "notifications/initialized" and "mcp-session-id" in self._session:
                await self._listen()
        else:
            await self._start(line, headers)

    def _headers(self, message: dict[str, Any]) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": _ACCEPT}
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        version = meta.get(PROTOCOL_VERSION) if isinstance(meta, dict) else None
        if isinstance(params, dict) and isinstance(version, str):
            headers |= {"mcp-protocol-version": version, "mcp-method": str(message.get("method"))}
            name = params.get("uri", params.get("name", params.get("taskId")))
            if isinstance(name, str):
                headers["mcp-name"] = name
            return headers
        return headers | self._session

    async def _start(self, line: bytes, headers: dict[str, str]) -> None:
        """Begin a request; returns when the server works on it or has begun to answer."""
        before = self._app.counts().calls
        answered = asyncio.Event()
        task = self._keep(self._post(line, headers, answered=answered))
        while not answered.is_set() and not task.done() and self._app.counts().calls <= before:
            await asyncio.sleep(0)

    def _keep(self, running: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(running)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def _post(
        self,
        line: bytes,
        headers: dict[str, str],
        *,
        answered: asyncio.Event | None = None,
        is_handshake: bool = False,
    ) -> None:
        request = self._client.stream("POST", "/mcp", content=line, headers=headers)
        async with request as response:
            if is_handshake and "mcp-session-id" in response.headers:
                self._session = {"mcp-session-id": response.headers["mcp-session-id"]}
            await self._read(response, answered)
        if is_handshake and response.status_code == 200:
            revision = json.loads(response.content).get("result", {}).get("protocolVersion")
            if revision is not None:
                self._session["mcp-protocol-version"] = revision

    async def _listen(self) -> None:
        opened = asyncio.Event()

        async def listen() -> None:
            headers = {"accept": "text/event-stream", **self._session}
            async with self._client.stream("GET", "/mcp", headers=headers) as response:
                opened.set()
                await self._read(response, None)

        self._keep(listen())
        await opened.wait()

    async def _read(self, response: httpx.Response, answered: asyncio.Event | None) -> None:
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            events = SseBuffer(1 << 24)
            async for chunk in response.aiter_bytes():
                for event in events.feed(chunk):
                    if event.data:
                        self._lines.put_nowait(event.data)
                if answered is not None:
                    answered.set()
            return
        body = await response.aread()
        if body:
            self._lines.put_nowait(body)

    async def receive(self) -> bytes | None:
        return await self._lines.get()

    async def close(self) -> None:
        for task in tuple(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._lines.put_nowait(None)


@asynccontextmanager
async def open_http(
    variant: str, parser: HttpParser, revision: Revision
) -> AsyncIterator[_HttpWire]:
    """A new server of this variant over Streamable HTTP."""
    async with _serving(variant, parser) as (app, client):
        wire = _HttpWire(app, client, revision)
        try:
            yield wire
        finally:
            await wire.close()


class _SseWire:
    """One client of HTTP+SSE, the transport of 2024-11-05."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async with self._client.stream("GET", "/sse") as response:
            events = SseBuffer(1 << 24)
            async for chunk in response.aiter_bytes():
                for event in events.feed(chunk):
                    if event.event == b"endpoint":
                        self._endpoint.set_result(event.data.decode())
                    elif event.data:
                        self._lines.put_nowait(event.data)

    async def send(self, line: bytes) -> None:
        headers = {"content-type": "application/json", "accept": _ACCEPT}
        response = await self._client.post(await self._endpoint, content=line, headers=headers)
        if response.status_code != 202:
            self._lines.put_nowait(response.content)

    async def receive(self) -> bytes | None:
        return await self._lines.get()

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self._lines.put_nowait(None)


@asynccontextmanager
async def open_sse(variant: str) -> AsyncIterator[_SseWire]:
    """A new server of this variant over HTTP+SSE."""
    async with _serving(variant, "auto", old_sse="/sse") as (_, client):
        wire = _SseWire(client)
        try:
            yield wire
        finally:
            await wire.close()

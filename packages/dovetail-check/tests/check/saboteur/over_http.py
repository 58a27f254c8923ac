"""The saboteur over HTTP: a path for each switch (`/SWITCH/mcp`), and `/healthy/mcp`.

Guarded servers have separate ports with the endpoint `/mcp`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from dovetail.wire.framing import SseBuffer, SseEvent, encode_sse
from tests.check.saboteur import faults, guarded
from tests.check.saboteur.healthy import server
from tests.check.saboteur.switch import HttpRequest, HttpResponse

__all__ = ["app"]

faults.load()
_healthy = server.http_app(path="/mcp", old_sse="/sse")


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Dispatch on the port, or on the first segment of the path."""
    if scope["type"] != "http":
        await _healthy(scope, receive, send)
        return
    name, inner = guarded.name_at(scope["server"][1]), scope
    is_guarded = name is not None
    if name is None:
        _, name, *rest = scope["path"].split("/")
        inner = {**scope, "path": "/" + "/".join(rest), "root_path": f"/{name}"}
    active = faults.Faults(None if name == "healthy" else name)
    await _Handler(active, inner, receive, send, is_guarded=is_guarded).run()


class _Handler:
    """Handles one request and changes its response."""

    def __init__(
        self,
        active: faults.Faults,
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[Any], Awaitable[None]],
        *,
        is_guarded: bool,
    ) -> None:
        self._faults = active
        self._is_guarded = is_guarded
        self._scope = scope
        self._receive = receive
        self._send = send
        self._sse: SseBuffer | None = None
        self._response = HttpResponse(500)
        self._held = b""
        self._is_started = False

    async def run(self) -> None:
        body = await self._read()
        headers = {n.decode("latin-1"): v.decode("latin-1") for n, v in self._scope["headers"]}
        message = _parse(body)
        message = message if isinstance(message, dict) else {}
        query = self._scope["query_string"].decode("latin-1")
        self._request = HttpRequest(
            self._scope["method"], self._scope["path"], headers, body, message, query
        )
        response = self._faults.http(self._request)
        if response is None and self._is_guarded:
            response = guarded.answer(self._request)
        if response is None and message:
            instead = self._faults.instead_of(message)
            if instead is not None:
                head = {"content-type": "application/json"}
                response = HttpResponse(200, head, b"".join(instead))
        if response is not None:
            self._faults.response(response, self._request)
            await self._say(response)
            return
        first = {"type": "http.request", "body": body, "more_body": False}
        given = iter([first])

        async def receive() -> Any:
            return next(given, None) or await self._receive()

        await _healthy(self._scope, receive, self._take)

    async def _read(self) -> bytes:
        body = b""
        while True:
            message = await self._receive()
            body += bytes(message.get("body", b""))
            if not message.get("more_body"):
                return body

    async def _take(self, message: Any) -> None:
        """Receive an ASGI message of the healthy response."""
        if message["type"] == "http.response.start":
            headers = {n.decode("latin-1"): v.decode("latin-1") for n, v in message["headers"]}
            kind = headers.get("content-type", "")
            self._response = HttpResponse(message["status"], headers)
            if kind.startswith("text/event-stream"):
                self._response.is_stream = True
                self._sse = SseBuffer(1 << 26)
                self._faults.response(self._response, self._request)
                await self._start(self._response)
                if prelude := self._response.prelude:
                    part = {"type": "http.response.body", "body": prelude, "more_body": True}
                    await self._send(part)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if self._sse is not None:
            await self._stream(body, more)
            return
        self._held += body
        if not more:
            await self._whole()

    async def _stream(self, body: bytes, more: bool) -> None:
        assert self._sse is not None
        out = b""
        for event in self._sse.feed(body):
            for made in self._faults.events(event, self._request):
                out += b"".join(self._encode(made))
        hangs = not more and self._response.hangs
        await self._send({"type": "http.response.body", "body": out, "more_body": more or hangs})
        if hangs:
            await asyncio.sleep(5)

    def _encode(self, event: SseEvent) -> list[bytes]:
        chunks = [event.data]
        if (parsed := _parse(event.data)) is not None:
            chunks = self._faults.replies(parsed, self._request.message)
        return [
            encode_sse(chunk, event=event.event, id=event.id, retry=event.retry) for chunk in chunks
        ]

    async def _whole(self) -> None:
        response, body = self._response, self._held
        parsed = _parse(body) if body else None
        if parsed is not None:
            made = self._faults.replies(parsed, self._request.message)
            body = b"".join(made)
        response.body = body
        self._faults.response(response, self._request)
        await self._say(response)

    async def _say(self, response: HttpResponse) -> None:
        response.headers.pop("content-length", None)
        if response.status != 204:
            response.headers["content-length"] = str(len(response.body))
        await self._start(response)
        await self._send({"type": "http.response.body", "body": response.body})

    async def _start(self, response: HttpResponse) -> None:
        is_error = response.status >= 400 or b'"error"' in response.body
        await asyncio.sleep(self._faults.delay(is_error=is_error))
        headers = [(n.encode("latin-1"), v.encode("latin-1")) for n, v in response.headers.items()]
        await self._send(
            {"type": "http.response.start", "status": response.status, "headers": headers}
        )


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None

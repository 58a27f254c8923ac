"""`--watch`: records the messages of all clients.

Each request and response of an MCP endpoint is recorded as an ASGI application sees it, with the
principal that the guard finds.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Coroutine, Mapping
from contextvars import ContextVar
from typing import Any

from dovetail.auth import Principal
from dovetail.errors import PeerError
from dovetail.transports import AppWrapper, HttpApp, HttpRequest, ServedApp
from dovetail.wire.framing import SseBuffer
from dovetail_console.traffic import Traffic, mask_headers, mask_url

__all__ = ["WatchedApp", "WatchedAuth"]

# Bytes of a body or event that are kept until it is complete.
_MAX_BODY = 1024 * 1024

_exchange: ContextVar[_Exchange | None] = ContextVar("exchange", default=None)


class WatchedAuth:
    """A guard that notes the principal of the request that is recorded."""

    def __init__(self, auth: Any) -> None:
        self._auth = auth

    def __getattr__(self, name: str) -> Any:
        return getattr(self._auth, name)

    def identify(self, request: Any) -> Any:
        """Authenticate a request; returns the result or a coroutine for it."""
        found = self._auth.identify(request)
        return self._wait(found) if isinstance(found, Coroutine) else _note(found)

    async def _wait(self, identifying: Coroutine[Any, Any, Any]) -> Any:
        return _note(await identifying)


def _note(found: Any) -> Any:
    exchange = _exchange.get()
    if exchange is not None and isinstance(found, Principal):
        exchange.principal = found.id
    return found


class WatchedApp(AppWrapper):
    """An application whose MCP requests are recorded; none of them takes the fast path."""

    def __init__(self, app: ServedApp, traffic: Traffic, endpoints: Mapping[str, HttpApp]) -> None:
        """`endpoints`: the MCP endpoints by their paths."""
        super().__init__(app)
        self._traffic = traffic
        self._endpoints = endpoints

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one ASGI connection."""
        endpoint = None
        if scope["type"] == "http":
            path = HttpRequest(scope, {}, receive, send).path
            endpoint = self._endpoints.get(path.rstrip("/"))
        if endpoint is None:
            await super().__call__(scope, receive, send)
            return
        credentials = () if endpoint.auth is None else endpoint.auth.credential_headers
        exchange = _Exchange(self._traffic, scope, credentials)
        token = _exchange.set(exchange)
        try:
            await super().__call__(scope, exchange.receiving(receive), exchange.sending(send))
        finally:
            _exchange.reset(token)

    def is_validated(self, request: Any) -> bool:
        """No request may skip the recording."""
        return False


class _Exchange:
    """One HTTP request and its response."""

    def __init__(self, traffic: Traffic, scope: Any, credentials: Collection[bytes]) -> None:
        self._traffic = traffic
        self._scope = scope
        self._credentials = credentials
        self._stream = traffic.next_stream("http-")
        self._began = time.monotonic()
        self._request = _Body()
        # The frame of the request.
        self._sent: dict[str, Any] | None = None
        self._response = _Body()
        self._events: SseBuffer | None = None
        self._head: dict[str, Any] | None = None
        self.principal: str | None = None

    def receiving(self, receive: Any) -> Any:
        """The body of the request, which is recorded when it is complete."""

        async def receive_recorded() -> Any:
            message = await receive()
            if message["type"] == "http.request":
                self._request.add(message.get("body", b""))
                if not message.get("more_body", False):
                    self._record_request()
            return message

        return receive_recorded

    def sending(self, send: Any) -> Any:
        """The response, which is recorded event by event or when it is complete."""

        async def send_recorded(message: Any) -> None:
            # First, so that frames are in the order in which a client could see them.
            if message["type"] == "http.response.start":
                self._begin_response(message)
            elif message["type"] == "http.response.body":
                self._add_response(message)
            await send(message)

        return send_recorded

    def _record_request(self) -> None:
        if self._sent is not None:
            return
        scope = self._scope
        query = scope.get("query_string", b"").decode("latin-1")
        url = scope["path"] + (f"?{query}" if query else "")
        self._sent = self._add(
            "out",
            self._request.text,
            {
                "method": scope["method"],
                "url": mask_url(url),
                "status": None,
                "headers": mask_headers(scope["headers"], self._credentials),
            },
        )

    def _begin_response(self, message: Mapping[str, Any]) -> None:
        # A request can be refused before its body has been read.
        self._record_request()
        headers = list(message.get("headers", ()))
        self._head = {
            "method": None,
            "url": None,
            "status": message["status"],
            "headers": mask_headers(headers, self._credentials),
        }
        kind = dict(headers).get(b"content-type", b"").partition(b";")[0]
        if kind == b"text/event-stream":
            self._events = SseBuffer(_MAX_BODY)
            self._record_response("")

    def _add_response(self, message: Mapping[str, Any]) -> None:
        data, is_last = message.get("body", b""), not message.get("more_body", False)
        if self._events is not None:
            for event in self._read_events(data):
                self._record_response(event)
            return
        self._response.add(data)
        if is_last:
            self._record_response(self._response.text)

    def _read_events(self, data: bytes) -> list[str]:
        assert self._events is not None
        try:
            events = self._events.feed(data)
        except PeerError:
            self._events = SseBuffer(_MAX_BODY)
            return [f"[an event of more than {_MAX_BODY} bytes, not recorded]"]
        return [event.data.decode(errors="replace") for event in events if event.data]

    def _record_response(self, text: str) -> None:
        head, self._head = self._head, None
        elapsed = round((time.monotonic() - self._began) * 1000, 3)
        self._add("in", text, head, elapsed)

    def _add(
        self, direction: str, text: str, http: dict[str, Any] | None, ms: float | None = None
    ) -> dict[str, Any]:
        return self._traffic.add(
            self._stream,
            direction,
            text,
            http=http,
            principal=self.principal,
            ms=ms,
            request=self._sent,
        )


class _Body:
    """A body in pieces, of which only the first megabyte is kept."""

    def __init__(self) -> None:
        self._data = b""
        self._size = 0

    def add(self, piece: bytes) -> None:
        self._size += len(piece)
        self._data += piece[: _MAX_BODY - len(self._data)]

    @property
    def text(self) -> str:
        text = self._data.decode(errors="replace")
        return text if self._size == len(self._data) else f"{text}[cut, {self._size} bytes]"

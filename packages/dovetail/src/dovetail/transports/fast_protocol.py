"""uvicorn's protocol, with a shorter way for most requests: a small POST, answered at once.

uvicorn makes a scope, a task, an event and a cycle for each request before the application is
asked, and takes the answer in two messages. Here the application is asked first. A function that
needs no waiting is over by then, and its answer is written as it is; anything else (a body that is
not all there, a stream, a function that waits, a client nobody has looked at yet) goes the usual
way.

An author's function begins in the very task that goes on with it; see `runtime/eager_tasks.py`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Coroutine
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from dovetail.runtime.eager_tasks import EagerTasks
from dovetail.transports.asgi.messages import HttpResponse, PendingResponse
from dovetail.transports.path_router import PathRouter
from dovetail.transports.streamable_http.app import HttpApp

__all__ = ["fast_protocol"]

logger = logging.getLogger("dovetail")

# Kinds of request that are remembered; clients choose what stands in them.
_MAX_VALIDATED = 1024
# Bytes of a head that arrive in several pieces; h11 takes as many.
_MOST_HEAD = 64 * 1024
# Also those that may follow a body.
_MOST_HEADERS = 500
# httptools leaves out the body of a request that asks for HTTP/2, which some clients do in every
# request. To pass the question over is a server's right (RFC 9110 section 7.8).
_H2C = re.compile(rb"(?im)^upgrade(?=:[ \t]*h2c[ \t]*\r$)")
_BROKEN = HttpResponse(500, b'{"error":"internal error"}')


def fast_protocol(app: HttpApp | PathRouter) -> type[HttpToolsProtocol]:
    """The protocol class for uvicorn to serve this application with."""

    class FastProtocol(_FastProtocol):
        mcp = app
        # Shared by all connections.
        eager_tasks = EagerTasks(asyncio.get_running_loop())
        validated: ClassVar = set()

    return FastProtocol


class _FastProtocol(HttpToolsProtocol):
    mcp: ClassVar[HttpApp | PathRouter]
    eager_tasks: ClassVar[EagerTasks]
    # What the application has looked at: nothing is left to decide but what the body says.
    validated: ClassVar[set[tuple[Any, ...]]]
    # The request that may be answered at once, while its body comes; None: the usual way.
    _fast: _FastRequest | None = None
    _head: tuple[Any, bytes] = (None, b"")
    # The request whose task is at work; others may have come behind it.
    _running: RequestResponseCycle | None = None
    # Whether the head of a request is being read, and bytes that have come since it began.
    _in_head = True
    _head_bytes = 0
    # Answers so far, and how many there were when somebody looked last.
    _answered = 0
    _answered_then = 0
    _idle_timer: asyncio.TimerHandle | None = None

    # -- what comes ---------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Also for those that never finish the head of a request.
        self._watch_idling()

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
            if b"h2c" in data:
                data = _without_h2c(data)
        super().data_received(data)
        if self._is_too_much() and not self.transport.is_closing():
            # httptools keeps what it is given, and joins the pieces of a long line each time.
            self.send_400_response("The head of the request is too long.")
        elif self._fast is not None:
            # Waiting for the rest of a body is a task's business: it has a time limit.
            self._use_uvicorn(self._fast)

    def _is_too_much(self) -> bool:
        if self._in_head:
            return self._head_bytes > _MOST_HEAD
        return len(self.headers) > _MOST_HEADERS

    def on_message_begin(self) -> None:
        # The scope is made where it is needed.
        self.url = b""
        self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._in_head = False
        headers = dict(self.headers)
        parser = self.parser
        # None before the first request, whatever its annotation says.
        cycle: RequestResponseCycle | None = self.cycle
        if (
            # Who does not read is not answered any faster than usual, or all would wait here.
            self.flow.write_paused
            or parser.get_method() != b"POST"
            or (cycle is not None and not cycle.response_complete)
            or len(headers) != len(self.headers)
            or b"expect" in headers
            or self.limit_concurrency is not None
            or self.access_log
            or not parser.should_keep_alive()
            or parser.should_upgrade()
            or parser.get_http_version() != "1.1"
        ):
            self._use_uvicorn_head()
        else:
            self._fast = _FastRequest(self, self.url, self.headers, headers)

    def on_body(self, body: bytes) -> None:
        if self._fast is None:
            super().on_body(body)
        else:
            self._fast.body += body

    def on_message_complete(self) -> None:
        self._in_head = True
        self._head_bytes = 0
        request = self._fast
        if request is None:
            super().on_message_complete()
            return
        begun = self._begin(request)
        if begun is None:
            self._use_uvicorn(request)
            super().on_message_complete()
            return
        self._fast = None
        if isinstance(begun, HttpResponse):
            self._write(begun)
        else:
            self._follow(request, begun)

    def _begin(self, request: _FastRequest) -> HttpResponse | asyncio.Task[Any] | None:
        get = request.headers.get
        named = (get(b"host"), get(b"origin"), get(b"content-type"), get(b"accept"))
        fingerprint = (self.server, self.url, *named)
        if fingerprint not in self.validated:
            if not self.mcp.is_validated(request):
                return None
            if len(self.validated) >= _MAX_VALIDATED:
                self.validated.clear()
            self.validated.add(fingerprint)
        try:
            return self.eager_tasks.begin(request.begin, request.wrap)
        except Exception:
            logger.exception("a request could not be begun")
            return _BROKEN

    # -- what goes out ------------------------------------------------------------------------

    def _write(self, answer: HttpResponse) -> None:
        defaults = self.server_state.default_headers
        if self._head[0] is not defaults:
            lines = [b"%b: %b\r\n" % header for header in defaults]
            self._head = (defaults, b"".join(lines))
        status, body, headers = answer
        lines = [STATUS_LINE[status], self._head[1]]
        lines += [b"%b: %b\r\n" % header for header in headers]
        lines.append(b"content-length: %d\r\n\r\n" % len(body))
        lines.append(body)
        self.transport.write(b"".join(lines))
        self.server_state.total_requests += 1
        self._answered += 1

    def _watch_idling(self) -> None:
        # One timer that looks whether anything has happened, not one that is set anew each time.
        self._answered_then = self._answered
        self._idle_timer = self.loop.call_later(self.timeout_keep_alive, self._look)

    def _look(self) -> None:
        self._idle_timer = None
        cycle: RequestResponseCycle | None = self.cycle
        is_busy = cycle is not None and not cycle.response_complete
        if is_busy or self._answered != self._answered_then:
            self._watch_idling()
        else:
            self.timeout_keep_alive_handler()

    def _follow(self, request: _FastRequest, task: asyncio.Task[Any]) -> None:
        """Give what has begun the cycle it would have had, and let its task go on."""
        cycle = self.cycle = RequestResponseCycle(
            scope=request.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=True,
            on_response=self.on_response_complete,
        )
        cycle.more_body = False
        request.cycle = self._running = cycle
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    # -- the usual way ------------------------------------------------------------------------

    def _use_uvicorn(self, request: _FastRequest) -> None:
        self._fast = None
        self._use_uvicorn_head()
        if request.body:
            super().on_body(request.body)

    def _use_uvicorn_head(self) -> None:
        """Tell uvicorn of a head that has been read."""
        url, headers = self.url, self.headers
        super().on_message_begin()
        self.url = url
        for name, value in headers:
            super().on_header(name, value)
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._answered += 1
        if self.pipeline:
            # uvicorn reads on after each answer, and so takes in more than it answers.
            self.flow.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        # uvicorn leaves the timer to a connection that was reset, and it holds on to everything.
        self._unset_keepalive_if_required()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        # It tells the request that came last; the one that is at work may be another.
        cycle, self._running = self._running, None
        self.pipeline.clear()
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()


class _FastRequest:
    """A request whose scope and cycle are made only where they are needed."""

    __slots__ = ("_lines", "_protocol", "_scope", "_url", "body", "cycle", "headers")

    def __init__(
        self,
        protocol: _FastProtocol,
        url: bytes,
        lines: list[tuple[bytes, bytes]],
        headers: dict[bytes, bytes],
    ) -> None:
        self._protocol = protocol
        self._url = url
        self._lines = lines
        self.headers = headers
        self.body = b""
        self.cycle: RequestResponseCycle | None = None
        self._scope: Any = None

    @property
    def scope(self) -> Any:
        """The scope, as uvicorn would make it."""
        if self._scope is None:
            self._scope = _make_scope(self._protocol, self._url, self._lines)
        return self._scope

    def begin(self) -> PendingResponse | None:
        """Ask the application."""
        return self._protocol.mcp.begin(self, self.body)

    async def receive(self) -> Any:
        """The body has been read: what comes next can only be the end."""
        assert self.cycle is not None
        return await self.cycle.receive()

    async def transmit(self, message: Any) -> None:
        """A part of the response."""
        assert self.cycle is not None
        await self.cycle.send(message)

    async def wrap(self, rest: Coroutine[Any, Any, None]) -> None:
        """What is left of a request, watched over as uvicorn does."""

        async def go_on(_scope: Any, _receive: Any, _send: Any) -> None:
            await rest

        assert self.cycle is not None
        await self.cycle.run_asgi(go_on)


def _make_scope(
    protocol: _FastProtocol, url: bytes, headers: list[tuple[bytes, bytes]]
) -> dict[str, Any]:
    path, _, query = url.partition(b"?")
    text = path.decode("latin-1")
    return {
        "type": "http",
        "asgi": {"version": protocol.asgi_version, "spec_version": "2.3"},
        "http_version": "1.1",
        "server": protocol.server,
        "client": protocol.client,
        "scheme": protocol.scheme,
        "root_path": protocol.root_path,
        "method": "POST",
        "headers": headers,
        "state": protocol.app_state.copy(),
        # One that is not plain is none that the application knows, and goes the usual way.
        "path": protocol.root_path + text,
        "raw_path": protocol.root_path.encode() + path,
        "query_string": query,
    }


def _without_h2c(data: bytes) -> bytes:
    head, blank, rest = data.partition(b"\r\n\r\n")
    return _H2C.sub(b"ignored", head + blank[:2]) + blank[2:] + rest

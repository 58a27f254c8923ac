"""uvicorn's protocol, with a shorter way for most requests: a small POST, answered at once.

uvicorn makes a task, an event and a cycle for each request before the application is asked, and
takes the answer in two messages. Here the application is asked first. A function that needs no
waiting is over by then, and its answer is written as it is; anything else (a body that is not
all there, a stream, a function that waits, a client nobody has looked at yet) goes the usual way.

An author's function begins in the very task that goes on with it; see `runtime/carriers.py`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Coroutine
from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from dovetail.runtime.carriers import Carriers
from dovetail.transports.streamable_http.app import HttpApp
from dovetail.transports.streamable_http.asgi import HttpRequest, WholeAnswer

__all__ = ["quick_protocol"]

logger = logging.getLogger("dovetail")

# Paths that are remembered as they were parsed; clients choose them.
_MOST_PATHS = 64
# Bytes of a head that arrive in several pieces; h11 takes as many.
_MOST_HEAD = 64 * 1024
# Also those that may follow a body.
_MOST_HEADERS = 500
# httptools leaves out the body of a request that asks for HTTP/2, which some clients do in every
# request. To pass the question over is a server's right (RFC 9110 section 7.8).
_H2C = re.compile(rb"(?im)^upgrade(?=:[ \t]*h2c[ \t]*\r$)")
_BROKEN = WholeAnswer(500, b'{"error":"internal error"}')


def quick_protocol(app: HttpApp) -> type[HttpToolsProtocol]:
    """The protocol class for uvicorn to serve this application with."""

    class QuickProtocol(_QuickProtocol):
        mcp = app
        # Shared by all connections.
        carriers = Carriers(asyncio.get_running_loop())
        paths: ClassVar = {}

    return QuickProtocol


class _QuickProtocol(HttpToolsProtocol):
    mcp: ClassVar[HttpApp]
    carriers: ClassVar[Carriers]
    # What was asked for -> path, raw path, query.
    paths: ClassVar[dict[bytes, tuple[str, bytes, bytes]]]
    # The body so far of a request that may be answered at once; None: it goes the usual way.
    _held: bytes | None = None
    _head: tuple[Any, bytes] = (None, b"")
    # The request whose task is at work; others may have come behind it.
    _running: RequestResponseCycle | None = None
    # Whether the head of a request is being read, and bytes that have come since it began.
    _in_head = True
    _head_bytes = 0

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
            if b"h2c" in data:
                data = _without_h2c(data)
        super().data_received(data)
        if self._is_too_much() and not self.transport.is_closing():
            # httptools keeps what it is given, and joins the pieces of a long line each time.
            self.send_400_response("The head of the request is too long.")
        elif self._held is not None:
            # Waiting for the rest of a body is a task's business: it has a time limit.
            self._go_the_usual_way()

    def _is_too_much(self) -> bool:
        if self._in_head:
            return self._head_bytes > _MOST_HEAD
        return len(self.headers) > _MOST_HEADERS

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        # uvicorn leaves the timer to a connection that was reset, and it holds on to everything.
        self._unset_keepalive_if_required()
        # It tells the request that came last; the one that is at work may be another.
        cycle, self._running = self._running, None
        self.pipeline.clear()
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()

    def on_headers_complete(self) -> None:
        self._in_head = False
        # None before the first request, whatever its annotation says.
        cycle: RequestResponseCycle | None = self.cycle
        if (
            # Who does not read is not answered any faster than usual, or all would wait here.
            self.flow.write_paused
            or self.parser.get_method() != b"POST"
            or (cycle is not None and not cycle.response_complete)
            or self.expect_100_continue
            or self.limit_concurrency is not None
            or self.access_log
            or not self.parser.should_keep_alive()
            or self.parser.should_upgrade()
            or self.parser.get_http_version() != "1.1"
        ):
            super().on_headers_complete()
        else:
            self._held = b""

    def on_body(self, body: bytes) -> None:
        if self._held is None:
            super().on_body(body)
        else:
            self._held += body

    def on_message_complete(self) -> None:
        self._in_head = True
        self._head_bytes = 0
        body = self._held
        if body is None:
            super().on_message_complete()
            return
        late = _Late()
        scope = self._whole_scope()
        request = HttpRequest(scope, dict(self.headers), late.receive, late.send)
        try:
            begun = self.carriers.begin(lambda: self.mcp.begin(request, body), late.wrap)
        except Exception:
            logger.exception("a request could not be begun")
            begun = _BROKEN
        if begun is None:
            self._go_the_usual_way()
            super().on_message_complete()
            return
        self._held = None
        if isinstance(begun, WholeAnswer):
            self._write(begun)
        else:
            self._follow(late, begun)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.pipeline:
            # uvicorn reads on after each answer, and so takes in more than it answers.
            self.flow.pause_reading()

    def _whole_scope(self) -> Any:
        scope: Any = self.scope
        known = self.paths.get(self.url)
        if known is None:
            parsed = httptools.parse_url(self.url)
            known = (parsed.path.decode("ascii"), parsed.path, parsed.query or b"")
            if "%" in known[0] or self.root_path:
                # Seldom, and the usual way knows what to do about it.
                known = ("", b"", b"")
            if len(self.paths) >= _MOST_PATHS:
                self.paths.clear()
            self.paths[self.url] = known
        scope["method"] = "POST"
        scope["path"], scope["raw_path"], scope["query_string"] = known
        return scope

    def _go_the_usual_way(self) -> None:
        body, self._held = self._held, None
        super().on_headers_complete()
        if body:
            super().on_body(body)

    def _write(self, answer: WholeAnswer) -> None:
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
        self.on_response_complete()

    def _follow(self, late: _Late, task: asyncio.Task[Any]) -> None:
        """Give what has begun the cycle it would have had, and let its task go on."""
        cycle = self.cycle = RequestResponseCycle(
            scope=self.scope,
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
        late.cycle = self._running = cycle
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)


class _Late:
    """The two ends of a cycle that is made only where it is needed."""

    __slots__ = ("cycle",)

    def __init__(self) -> None:
        self.cycle: RequestResponseCycle | None = None

    async def receive(self) -> Any:
        assert self.cycle is not None
        # The body has been read: what comes next can only be the end.
        return await self.cycle.receive()

    async def send(self, message: Any) -> None:
        assert self.cycle is not None
        await self.cycle.send(message)

    async def wrap(self, rest: Coroutine[Any, Any, None]) -> None:
        """What is left of a request, watched over as uvicorn does."""

        async def go_on(_scope: Any, _receive: Any, _send: Any) -> None:
            await rest

        assert self.cycle is not None
        await self.cycle.run_asgi(go_on)


def _without_h2c(data: bytes) -> bytes:
    head, blank, rest = data.partition(b"\r\n\r\n")
    return _H2C.sub(b"ignored", head + blank[:2]) + blank[2:] + rest

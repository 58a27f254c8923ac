"""uvicorn's HTTP protocol with a fast path for small POST requests.

For each request uvicorn creates a scope, a task, an event and a cycle before it calls the
application, and receives the response in two ASGI messages. The fast path calls the application
first. If the handler returns without waiting, its response is written directly. Everything else
(an incomplete body, a stream, a handler that waits, a request that is not validated yet) takes
uvicorn's own path.

A handler starts in the task that continues it; see `runtime/eager_tasks.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from dovetail.runtime.eager_tasks import EagerTasks
from dovetail.transports.asgi.messages import (
    Headers,
    HttpResponse,
    PendingResponse,
    ServedApp,
    respond_to_cancelled,
)
from dovetail.transports.h11_protocol import TimedH11Protocol

__all__ = ["fast_protocol"]

logger: logging.Logger = logging.getLogger("dovetail")

# Maximum number of cached fingerprints; clients choose their content.
_MAX_VALIDATED = 1024
# Maximum bytes of a request head that arrives in several pieces; h11 has the same limit. Also of
# what follows the head and is no body: trailers and chunk extensions.
_MAX_HEAD_BYTES = 64 * 1024
# Maximum number of headers.
_MAX_HEADERS = 500
_INTERNAL_ERROR = HttpResponse(500, b'{"error":"internal error"}')


class _TooManyHeadersError(Exception):
    """Raised in a callback of the parser, which then stops."""


def fast_protocol(app: ServedApp) -> type[HttpToolsProtocol]:
    """The uvicorn protocol class that serves this application."""

    class FastProtocol(_FastProtocol):
        mcp = app
        # Shared by all connections.
        eager_tasks = EagerTasks(asyncio.get_running_loop())
        validated: ClassVar = set()

    return FastProtocol


class _FastProtocol(HttpToolsProtocol):
    mcp: ClassVar[ServedApp]
    eager_tasks: ClassVar[EagerTasks]
    # Fingerprints of validated requests: only the body of such a request is checked.
    validated: ClassVar[set[tuple[Any, ...]]]
    # The request on the fast path while its body arrives; None on uvicorn's path.
    _fast: _FastRequest | None = None
    _head: tuple[Any, bytes] = (None, b"")
    # The request whose task is running; others may be pipelined after it.
    _running: RequestResponseCycle | None = None
    # Called when the client of the running request disconnects.
    on_disconnect: Callable[[], None] | None = None
    # Whether a request head is being read, and the bytes received since it started, or since the
    # last piece of the body.
    _in_head = True
    _head_bytes = 0
    # Whether the rest of the input is dropped.
    _drops_input = False
    # Number of responses, now and at the last idle check.
    _responses = 0
    _responses_at_check = 0
    _idle_timer: asyncio.TimerHandle | None = None
    # False while the server shuts down: then uvicorn closes the connection after its response.
    takes_fast_path = True

    # -- requests -----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.takes_fast_path = self.limit_concurrency is None and not self.access_log
        # Also closes connections that never complete a request head.
        self._start_idle_timer()

    def data_received(self, data: bytes) -> None:
        if self._drops_input:
            return
        self._unset_keepalive_if_required()
        self._head_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._upgrade(data[upgrade.args[0] :])
            return
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, _TooManyHeadersError):
                self.send_400_response("The request head is too large.")
                return
            text = "Invalid HTTP request received."
            self.logger.warning(text)
            self.send_400_response(text)
            return
        if self._exceeds_limits() and not self.transport.is_closing():
            # httptools buffers the data and joins the pieces of a long line each time.
            self.send_400_response("The request head is too large.")
        elif self._fast is not None:
            # Incomplete bodies are read in a task, which enforces the body timeout.
            self._use_uvicorn(self._fast)

    def _exceeds_limits(self) -> bool:
        return self._head_bytes > _MAX_HEAD_BYTES

    def _upgrade(self, rest: bytes) -> None:
        """Open a WebSocket of the user's application, or serve the request without an upgrade.

        A server may ignore the Upgrade header (RFC 9110 section 7.8), and some clients send it
        with every request. httptools cannot: it does not read the body of such a request and
        would read it as the next request. So h11 reads this request and all that follow.
        """
        # None before the first request, despite its annotation.
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            # Pipelined after a request that is still running.
            cycle.keep_alive = False
            self._drops_input = True
            return
        self._stop_idle_timer()
        if self._should_upgrade():
            self._use_uvicorn_head()
            self.handle_websocket_upgrade()
            return
        lines = [b"%b: %b\r\n" % header for header in self.headers]
        version = self.parser.get_http_version().encode()
        head = b"%b %b HTTP/%b\r\n%b\r\n" % (
            self.parser.get_method(),
            self.url,
            version,
            b"".join(lines),
        )
        self.connections.discard(self)
        protocol = TimedH11Protocol(
            config=self.config, server_state=self.server_state, app_state=self.app_state
        )
        protocol.connection_made(self.transport)
        self.transport.set_protocol(protocol)
        protocol.data_received(head + rest)

    def on_message_begin(self) -> None:
        # The scope is created only if it is needed.
        self.url = b""
        self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers are dropped: nothing after the head may count as a header (RFC 9110 6.5.1).
        if self._in_head:
            self.headers.append((name.lower(), value))
            if len(self.headers) > _MAX_HEADERS:
                # Before the request is complete: it must not run and be refused afterwards.
                raise _TooManyHeadersError

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._in_head = False
        self._head_bytes = 0
        headers = dict(self.headers)
        parser = self.parser
        # None before the first request, despite its annotation.
        cycle: RequestResponseCycle | None = self.cycle
        if (
            # Clients that stop reading get no fast path: responses would pile up in memory.
            self.flow.write_paused
            or parser.get_method() != b"POST"
            or (cycle is not None and not cycle.response_complete)
            or len(headers) != len(self.headers)
            or b"expect" in headers
            or not self.takes_fast_path
            or not parser.should_keep_alive()
            or parser.get_http_version() != "1.1"
        ):
            self._use_uvicorn_head()
        else:
            self._fast = _FastRequest(self, self.url, self.headers, headers)

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        if self._fast is None:
            super().on_body(body)
        else:
            self._fast.body += body

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
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
            self._continue(request, begun)

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
            logger.exception("a request could not be started")
            return _INTERNAL_ERROR

    # -- responses ----------------------------------------------------------------------------

    def _write(self, answer: HttpResponse) -> None:
        status, body, headers = answer
        lines = self._format_head(status, headers)
        lines.append(b"content-length: %d\r\n\r\n" % len(body))
        lines.append(body)
        self.transport.write(b"".join(lines))
        self.server_state.total_requests += 1
        self._responses += 1

    def finish(
        self, cycle: RequestResponseCycle, status: int, headers: Headers, body: bytes
    ) -> None:
        """Write the whole response of a request that has waited; the headers have the length."""
        if cycle.disconnected:
            return
        lines = self._format_head(status, headers)
        lines.append(b"\r\n")
        lines.append(body)
        self.transport.write(b"".join(lines))
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        cycle.on_response()

    def _format_head(self, status: int, headers: Headers) -> list[bytes]:
        defaults = self.server_state.default_headers
        if self._head[0] is not defaults:
            lines = [b"%b: %b\r\n" % header for header in defaults]
            self._head = (defaults, b"".join(lines))
        lines = [STATUS_LINE[status], self._head[1]]
        lines += [b"%b: %b\r\n" % header for header in headers]
        return lines

    def _start_idle_timer(self) -> None:
        # One timer that checks for activity is cheaper than a new timer per request.
        self._responses_at_check = self._responses
        self._idle_timer = self.loop.call_later(self.timeout_keep_alive, self._check_idle)

    def _stop_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def _check_idle(self) -> None:
        self._idle_timer = None
        cycle: RequestResponseCycle | None = self.cycle
        is_busy = cycle is not None and not cycle.response_complete
        if is_busy or self._responses != self._responses_at_check:
            self._start_idle_timer()
        else:
            self.timeout_keep_alive_handler()

    def _continue(self, request: _FastRequest, task: asyncio.Task[Any]) -> None:
        """Create the uvicorn cycle for a started request, so that its task can continue."""
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

    # -- uvicorn's path -----------------------------------------------------------------------

    def _use_uvicorn(self, request: _FastRequest) -> None:
        self._fast = None
        self._use_uvicorn_head()
        if request.body:
            super().on_body(request.body)

    def _use_uvicorn_head(self) -> None:
        """Pass a parsed request head to uvicorn."""
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
        self._responses += 1
        if self.pipeline:
            # uvicorn resumes reading after each response, and so would buffer without limit.
            self.flow.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        # uvicorn does not cancel the timer of a reset connection, which keeps it in memory.
        self._unset_keepalive_if_required()
        self._stop_idle_timer()
        # uvicorn notifies the last request only; the running one may be another.
        cycle, self._running = self._running, None
        self.pipeline.clear()
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
            if self.on_disconnect is not None:
                self.on_disconnect()


class _FastRequest:
    """A request whose scope and cycle are created only if needed."""

    __slots__ = ("_lines", "_protocol", "_scope", "_start", "_url", "body", "cycle", "headers")

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
        # The start of a response whose body has not been sent yet.
        self._start: Any = None

    @property
    def scope(self) -> Any:
        """The ASGI scope, as uvicorn creates it."""
        if self._scope is None:
            self._scope = _make_scope(self._protocol, self._url, self._lines)
        return self._scope

    def begin(self) -> PendingResponse | None:
        """Start the request in the application."""
        return self._protocol.mcp.begin(self, self.body)

    async def receive(self) -> Any:
        """Wait for the disconnect; the body has been read."""
        assert self.cycle is not None
        return await self.cycle.receive()

    def watch(self, gone: Callable[[], None]) -> _Watch:
        """Call `gone` when the client disconnects; this needs no task, unlike `receive`."""
        assert self.cycle is not None
        if self.cycle.disconnected:
            gone()
        self._protocol.on_disconnect = gone
        return _Watch(self._protocol)

    async def transmit(self, message: Any) -> None:
        """Send an ASGI message of the response."""
        cycle, start = self.cycle, self._start
        assert cycle is not None
        if start is None:
            if message["type"] == "http.response.start" and _has_length(message):
                # Head and body leave in one write; uvicorn would write them one by one.
                self._start = message
            else:
                await cycle.send(message)
            return
        self._start = None
        if message.get("more_body") or cycle.access_log or not cycle.keep_alive:
            await cycle.send(start)
            await cycle.send(message)
            return
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        self._protocol.finish(cycle, start["status"], start["headers"], message["body"])

    async def wrap(self, rest: Coroutine[Any, Any, None]) -> None:
        """Run the rest of the request with uvicorn's error handling."""

        async def run(_scope: Any, _receive: Any, send: Any) -> None:
            try:
                await rest
            except asyncio.CancelledError:
                await respond_to_cancelled(send)

        assert self.cycle is not None
        await self.cycle.run_asgi(run)


class _Watch:
    """The running request of a connection waits for the disconnect."""

    __slots__ = ("_protocol",)

    def __init__(self, protocol: _FastProtocol) -> None:
        self._protocol = protocol

    def cancel(self) -> None:
        self._protocol.on_disconnect = None


def _has_length(start: Any) -> bool:
    """Whether the body follows at once; the head of a stream is not held back."""
    headers = start["headers"]
    return bool(headers) and headers[-1][0] == b"content-length"


def _make_scope(
    protocol: _FastProtocol, url: bytes, headers: list[tuple[bytes, bytes]]
) -> dict[str, Any]:
    path, _, query = url.partition(b"?")
    text = path.decode("latin-1")
    return {
        "type": "http",
        "asgi": {"version": protocol.config.asgi_version, "spec_version": "2.3"},
        "http_version": "1.1",
        "server": protocol.server,
        "client": protocol.client,
        "scheme": protocol.scheme,
        "root_path": protocol.root_path,
        "method": "POST",
        "headers": headers,
        "state": protocol.app_state.copy(),
        # Not unquoted: a path with escapes is never validated, so it takes uvicorn's path.
        "path": protocol.root_path + text,
        "raw_path": protocol.root_path.encode() + path,
        "query_string": query,
    }

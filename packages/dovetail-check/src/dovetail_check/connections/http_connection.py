"""Streamable HTTP: one HTTP request per message; the reply is a body or an SSE stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

import h11

from dovetail.errors import PeerError
from dovetail.wire.framing import SseEvent
from dovetail_check.budget import FloodError
from dovetail_check.connections.base import Connection, Outgoing, Recorder, UnreachableError
from dovetail_check.connections.http_pool import ConnectionPool
from dovetail_check.connections.http_response import ResponseReader, encode_request, host_of
from dovetail_check.connections.throttle import Throttle
from dovetail_check.exchanges import Exchange, parse
from dovetail_check.frames import Frame, Kind

__all__ = ["END_OF_STREAM", "JUNK", "HttpConnection", "PendingResponse"]

# The event type of recorded lines that are not of the SSE format.
JUNK = "dovetail-check-junk"

# Seconds that a stream may stay open after its last expected response.
END_OF_STREAM = 2.0
_MAX_ATTEMPTS = 6
# Replies to requests of the server that are sent at once.
_MAX_REPLIES = 8
# Headers of a request that a reply to its stream repeats.
_SESSION_HEADERS = ("mcp-session-id", "mcp-protocol-version")


class _NoConnectionError(Exception):
    """The TCP connection could not be opened."""


class _StaleError(Exception):
    """The server closed a pooled connection before it was used again."""


class HttpConnection(Connection):
    """Requests to one endpoint."""

    def __init__(
        self,
        recorder: Recorder,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        reuse: bool = False,
    ) -> None:
        """`reuse` keeps TCP connections open between requests."""
        super().__init__(recorder)
        self.url = url
        self._headers = dict(headers or {})
        self._pool = ConnectionPool(reuse=reuse)
        # Connections to the same server share one.
        self.throttle = Throttle()
        self._tasks: set[asyncio.Task[None]] = set()
        # Unfinished responses by the frame number of their request.
        self._responses: dict[int, PendingResponse] = {}
        self._replying = asyncio.Semaphore(_MAX_REPLIES)
        self._is_open = False

    async def open(self) -> None:
        """Check that the server accepts connections."""
        try:
            connection = await self._pool.acquire(self.url)
        except OSError as error:
            raise UnreachableError(f"{self.url} cannot be reached: {error}") from None
        await self._pool.release(self.url, connection, reusable=True)
        self._is_open = True
        self.recorder.add("started", self.url.encode())

    @property
    def default_headers(self) -> Mapping[str, str]:
        """The headers that every request carries, usually credentials."""
        return self._headers

    @property
    def is_open(self) -> bool:
        """Whether it is opened and not closed."""
        return self._is_open and not self.is_flooded

    async def send(self, outgoing: Outgoing) -> Exchange:
        """Send an HTTP request and wait for the expected part of its response.

        If the server is busy, the request is sent again; rules ignore the first attempts.
        """
        for _ in range(_MAX_ATTEMPTS):
            await self.throttle.wait()
            exchange = await self.send_once(outgoing)
            if not self.throttle.should_retry(exchange):
                break
        return exchange

    async def send_once(self, outgoing: Outgoing) -> Exchange:
        """Send an HTTP request without a retry."""
        pending = self.start(outgoing)
        if not await self.wait(pending.ready, outgoing):
            await self._give_up(pending)
        return pending.exchange

    def start(self, outgoing: Outgoing) -> PendingResponse:
        """Send a request and read its response in a task."""
        url = outgoing.url or self.url
        headers = self._all_headers(url, outgoing)
        sent = self.recorder.add(
            "sent",
            outgoing.data if outgoing.data or outgoing.verb == "POST" else None,
            tag=outgoing.tag,
            method=outgoing.verb,
            url=url,
            headers=tuple(headers.items()),
        )
        pending = PendingResponse(self, Exchange(sent), outgoing)
        data = encode_request(outgoing.verb, url, headers, outgoing.data)
        pending.task = self.spawn(self._exchange(pending, url, data))
        # A callback, because a task that is cancelled before its first step runs no `finally`.
        pending.task.add_done_callback(lambda _: self._responses.pop(sent.n, None))
        self._responses[sent.n] = pending
        return pending

    def spawn(self, work: Any) -> asyncio.Task[None]:
        """Run a coroutine until the connection is closed."""
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _give_up(self, pending: PendingResponse) -> None:
        """Stop reading after the timeout and record why."""
        await pending.stop()
        self.record(pending.exchange, "closed" if pending.exchange.incoming else "silence")

    def _all_headers(self, url: str, outgoing: Outgoing) -> dict[str, str]:
        headers = {"Host": host_of(url), **self._headers}
        if outgoing.verb == "POST" or outgoing.data:
            headers["Content-Length"] = str(len(outgoing.data))
        for name, value in outgoing.headers.items():
            # Headers of the probe replace the defaults.
            for usual in [known for known in headers if known.lower() == name.lower()]:
                del headers[usual]
            headers[name] = value
        return headers

    async def _exchange(self, pending: PendingResponse, url: str, data: bytes) -> None:
        try:
            try:
                await self._attempt(pending, url, data)
            except _StaleError:
                await self._attempt(pending, url, data, fresh=True)
            self.record(pending.exchange, "ended")
        except FloodError as error:
            self.stop(error)
            self.record(pending.exchange, "failed", str(error).encode())
        except _NoConnectionError as error:
            self.record(pending.exchange, "failed", f"no connection: {error}".encode())
        except (OSError, EOFError, h11.RemoteProtocolError, PeerError) as error:
            text = f"{type(error).__name__}: {error}"
            self.record(pending.exchange, "failed", text.encode())
        finally:
            pending.ready.set()

    async def _attempt(
        self, pending: PendingResponse, url: str, data: bytes, *, fresh: bool = False
    ) -> None:
        try:
            connection = await self._pool.acquire(url, fresh=fresh)
        except OSError as error:
            raise _NoConnectionError(str(error)) from None
        response = ResponseReader(pending.outgoing.verb, pending, pending.outgoing.limit)
        try:
            connection.writer.write(data)
            # A server may respond and close before it has read the whole request.
            with contextlib.suppress(ConnectionError):
                await connection.writer.drain()
            await response.read(connection.reader)
        except (EOFError, ConnectionError):
            if connection.is_used and not response.has_started:
                raise _StaleError from None
            raise
        finally:
            await self._pool.release(url, connection, reusable=response.reusable)

    async def close_response(self, exchange: Exchange) -> None:
        """Close the connection of an unfinished response."""
        pending = self._responses.get(exchange.sent.n)
        if pending is not None:
            self.record(exchange, "closed")
            await pending.stop()

    async def close(self) -> None:
        """Close all connections; streams with a complete reply get time to end on their own."""
        self._is_open = False
        ending = [one.task for one in self._responses.values() if one.task and one.is_finishing]
        if ending:
            await asyncio.wait(ending, timeout=END_OF_STREAM)
        for pending in tuple(self._responses.values()):
            await self.close_response(pending.exchange)
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._pool.close()

    # -- replies ------------------------------------------------------------------------------

    def record(
        self, exchange: Exchange, kind: Kind, data: bytes | None = None, **more: Any
    ) -> Frame:
        """Record a frame that belongs to an exchange; raises FloodError for those of the server."""
        if kind in ("received", "event"):
            self.budget.take_message(data or b"")
        frame = self.recorder.add(kind, data, of=exchange.sent.n, tag=exchange.tag, **more)
        exchange.replies.append(frame)
        return frame

    def on_event(self, pending: PendingResponse, event: SseEvent) -> None:
        """Record an event and reply if it is a request from the server."""
        self.record_event(pending.exchange, event)
        self.handle_request(pending.exchange, parse(event.data))
        pending.check_complete()

    def record_event(self, exchange: Exchange, event: SseEvent) -> Frame:
        """Record an SSE event."""
        return self.record(
            exchange,
            "event",
            event.data,
            event=_text(event.event),
            event_id=None if event.id is None else _text(event.id),
            retry=event.retry,
        )

    def handle_request(self, exchange: Exchange, value: Any) -> None:
        """Send the reply if the value is a request from the server."""
        if isinstance(value, dict) and "method" in value and "id" in value and self.on_request:
            data = self.on_request(value)
            if data is not None:
                self.spawn(self._reply(Outgoing(data, "answer", headers=_reply_headers(exchange))))

    async def _reply(self, reply: Outgoing) -> None:
        async with self._replying:
            if not self.is_flooded:
                await self.send(reply)


class PendingResponse:
    """A response that is being read."""

    def __init__(self, connection: HttpConnection, exchange: Exchange, outgoing: Outgoing) -> None:
        self._connection = connection
        self.exchange = exchange
        self.outgoing = outgoing
        self.task: asyncio.Task[None] | None = None
        # The messages of the stream that were looked at, and the number of expected responses.
        self._read = 0
        self._missing = len(outgoing.ids or ())
        # Set when the expected part of the response has arrived.
        self.ready = asyncio.Event()

    async def stop(self) -> None:
        """Stop reading."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait({self.task})

    @property
    def is_active(self) -> bool:
        """Whether the response is still being read."""
        return self.task is not None and not self.task.done()

    @property
    def is_finishing(self) -> bool:
        """Whether the reply is complete and only the end of the stream is missing."""
        return self.ready.is_set() and not self.outgoing.keep_open

    def on_data(self, data: bytes) -> None:
        """Count received bytes."""
        self._connection.budget.take_bytes(data)

    def on_response(self, head: h11.Response, body: bytes) -> None:
        """Record a response that is not a stream."""
        self._record_head(head, body or None)

    def on_head(self, head: h11.Response) -> None:
        """Record the head of a stream."""
        self._record_head(head, None)
        if self.outgoing.keep_open:
            self.ready.set()

    def _record_head(self, head: h11.Response, body: bytes | None) -> None:
        headers = tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in head.headers)
        self._connection.record(
            self.exchange, "received", body, status=head.status_code, headers=headers
        )

    def on_event(self, event: SseEvent) -> None:
        """Pass an event on to the connection."""
        self._connection.on_event(self, event)

    def on_fields(self, id: bytes | None, retry: int | None) -> None:
        """Record an `id` or `retry` field that came without data."""
        event_id = None if id is None else _text(id)
        self._connection.record(self.exchange, "event", event_id=event_id, retry=retry)

    def on_junk(self, line: bytes) -> None:
        """Record a line that is not of the SSE format."""
        self._connection.record(self.exchange, "event", line, event=JUNK)

    def check_complete(self) -> None:
        """Set `ready` if all expected responses have arrived."""
        if self.outgoing.ids and not self.outgoing.keep_open:
            # Each message is looked at once: a stream may have many.
            fresh = self.exchange.incoming[self._read :]
            self._read += len(fresh)
            self._missing -= sum(incoming.is_response for incoming in fresh)
            if self._missing <= 0:
                self.ready.set()


def _reply_headers(exchange: Exchange) -> dict[str, str]:
    """The headers of a reply to a request that came on the stream of an exchange."""
    kept = {name: text for name, text in exchange.sent.headers if name.lower() in _SESSION_HEADERS}
    return {
        **kept,
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")

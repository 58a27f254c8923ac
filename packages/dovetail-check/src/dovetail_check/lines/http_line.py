"""A line to a URL: each request has a connection of its own, answers come whole or as a stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

import h11

from dovetail.errors import PeerError
from dovetail.wire.framing import SseEvent
from dovetail_check.exchanges import Exchange, parse
from dovetail_check.frames import Frame, Kind
from dovetail_check.lines.connections import Connections
from dovetail_check.lines.http_response import ResponseReader, encode_request, host_of
from dovetail_check.lines.line import Line, LineError, Outgoing, Place

__all__ = ["END_OF_STREAM", "Coming", "HttpLine"]

# Seconds that a stream has to end once its answer has come.
END_OF_STREAM = 2.0
_KEPT_IN_ANSWERS = ("mcp-session-id", "mcp-protocol-version")


class _NoConnectionError(Exception):
    """Nobody answered at all."""


class _StaleError(Exception):
    """The server had closed an idle connection before it could be used again."""


class HttpLine(Line):
    """Requests to one endpoint."""

    def __init__(
        self,
        place: Place,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        keeps: bool = False,
    ) -> None:
        """`keeps`: connections are used again."""
        super().__init__(place)
        self.url = url
        self._headers = dict(headers or {})
        self._connections = Connections(keeps=keeps)
        self._tasks: set[asyncio.Task[None]] = set()
        # Responses that still come, by the number of what was sent.
        self._coming: dict[int, Coming] = {}
        self._is_open = False

    async def open(self) -> None:
        """See that somebody listens."""
        try:
            connection = await self._connections.take(self.url)
        except OSError as error:
            raise LineError(f"{self.url} cannot be reached: {error}") from None
        await self._connections.give_back(self.url, connection, is_clean=True)
        self._is_open = True
        self.place.add("started", self.url.encode())

    @property
    def given(self) -> Mapping[str, str]:
        """The headers that every request carries: credentials, as a rule."""
        return self._headers

    @property
    def is_open(self) -> bool:
        """Whether it was opened and not closed."""
        return self._is_open

    async def send(self, outgoing: Outgoing) -> Exchange:
        """One HTTP request, and as much of its response as is waited for."""
        coming = self.start(outgoing)
        if not await self.wait(coming.ready, outgoing):
            await self._give_up(coming)
        return coming.exchange

    def start(self, outgoing: Outgoing) -> Coming:
        """Send a request, and let its response come."""
        url = outgoing.url or self.url
        headers = self._all_headers(url, outgoing)
        sent = self.place.add(
            "sent",
            outgoing.data if outgoing.data or outgoing.verb == "POST" else None,
            tag=outgoing.tag,
            method=outgoing.verb,
            url=url,
            headers=tuple(headers.items()),
        )
        coming = Coming(self, Exchange(sent), outgoing)
        data = encode_request(outgoing.verb, url, headers, outgoing.data)
        coming.task = self.spawn(self._talk(coming, url, data))
        # A task that is cancelled before its first step runs no `finally`.
        coming.task.add_done_callback(lambda _: self._coming.pop(sent.n, None))
        self._coming[sent.n] = coming
        return coming

    def spawn(self, work: Any) -> asyncio.Task[None]:
        """Run something until the line is closed."""
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _give_up(self, coming: Coming) -> None:
        """Nothing came, or not enough, and there is no point in waiting on."""
        await coming.stop()
        self.keep(coming.exchange, "closed" if coming.exchange.heard else "silence")

    def _all_headers(self, url: str, outgoing: Outgoing) -> dict[str, str]:
        headers = {"Host": host_of(url), **self._headers}
        if outgoing.verb == "POST" or outgoing.data:
            headers["Content-Length"] = str(len(outgoing.data))
        for name, value in outgoing.headers.items():
            # Whatever a probe says about a header replaces what is usual.
            for usual in [known for known in headers if known.lower() == name.lower()]:
                del headers[usual]
            headers[name] = value
        return headers

    async def _talk(self, coming: Coming, url: str, data: bytes) -> None:
        try:
            try:
                await self._try(coming, url, data)
            except _StaleError:
                await self._try(coming, url, data, fresh=True)
            self.keep(coming.exchange, "ended")
        except _NoConnectionError as error:
            self.keep(coming.exchange, "failed", f"no connection: {error}".encode())
        except (OSError, EOFError, h11.RemoteProtocolError, PeerError) as error:
            text = f"{type(error).__name__}: {error}"
            self.keep(coming.exchange, "failed", text.encode())
        finally:
            coming.ready.set()

    async def _try(self, coming: Coming, url: str, data: bytes, *, fresh: bool = False) -> None:
        try:
            connection = await self._connections.take(url, fresh=fresh)
        except OSError as error:
            raise _NoConnectionError(str(error)) from None
        response = ResponseReader(coming.outgoing.verb, coming, coming.outgoing.limit)
        try:
            connection.writer.write(data)
            # A server may answer and close before it has read everything.
            with contextlib.suppress(ConnectionError):
                await connection.writer.drain()
            await response.read(connection.reader)
        except (EOFError, ConnectionError):
            if connection.is_used and not response.has_begun:
                raise _StaleError from None
            raise
        finally:
            await self._connections.give_back(url, connection, is_clean=response.is_clean)

    async def hang_up(self, exchange: Exchange) -> None:
        """Close the connection of a response that is still coming."""
        coming = self._coming.get(exchange.sent.n)
        if coming is not None:
            self.keep(exchange, "closed")
            await coming.stop()

    async def close(self) -> None:
        """Hang up whatever is open; a stream whose answer has come is given time to end."""
        self._is_open = False
        ending = [one.task for one in self._coming.values() if one.task and one.is_about_to_end]
        if ending:
            await asyncio.wait(ending, timeout=END_OF_STREAM)
        for coming in tuple(self._coming.values()):
            await self.hang_up(coming.exchange)
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._connections.close()

    # -- what comes ---------------------------------------------------------------------------

    def keep(self, exchange: Exchange, kind: Kind, data: bytes | None = None, **more: Any) -> Frame:
        """Keep a frame that belongs to an exchange."""
        frame = self.place.add(kind, data, of=exchange.sent.n, tag=exchange.tag, **more)
        exchange.replies.append(frame)
        return frame

    def take_event(self, coming: Coming, event: SseEvent) -> None:
        """One event of a stream."""
        self.keep_event(coming.exchange, event)
        self.answer(coming.exchange, parse(event.data))
        coming.look()

    def keep_event(self, exchange: Exchange, event: SseEvent) -> Frame:
        """The frame of an event."""
        return self.keep(
            exchange,
            "event",
            event.data,
            event=_text(event.event),
            event_id=None if event.id is None else _text(event.id),
            retry=event.retry,
        )

    def answer(self, exchange: Exchange, value: Any) -> None:
        """Answer what the server asks of the client."""
        if isinstance(value, dict) and "method" in value and "id" in value and self.asked:
            data = self.asked(value)
            if data is not None:
                self.spawn(self._answer(Outgoing(data, "answer", headers=_answering(exchange))))

    async def _answer(self, reply: Outgoing) -> None:
        await self.send(reply)


class Coming:
    """One response as it comes in."""

    def __init__(self, line: HttpLine, exchange: Exchange, outgoing: Outgoing) -> None:
        self._line = line
        self.exchange = exchange
        self.outgoing = outgoing
        self.task: asyncio.Task[None] | None = None
        # Everything that is waited for has come.
        self.ready = asyncio.Event()

    async def stop(self) -> None:
        """Read no further."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait({self.task})

    @property
    def is_coming(self) -> bool:
        """Whether there may be more of it."""
        return self.task is not None and not self.task.done()

    @property
    def is_about_to_end(self) -> bool:
        """Whether nothing more than the end is due."""
        return self.ready.is_set() and not self.outgoing.holds

    def take_whole(self, head: h11.Response, body: bytes) -> None:
        """A response that is no stream."""
        self._keep_head(head, body or None)

    def take_head(self, head: h11.Response) -> None:
        """The head of a stream."""
        self._keep_head(head, None)
        if self.outgoing.holds:
            self.ready.set()

    def _keep_head(self, head: h11.Response, body: bytes | None) -> None:
        headers = tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in head.headers)
        self._line.keep(self.exchange, "received", body, status=head.status_code, headers=headers)

    def take_event(self, event: SseEvent) -> None:
        """One event of a stream."""
        self._line.take_event(self, event)

    def take_quiet(self, id: bytes | None, retry: int | None) -> None:
        """An id or a retry that came without data."""
        event_id = None if id is None else _text(id)
        self._line.keep(self.exchange, "event", event_id=event_id, retry=retry)

    def look(self) -> None:
        """See whether all answers are there."""
        if self.outgoing.ids and not self.outgoing.holds:
            answered = [heard for heard in self.exchange.heard if heard.is_response]
            if len(answered) >= len(self.outgoing.ids):
                self.ready.set()


def _answering(exchange: Exchange) -> dict[str, str]:
    """The headers of an answer to what came on the stream of an exchange."""
    kept = {name: text for name, text in exchange.sent.headers if name.lower() in _KEPT_IN_ANSWERS}
    return {
        **kept,
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")

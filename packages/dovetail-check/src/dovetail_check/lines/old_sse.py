"""A line over HTTP+SSE of 2024-11-05: a stream brings everything, messages are posted elsewhere.

The stream is opened with GET; its first event, `endpoint`, says where to post. An event that
answers something becomes a frame of what it answers, so that rules see the same as on any line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

from dovetail.wire.framing import SseEvent
from dovetail_check.exchanges import Exchange, parse
from dovetail_check.lines.http_line import Coming, HttpLine
from dovetail_check.lines.line import LineError, Outgoing, Place
from dovetail_check.lines.pending import PendingList

__all__ = ["ENDPOINT", "STREAM", "OldSseLine"]

# The tag of the GET that opens the stream, and the type of the event that says where to post.
STREAM = "stream"
ENDPOINT = "endpoint"
_TIMEOUT = 10.0
_SOON = 1.0


class OldSseLine(HttpLine):
    """One stream, and the URL that it named."""

    def __init__(
        self,
        place: Place,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        keeps: bool = False,
    ) -> None:
        super().__init__(place, url, headers, keeps=keeps)
        # Where to post; None until the stream has said so.
        self.endpoint: str | None = None
        self._refused = ""
        self._named = asyncio.Event()
        self._pending = PendingList()
        self._stream: Coming | None = None

    async def open(self) -> None:
        """Open the stream and wait for the URL; raises LineError."""
        await super().open()
        headers = {"Accept": "text/event-stream"}
        outgoing = Outgoing(b"", STREAM, verb="GET", headers=headers, holds=True, timeout=_TIMEOUT)
        self._stream = self.start(outgoing)
        assert self._stream.task is not None
        self._stream.task.add_done_callback(lambda _: self._finish())
        await self.wait(self._named, outgoing)
        if self.endpoint is None:
            said = self._refused or self._stream.exchange.describe()
            await self.close()
            raise LineError(f"{self.url} sent no event {ENDPOINT!r} that can be used: {said}")

    @property
    def is_open(self) -> bool:
        """Whether the stream is there."""
        return super().is_open and self._stream is not None and self._stream.is_coming

    async def send(self, outgoing: Outgoing) -> Exchange:
        """Post a message; its answers are waited for on the stream."""
        if outgoing.verb != "POST" or outgoing.url is not None:
            return await super().send(outgoing)
        coming = self.start(outgoing._replace(url=self.endpoint))
        exchange = coming.exchange
        pending = self._pending.add(exchange, outgoing.ids, holds=outgoing.holds)
        # Where nothing is waited for, the response to the POST is.
        done = coming.ready if outgoing.ids == () else pending.done
        if coming.task is not None:
            coming.task.add_done_callback(
                lambda _: pending.done.set() if _is_refused(exchange) else None
            )
        if not await self.wait(done, outgoing) and not exchange.heard:
            self.keep(exchange, "silence")
        if not outgoing.holds:
            self._pending.drop(pending)
        if coming.task is not None:
            # The answer may be faster than the response to what it answers.
            await asyncio.wait({coming.task}, timeout=_SOON)
        await coming.stop()
        return exchange

    def take_event(self, coming: Coming, event: SseEvent) -> None:
        """The URL, an answer, or something the server says by itself."""
        if coming is not self._stream:
            super().take_event(coming, event)
            return
        if event.event == ENDPOINT.encode():
            self.keep_event(coming.exchange, event)
            self._take_endpoint(event.data)
            return
        value = parse(event.data)
        pending = self._pending.find(value)
        if pending is None:
            self.keep_event(coming.exchange, event)
            self.answer(coming.exchange, value)
        else:
            self.keep_event(pending.exchange, event)
            self._pending.take(pending, value)

    def _take_endpoint(self, data: bytes) -> None:
        if self.endpoint is not None:
            return
        named = data.decode("utf-8", "replace").strip()
        try:
            url = urljoin(self.url, named)
            # Whoever was given the credentials of this origin must not pass them on.
            is_here = urlsplit(url)[:2] == urlsplit(self.url)[:2]
        except ValueError:
            is_here = False
        if is_here:
            self.endpoint = url
        else:
            self._refused = f"{named!r} is not of the same origin"
        self._named.set()

    def _finish(self) -> None:
        """Nothing more will come."""
        self._named.set()
        for pending in self._pending.drain():
            self.keep(pending.exchange, "failed", b"the stream has ended")
            pending.done.set()


def _is_refused(exchange: Exchange) -> bool:
    """Whether the POST itself failed, so that no answer will come on the stream."""
    return exchange.failure is not None or (exchange.status or 0) >= 400

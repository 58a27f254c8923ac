"""HTTP+SSE of 2024-11-05: requests are POSTs, and one SSE stream carries all replies.

A GET opens the stream; its first event, `endpoint`, names the URL for POSTs. Events are recorded as
replies to the request that they answer, so rules read them like replies of other transports.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

from dovetail.wire.framing import SseEvent
from dovetail_check.connections.base import Outgoing, Recorder, UnreachableError
from dovetail_check.connections.http_connection import HttpConnection, PendingResponse
from dovetail_check.connections.pending import PendingList
from dovetail_check.exchanges import Exchange, parse

__all__ = ["ENDPOINT", "STREAM", "OldSseConnection"]

# The tag of the GET that opens the stream, and the type of the event that names the POST URL.
STREAM = "stream"
ENDPOINT = "endpoint"
_TIMEOUT = 10.0
_POST_TIMEOUT = 1.0


class OldSseConnection(HttpConnection):
    """One SSE stream and the POST URL that it named."""

    def __init__(
        self,
        recorder: Recorder,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        reuse: bool = False,
    ) -> None:
        super().__init__(recorder, url, headers, reuse=reuse)
        # The URL for POSTs; None until the stream has named it.
        self.endpoint: str | None = None
        self._rejected = ""
        self._endpoint_named = asyncio.Event()
        self._pending = PendingList()
        self._stream: PendingResponse | None = None

    async def open(self) -> None:
        """Open the stream and wait for the endpoint; raises UnreachableError."""
        await super().open()
        headers = {"Accept": "text/event-stream"}
        outgoing = Outgoing(
            b"", STREAM, verb="GET", headers=headers, keep_open=True, timeout=_TIMEOUT
        )
        self._stream = self.start(outgoing)
        assert self._stream.task is not None
        self._stream.task.add_done_callback(lambda _: self._finish())
        await self.wait(self._endpoint_named, outgoing)
        if self.endpoint is None:
            reason = self._rejected or self._stream.exchange.describe()
            await self.close()
            raise UnreachableError(f"{self.url} sent no usable {ENDPOINT!r} event: {reason}")

    @property
    def is_open(self) -> bool:
        """Whether the stream is open."""
        return super().is_open and self._stream is not None and self._stream.is_active

    async def send_once(self, outgoing: Outgoing) -> Exchange:
        """POST a message and wait for its responses on the stream."""
        if outgoing.verb != "POST" or outgoing.url is not None:
            return await super().send_once(outgoing)
        response = self.start(outgoing._replace(url=self.endpoint))
        exchange = response.exchange
        pending = self._pending.add(exchange, outgoing.ids, keep_open=outgoing.keep_open)
        # Without an expected response, wait for the HTTP response to the POST.
        done = response.ready if outgoing.ids == () else pending.done
        if response.task is not None:
            response.task.add_done_callback(
                lambda _: pending.done.set() if _is_refused(exchange) else None
            )
        if not await self.wait(done, outgoing) and not exchange.incoming:
            self.record(exchange, "silence")
        if not outgoing.keep_open:
            self._pending.drop(pending)
        if response.task is not None:
            # The event may arrive before the HTTP response to its POST.
            await asyncio.wait({response.task}, timeout=_POST_TIMEOUT)
        await response.stop()
        return exchange

    def on_event(self, response: PendingResponse, event: SseEvent) -> None:
        """Handle the endpoint, a response or an unsolicited message."""
        if response is not self._stream:
            super().on_event(response, event)
            return
        if event.event == ENDPOINT.encode():
            self.record_event(response.exchange, event)
            self._on_endpoint(event.data)
            return
        value = parse(event.data)
        pending = self._pending.find(value)
        if pending is None:
            self.record_event(response.exchange, event)
            self.handle_request(response.exchange, value)
        else:
            self.record_event(pending.exchange, event)
            self._pending.take(pending, value)

    def _on_endpoint(self, data: bytes) -> None:
        if self.endpoint is not None:
            return
        named = data.decode("utf-8", "replace").strip()
        try:
            url = urljoin(self.url, named)
            # The POST carries credentials, so another origin must not receive it.
            is_same_origin = urlsplit(url)[:2] == urlsplit(self.url)[:2]
        except ValueError:
            is_same_origin = False
        if is_same_origin:
            self.endpoint = url
        else:
            self._rejected = f"{named!r} has a different origin"
        self._endpoint_named.set()

    def _finish(self) -> None:
        """Fail the pending requests after the end of the stream."""
        self._endpoint_named.set()
        for pending in self._pending.drain():
            self.record(pending.exchange, "failed", b"the stream has ended")
            pending.done.set()


def _is_refused(exchange: Exchange) -> bool:
    """Whether the POST failed, so that no response will come on the stream."""
    return exchange.failure is not None or (exchange.status or 0) >= 400

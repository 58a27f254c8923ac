"""HTTP+SSE, the transport of 2024-11-05: one stream from the server, one URL to post to.

A GET opens the stream. Its first event says where messages go; every answer comes back on the
stream, and a POST only says that the message was taken. When the stream is gone, the server has
forgotten the client: nothing can be picked up again (2024-11-05 basic/transports).
"""

from __future__ import annotations

import asyncio

from dovetail.client.background import Background
from dovetail.client.channel import OnClosed, OnMessage
from dovetail.client.http_connection import Headers, HttpResponse
from dovetail.client.http_endpoint import Endpoint
from dovetail.client.http_failure import HttpFailure, find_secrets
from dovetail.client.http_pool import HttpPool
from dovetail.client.http_stream import EVENT_STREAM
from dovetail.errors import PeerError, TransportError
from dovetail.wire.framing import SseBuffer

__all__ = ["OldSse"]

# A server of the old transport says this at once; the silent stream of a newer one may be open
# for as long as one likes.
_ENDPOINT_SECONDS = 5.0
_SHOWN = 200


class OldSse:
    """One stream, and the place that belongs to it."""

    def __init__(self, pool: HttpPool, own_headers: Headers, limit: int) -> None:
        self._pool = pool
        self._own_headers = own_headers
        self._secrets = find_secrets(own_headers)
        self._limit = limit
        self._reading = Background()
        self._inbox: Endpoint | None = None

    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> bool:
        """Open the stream; False if the server does not speak this, PeerError if it does wrong."""
        told: asyncio.Future[Endpoint | None] = asyncio.get_running_loop().create_future()
        self._reading.start(self._read(told, on_message, on_closed))
        try:
            async with asyncio.timeout(_ENDPOINT_SECONDS):
                self._inbox = await told
        except TimeoutError:
            pass
        finally:
            if self._inbox is None:
                await self.close()
        return self._inbox is not None

    async def send(self, data: bytes, what: str) -> None:
        """Post one message; its answer, if it gets one, comes on the stream."""
        headers = [("Content-Type", "application/json"), *self._own_headers]
        async with self._pool.exchange("POST", headers, data, at=self._inbox) as response:
            # 202 by the book; others say 200 or 204 and mean the same.
            if not 200 <= response.status < 300:
                raise (await HttpFailure.read(response, self._secrets)).to_error(what)

    async def close(self) -> None:
        """Close the stream, which is how the server learns that the client is gone."""
        await self._reading.close()

    async def _read(
        self, told: asyncio.Future[Endpoint | None], on_message: OnMessage, on_closed: OnClosed
    ) -> None:
        why = "the server ended it"
        headers = [("Accept", EVENT_STREAM), *self._own_headers]
        try:
            async with self._pool.exchange("GET", headers) as response:
                is_stream = response.content_type == EVENT_STREAM and not response.coding
                if response.status == 200 and is_stream:
                    await self._take_events(response, told, on_message)
        except (TransportError, PeerError) as error:
            why = str(error)
        if not told.done():
            told.set_result(None)
        elif not told.cancelled() and told.exception() is None:
            where = self._pool.endpoint
            on_closed(TransportError(f"The stream of messages from {where} is gone: {why}"))

    async def _take_events(
        self,
        response: HttpResponse,
        told: asyncio.Future[Endpoint | None],
        on_message: OnMessage,
    ) -> None:
        buffer = SseBuffer(self._limit)
        async for piece in response.pieces():
            for event in buffer.feed(piece):
                if told.done():
                    if event.event == b"message":
                        on_message(event.data)
                # sse.endpoint-event (2024-11-05 basic/transports): the first thing on the stream
                elif event.event == b"endpoint":
                    _tell_inbox(told, response.endpoint, event.data)
                else:
                    return


def _tell_inbox(told: asyncio.Future[Endpoint | None], stream: Endpoint, reference: bytes) -> None:
    text = reference.decode(errors="replace").strip()
    found = stream.resolve(text)
    if found is not None:
        told.set_result(found)
        return
    # Without the query, which is a secret between the two.
    shown = text.partition("?")[0][:_SHOWN]
    told.set_exception(
        PeerError(
            f"{stream} wants messages to be posted to {shown!r}; "
            f"allowed: a place of the same origin, {stream.origin}"
        )
    )

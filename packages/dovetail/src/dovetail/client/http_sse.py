"""HTTP+SSE, the transport of 2024-11-05: one event stream, and one URL to post to.

A GET opens the stream. Its first event names the URL for messages. Responses arrive on the stream;
a POST only confirms that the message was accepted. When the stream ends, the session ends and
cannot be resumed (2024-11-05 basic/transports).
"""

from __future__ import annotations

import asyncio

from dovetail.client.channel import OnClosed, OnMessage, StreamLostError
from dovetail.client.http_failure import HttpFailure, find_secrets
from dovetail.client.http_stream import EVENT_STREAM
from dovetail.errors import PeerError, TransportError
from dovetail.net.background import BackgroundTasks
from dovetail.net.http_connection import ClientResponse, Headers
from dovetail.net.http_endpoint import Endpoint
from dovetail.net.http_pool import HttpPool
from dovetail.wire.framing import SseBuffer

__all__ = ["HttpSse"]

# An HTTP+SSE server sends the endpoint event immediately; the GET stream of a Streamable HTTP
# server may stay silent.
_ENDPOINT_SECONDS = 5.0
_SHOWN = 200


class HttpSse:
    """The event stream of one client, and its URL for messages."""

    def __init__(self, pool: HttpPool, own_headers: Headers, limit: int) -> None:
        self._pool = pool
        self._own_headers = own_headers
        self._secrets = find_secrets(own_headers)
        self._limit = limit
        self._reading = BackgroundTasks()
        self._post_endpoint: Endpoint | None = None

    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> bool:
        """Open the stream; False if the server does not support HTTP+SSE.

        Raises PeerError if the server names a URL of another origin.
        """
        found: asyncio.Future[Endpoint | None] = asyncio.get_running_loop().create_future()
        self._reading.start(self._read(found, on_message, on_closed))
        try:
            async with asyncio.timeout(_ENDPOINT_SECONDS):
                self._post_endpoint = await found
        except TimeoutError:
            pass
        finally:
            if self._post_endpoint is None:
                await self.close()
        return self._post_endpoint is not None

    async def send(self, data: bytes, what: str) -> None:
        """Post one message; its response arrives on the stream."""
        headers = [("Content-Type", "application/json"), *self._own_headers]
        async with self._pool.exchange("POST", headers, data, at=self._post_endpoint) as response:
            # The specification says 202; some servers send 200 or 204.
            if not 200 <= response.status < 300:
                raise (await HttpFailure.read(response, self._secrets)).to_error(what)

    async def close(self) -> None:
        """Close the stream, which tells the server that the client has left."""
        await self._reading.close()

    async def _read(
        self, found: asyncio.Future[Endpoint | None], on_message: OnMessage, on_closed: OnClosed
    ) -> None:
        why = "the server closed it"
        headers = [("Accept", EVENT_STREAM), *self._own_headers]
        try:
            async with self._pool.exchange("GET", headers) as response:
                is_stream = response.content_type == EVENT_STREAM and not response.coding
                if response.status == 200 and is_stream:
                    await self._take_events(response, found, on_message)
        except (TransportError, PeerError) as error:
            why = str(error)
        if not found.done():
            found.set_result(None)
        elif not found.cancelled() and found.exception() is None:
            where = self._pool.endpoint
            text = f"The event stream from {where} ended: {why}"
            on_closed(StreamLostError(text, carries_responses=True))

    async def _take_events(
        self,
        response: ClientResponse,
        found: asyncio.Future[Endpoint | None],
        on_message: OnMessage,
    ) -> None:
        buffer = SseBuffer(self._limit)
        async for chunk in response.chunks():
            for event in buffer.feed(chunk):
                if found.done():
                    if event.event == b"message":
                        on_message(event.data)
                # sse.endpoint-event (2024-11-05 basic/transports): the first event on the stream
                elif event.event == b"endpoint":
                    _resolve_endpoint(found, response.endpoint, event.data)
                else:
                    return


def _resolve_endpoint(
    found: asyncio.Future[Endpoint | None], stream: Endpoint, reference: bytes
) -> None:
    text = reference.decode(errors="replace").strip()
    endpoint = stream.resolve(text)
    if endpoint is not None:
        found.set_result(endpoint)
        return
    # Without the query, which may contain a session secret.
    shown = text.partition("?")[0][:_SHOWN]
    found.set_exception(
        PeerError(
            f"{stream} names {shown!r} as the URL for messages; "
            f"allowed: a URL of the same origin, {stream.origin}"
        )
    )

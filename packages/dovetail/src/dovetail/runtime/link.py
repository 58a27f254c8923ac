"""Implementations of `Link` that need no transport."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from dovetail.core.changes import ChangeEvent, ChangeStream
from dovetail.core.link import ALL_CHANNELS, ClientChannels, ClientSession, Link, Outgoing
from dovetail.runtime.change_feed import ChangeFeed
from dovetail.runtime.engine import Engine
from dovetail.spec.models import InitializeParams
from dovetail.spec.revisions import Revision
from dovetail.wire import codec
from dovetail.wire.messages import Notification

__all__ = ["NULL_LINK", "CallbackLink", "NullLink", "RequestLink", "ResponseOnlyLink", "Send"]

Send: TypeAlias = Callable[[bytes], Awaitable[None] | None]


class NullLink:
    """A link to a client that gets the response alone; drops everything else."""

    __slots__ = ()

    @property
    def channels(self) -> ClientChannels:
        """All: an embedder may have its own way to announce changes."""
        return ALL_CHANNELS

    @property
    def session(self) -> ClientSession | None:
        """There is none."""
        return None

    def send(self, message: Outgoing) -> None:
        """Drop the message."""

    async def drain(self) -> None:
        """Nothing to wait for."""

    def send_unrelated(self, message: Notification) -> None:
        """Drop the message."""

    def disconnect(self, retry_ms: int) -> None:
        """There is no connection that could be resumed."""

    def start_session(self, revision: Revision, params: InitializeParams) -> None:
        """The next request will not know about it."""

    def open_stream(self, stream: ChangeStream) -> None:
        """Nothing can be delivered, so the stream ends at once."""
        stream.end()

    def close_stream(self, stream: ChangeStream) -> None:
        """It has ended."""

    def after_response(self) -> Link:
        """Nothing is sent after the response."""
        return NULL_LINK


NULL_LINK: Link = NullLink()


class ResponseOnlyLink(NullLink):
    """A link that declares which channels the client lacks."""

    __slots__ = ("channels", "session")

    channels: ClientChannels
    session: ClientSession | None

    def __init__(
        self, session: ClientSession | None = None, channels: ClientChannels = ALL_CHANNELS
    ) -> None:
        self.session = session
        self.channels = channels


class RequestLink(NullLink):
    """The base of links that last as long as one request, and so do its streams."""

    __slots__ = ("_engine", "_feed", "_stream", "session")

    session: ClientSession | None

    def __init__(self, engine: Engine, session: ClientSession | None = None) -> None:
        self._engine = engine
        self._feed: ChangeFeed | None = None
        self._stream: ChangeStream | None = None
        self.session = session

    def end(self) -> None:
        """End the stream, if one is open, from the server's side."""
        if self._stream is not None:
            self._stream.end()

    def open_stream(self, stream: ChangeStream) -> None:
        """Deliver changes while the request is open."""

        def deliver(change: ChangeEvent) -> None:
            message = stream.announce(change)
            if message is not None:
                self.send(message)

        self._stream = stream
        self._feed = ChangeFeed(self._engine.bus, stream.wants, deliver, lambda: stream.uris)

    def close_stream(self, stream: ChangeStream) -> None:
        """Deliver no more."""
        if self._feed is not None:
            self._feed.close()


class CallbackLink(RequestLink):
    """Passes messages to a callback, plain or async, in order."""

    __slots__ = ("_last", "_loop", "_send", "_thread")

    def __init__(self, engine: Engine, session: ClientSession | None, send: Send) -> None:
        super().__init__(engine, session)
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._last: asyncio.Future[None] | None = None

    def send(self, message: Outgoing) -> None:
        """Pass a message on, from any thread."""
        data = codec.encode_message(message)
        if threading.get_ident() == self._thread:
            self._forward(data)
        else:
            self._loop.call_soon_threadsafe(self._forward, data)

    def _forward(self, data: bytes) -> None:
        if self._last is not None:
            self._last = self._loop.create_task(self._in_order(self._last, data))
            return
        # Only what it returns tells whether `send` is async: it may be a lambda or an object.
        sent = self._send(data)
        if sent is not None:
            self._last = asyncio.ensure_future(sent)

    async def _in_order(self, previous: asyncio.Future[None], data: bytes) -> None:
        await previous
        sent = self._send(data)
        if sent is not None:
            await sent

    async def drain(self) -> None:
        """Wait until everything is sent."""
        if self._last is not None:
            await self._last

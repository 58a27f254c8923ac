"""One client on one connection: bytes in, bytes out.

`receive` takes one message and returns at once; responses and other messages come out of `send`,
on the event loop, in order. Invalid input is answered and never raised, so a client cannot end
its connection by what it sends. How messages are handled is in `message_handler.py`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

from dovetail.core.call import StaticScope
from dovetail.core.changes import ChangeEvent, ChangeStream
from dovetail.core.link import ALL_CHANNELS, ClientSession, Link, Outgoing
from dovetail.core.principal import Principal
from dovetail.eras.select import announce
from dovetail.errors import RpcError
from dovetail.runtime.change_feed import ChangeFeed
from dovetail.runtime.eager_tasks import EagerTasks
from dovetail.runtime.engine import Engine
from dovetail.runtime.message_handler import (
    ClientHandler,
    end_calls,
    finish_batch,
    refuse_message,
    start_lifespan,
    too_long,
)
from dovetail.spec.models import InitializeParams
from dovetail.spec.revisions import Revision
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Incoming, Malformed, Notification, Request, Response

__all__ = ["Connection"]

# Seconds for a listen stream to send its result.
_STREAM_END_WAIT = 0.05


class Connection:
    """Serves one client; the `Link` of its calls. Create it with `server.connect(send)`."""

    channels = ALL_CHANNELS

    def __init__(
        self,
        engine: Engine,
        send: Callable[[bytes], None],
        *,
        send_now: Callable[[bytes], None] | None = None,
        send_notification: Callable[[bytes], None] | None = None,
        drain: Callable[[], Awaitable[None]] | None = None,
        scope: Any = None,
        principal: Principal | None = None,
    ) -> None:
        self._engine = engine
        self._write = send
        self._write_now = send_now or send
        # Notifications may be dropped for a client that does not read; responses may not.
        self._write_notification = send_notification or send
        self._drain = drain
        self._origin = StaticScope(scope)
        # The sender of the next message; a transport that authenticates each message sets it.
        self.principal = principal
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self.handler: ClientHandler = ClientHandler(engine)
        self._streams: dict[ChangeStream, None] = {}
        # Messages that came before the lifespan was started, and the task that starts it.
        self._early: list[bytes] | None = None
        self._starting: asyncio.Task[None] | None = None
        self._eager_tasks = EagerTasks(self._loop)
        self._is_closed = False
        self._feed = ChangeFeed(engine.bus, self._wants, self._announce, self._uris)

    # -- incoming -------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Take one message."""
        limit = self._engine.options.max_message_bytes
        if len(data) > limit:
            # Transports that count while they read never get here; embedders may.
            self.refuse(too_long(limit))
        elif self._early is not None:
            self._early.append(data)
        elif self._engine.lifespan.started:
            self._take(codec.decode(data))
        else:
            self._early = [data]
            self._starting = self._loop.create_task(self._start())

    def refuse(self, error: RpcError) -> None:
        """Answer input that is no message, such as a line over the limit."""
        self._write(self.handler.refuse_malformed(Malformed(error)))

    async def _start(self) -> None:
        """Start the lifespan, then take the messages that came meanwhile, in order."""
        error = await start_lifespan(self._engine)
        early, self._early = self._early or [], None
        for data in early:
            message = codec.decode(data)
            if error is None:
                self._take(message)
            else:
                response = refuse_message(message, error)
                if response is not None:
                    self._write(response)

    def _take(self, message: Incoming) -> None:
        if isinstance(message, Request):
            self._take_request(message)
        elif isinstance(message, Notification):
            self.handler.notify(message)
        elif isinstance(message, Response):
            self.handler.resolve(message)
        elif isinstance(message, Malformed):
            self._write(self.handler.refuse_malformed(message))
        else:
            self._take_batch(message)

    def _take_request(self, message: Request) -> None:
        handler = self.handler
        call = handler.open(message, self.principal)
        if isinstance(call, RpcError):
            self._write(codec.encode_error(message.id, call))
        elif not self._engine.dispatcher.needs_task(call):
            answer = handler.start(call, self, self._origin)
            assert isinstance(answer, bytes)  # methods that wait need a task
            self._write(answer)
        elif asyncio.current_task(self._loop) is None:
            begun = self._eager_tasks.begin(
                lambda: handler.start(call, self, self._origin), self._deliver
            )
            if isinstance(begun, bytes):
                self._write(begun)
        else:
            handler.start_task(call, self, self._origin, self._deliver)

    async def _deliver(self, running: Awaitable[bytes | None]) -> None:
        response = await running
        if response is not None:
            # With other calls in flight, their responses may leave in the same write.
            (self._write if self.handler.in_flight else self._write_now)(response)

    def _take_batch(self, batch: Batch) -> None:
        refusal = self.handler.refuse_batch()
        if refusal is not None:
            self._write(refusal)
            return
        responses, running = self.handler.start_batch(batch, self, self._origin, self.principal)
        if running:
            finishing = _encode_batch(finish_batch(responses, running))
            self._loop.create_task(self._deliver(finishing))
        elif responses:
            self._write(codec.encode_batch(responses))

    # -- as a link ------------------------------------------------------------------------------

    @property
    def session(self) -> ClientSession | None:
        """The legacy session of the client, after its handshake."""
        return self.handler.session

    def send(self, message: Outgoing) -> None:
        """Send a message from any thread."""
        write = self._write_notification if isinstance(message, Notification) else self._write
        if threading.get_ident() == self._thread:
            write(codec.encode_message(message))
        else:
            self._loop.call_soon_threadsafe(write, codec.encode_message(message))

    async def drain(self) -> None:
        """Wait until a slow client has read enough."""
        if self._drain is not None:
            await self._drain()

    def send_unrelated(self, message: Notification) -> None:
        """Send a notification that belongs to no request, unless the connection is closed."""
        if not self._is_closed:
            self.send(message)

    def disconnect(self, retry_ms: int) -> None:
        """A connection of this kind cannot be resumed."""

    def start_session(self, revision: Revision, params: InitializeParams) -> None:
        """Keep what `initialize` negotiated."""
        self.handler.start_session(revision, params)

    def open_stream(self, stream: ChangeStream) -> None:
        """Deliver changes to a listen stream from now on."""
        self._streams[stream] = None

    def close_stream(self, stream: ChangeStream) -> None:
        """Deliver no more changes to a stream."""
        self._streams.pop(stream, None)

    def after_response(self) -> Link:
        """The connection stays open after the response."""
        return self

    # -- changes --------------------------------------------------------------------------------

    def _wants(self, change: ChangeEvent) -> bool:
        if any(stream.wants(change) for stream in self._streams):
            return True
        session = self.handler.session
        return session is not None and (change.item is None or change.item.id in session.tasks)

    def _uris(self) -> Iterator[str]:
        if self.handler.session is not None:
            yield from self.handler.session.uris
        for stream in self._streams:
            yield from stream.uris

    def _announce(self, change: ChangeEvent) -> None:
        session = self.handler.session
        messages = [] if session is None else [announce(change, session)]
        messages += [stream.announce(change) for stream in self._streams]
        for message in messages:
            if message is not None:
                self.send(message)

    # -- the end --------------------------------------------------------------------------------

    async def close(self, grace: float = 0.0, error: RpcError | None = None) -> None:
        """End streams, give running calls `grace` seconds, then cancel the rest with `error`."""
        self._is_closed = True
        self._feed.close()
        self._eager_tasks.close()
        if self._starting is not None:
            await asyncio.wait([self._starting], timeout=grace or _STREAM_END_WAIT)
            self._starting.cancel()
        session = self.handler.session
        if session is not None and session.back_channel is not None:
            session.back_channel.close()
        await self._end_streams()
        await end_calls([self.handler], grace, error)

    async def _end_streams(self) -> None:
        in_flight = self.handler.in_flight
        streams = [
            stream
            for stream in self._streams
            if stream.id in in_flight and not in_flight[stream.id].call.phase.is_withdrawn
        ]
        if not streams:
            return
        for stream in streams:
            stream.end()
        # subs.graceful-result (2026-07-28 basic/patterns/subscriptions): the result comes first;
        # a client that reads the cancellation before it takes the stream for lost
        running = [in_flight[stream.id].task for stream in streams]
        await asyncio.wait([task for task in running if task is not None], timeout=_STREAM_END_WAIT)
        for stream in streams:
            self.send(stream.cancellation("the server is shutting down"))


async def _encode_batch(finishing: Coroutine[Any, Any, list[bytes]]) -> bytes | None:
    responses = await finishing
    return codec.encode_batch(responses) if responses else None

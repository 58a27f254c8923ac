"""Message in, message out, with nothing kept in between: the core of `server.handle`.

A legacy request is served as if its client had shaken hands and declared nothing: no
back channel exists here to ask it anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from dovetail.core.call import ALL_CHANNELS, Call, ClientChannels, Given, Outbox
from dovetail.core.principal import Principal
from dovetail.eras.select import ListenStream, no_batches
from dovetail.errors import InvalidRequestError, RpcError
from dovetail.features.subscriptions import ChangeEvent
from dovetail.runtime.engine import Engine
from dovetail.spec.models import InitializeParams
from dovetail.spec.revisions import Revision
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Malformed, Request

__all__ = ["NullLink", "RequestLink", "ResponseOnlyLink", "handle_message"]

Send = Callable[[bytes], Awaitable[None] | None]


class NullOutbox:
    """An outbox for callers that want the answer alone."""

    def send(self, message: bytes) -> None:
        """Nobody listens."""

    async def drain(self) -> None:
        """Nothing waits."""


_SILENCE = NullOutbox()


class _Forward:
    """An outbox that hands messages to the caller's `send`, plain or async, in order."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._last: asyncio.Future[None] | None = None

    def send(self, message: bytes) -> None:
        """Forward a message from any thread."""
        try:
            on_loop = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            on_loop = False
        if on_loop:
            self._forward(message)
        else:
            self._loop.call_soon_threadsafe(self._forward, message)

    def _forward(self, message: bytes) -> None:
        if self._last is not None:
            self._last = self._loop.create_task(self._in_order(self._last, message))
            return
        # Only what it returns tells whether `send` is async: it may be a lambda or an object.
        sent = self._send(message)
        if sent is not None:
            self._last = asyncio.ensure_future(sent)

    async def _in_order(self, previous: asyncio.Future[None], message: bytes) -> None:
        await previous
        sent = self._send(message)
        if sent is not None:
            await sent

    async def drain(self) -> None:
        """Wait until everything is sent."""
        if self._last is not None:
            await self._last


class NullLink:
    """What carries a request whose caller wants the answer alone: nothing is kept."""

    # Whoever embeds a server may have a way of its own to tell clients of changes.
    channels = ALL_CHANNELS

    def start_session(self, revision: Revision, params: InitializeParams) -> None:
        """The next request will not know of this one."""

    def tell(self, message: bytes) -> None:
        """Nobody listens once the request is answered."""

    def open_stream(self, stream: ListenStream) -> None:
        """Nobody would hear of changes; the stream ends at once."""
        stream.end()

    def close_stream(self, stream: ListenStream) -> None:
        """It has ended."""

    def end(self) -> None:
        """There is nothing to end."""


class ResponseOnlyLink(NullLink):
    """What carries a request whose client hears of no changes, and maybe of nothing else."""

    def __init__(self, *, messages: bool) -> None:
        self.channels = ClientChannels(changes=False, messages=messages)


_DEAD_END = NullLink()


class RequestLink(NullLink):
    """What carries a single request whose caller listens: a stream lasts as long as it does."""

    _unsubscribe: Callable[[], None] | None = None
    _stream: ListenStream | None = None

    def __init__(self, engine: Engine, outbox: Outbox) -> None:
        self._engine = engine
        self._outbox = outbox

    def end(self) -> None:
        """End the stream, if one is open, from the server's side."""
        if self._stream is not None:
            self._stream.end()

    def open_stream(self, stream: ListenStream) -> None:
        """Deliver changes while the request is open."""
        self._stream = stream

        def heard(change: ChangeEvent) -> None:
            message = stream.announce(change)
            if message is not None:
                self._outbox.send(message)

        self._unsubscribe = self._engine.bus.subscribe(heard)

    def close_stream(self, stream: ListenStream) -> None:
        """Deliver no more."""
        if self._unsubscribe is not None:
            self._unsubscribe()


def handle_message(
    engine: Engine,
    data: bytes,
    send: Send | None,
    scope: Any,
    principal: Principal | None,
    revision: Revision,
) -> bytes | Coroutine[Any, Any, bytes | None] | None:
    """The answer to one message, at once or to be awaited; None where none is due."""
    if len(data) > engine.options.max_message_bytes:
        limit = engine.options.max_message_bytes
        error = InvalidRequestError(f"Invalid request: the message is over {limit:,} bytes")
        return codec.encode_error(revision.unreadable_id, error)
    message = codec.decode(data)
    outbox: Outbox = _SILENCE if send is None else _Forward(send)
    if isinstance(message, Request):
        return _answer(engine, message, outbox, scope, principal, revision)
    if isinstance(message, Malformed):
        return codec.encode_error(message.id or revision.unreadable_id, message.error)
    if isinstance(message, Batch):
        return _answer_batch(engine, message, outbox, scope, principal, revision)
    return None


def _answer(
    engine: Engine,
    message: Request,
    outbox: Outbox,
    scope: Any,
    principal: Principal | None,
    revision: Revision,
) -> bytes | Coroutine[Any, Any, bytes]:
    call = engine.eras.open(message, None, principal, revision)
    if isinstance(call, RpcError):
        return codec.encode_error(message.id, call)
    is_silent = outbox is _SILENCE
    link = _DEAD_END if is_silent else RequestLink(engine, outbox)
    engine.equip(call, outbox, link, Given(scope), principal)
    answer = engine.dispatcher.answer(call)
    # Nobody can tell when a call is over if nobody hears what it says meanwhile.
    return answer if is_silent else _finish(call, answer)


async def _finish(call: Call, answer: bytes | Coroutine[Any, Any, bytes]) -> bytes:
    try:
        return answer if isinstance(answer, bytes) else await answer
    finally:
        call.over = True
        await call.outbox.drain()


async def _answer_batch(
    engine: Engine,
    batch: Batch,
    outbox: Outbox,
    scope: Any,
    principal: Principal | None,
    revision: Revision,
) -> bytes | None:
    if not revision.batching:
        return codec.encode_error(revision.unreadable_id, no_batches())
    answers = [
        codec.encode_error(item.id or revision.unreadable_id, item.error)
        for item in batch.items
        if isinstance(item, Malformed)
    ]
    begun = [
        _answer(engine, item, outbox, scope, principal, revision)
        for item in batch.items
        if isinstance(item, Request)
    ]
    answers += [answer for answer in begun if isinstance(answer, bytes)]
    answers += await asyncio.gather(*(answer for answer in begun if not isinstance(answer, bytes)))
    return codec.encode_batch(answers) if answers else None

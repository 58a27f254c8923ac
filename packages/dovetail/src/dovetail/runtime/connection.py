"""One client on one connection: messages in, messages out, calls in flight in between.

It knows nothing of what carries the bytes. `receive` takes one message and returns at
once; whatever there is to say comes out of `send`, on the event loop, in order. Bad
input is answered, never raised: nothing a client sends can end the connection.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from dovetail.core.call import ALL_CHANNELS, Call, Given
from dovetail.core.principal import Principal
from dovetail.eras.select import ListenStream, Session, announce, id_in_use, no_batches
from dovetail.errors import InternalError, InvalidRequestError, RpcError
from dovetail.features.cancellation import read_cancellation
from dovetail.features.subscriptions import ChangeEvent
from dovetail.runtime.eager_tasks import EagerTasks
from dovetail.runtime.engine import Engine
from dovetail.spec.models import InitializeParams
from dovetail.spec.revisions import Revision
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Incoming, Malformed, Notification, Request, Response

__all__ = ["Connection"]

logger = logging.getLogger("dovetail")

T = TypeVar("T")


class _InFlight:
    """A call that has not been answered yet."""

    __slots__ = ("call", "task")

    def __init__(self, call: Call, task: asyncio.Task[Any]) -> None:
        self.call = call
        self.task = task


class Connection:
    """Serves one client. Make it with `server.connect(send)`, on a running event loop."""

    channels = ALL_CHANNELS

    def __init__(
        self,
        engine: Engine,
        send: Callable[[bytes], None],
        *,
        send_now: Callable[[bytes], None] | None = None,
        drain: Callable[[], Awaitable[None]] | None = None,
        scope: Any = None,
        principal: Principal | None = None,
    ) -> None:
        self._engine = engine
        self._write = send
        self._write_now = send_now or send
        self._drain = drain
        self._origin = Given(scope)
        # Who sends what comes next; a transport that asks for each message sets it anew.
        self.principal = principal
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._session: Session | None = None
        self._calls: dict[bytes, _InFlight] = {}
        self._streams: set[ListenStream] = set()
        self._changes: dict[ChangeEvent, None] = {}
        # Messages that came before the lifespan was entered, and the task that enters it.
        self._early: list[bytes] | None = None
        self._beginning: asyncio.Task[None] | None = None
        self._eager_tasks = EagerTasks(self._loop)
        self._is_closed = False
        self._unsubscribe = engine.bus.subscribe(self._heard)

    # -- in -----------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Take one message."""
        limit = self._engine.options.max_message_bytes
        if len(data) > limit:
            # A transport that counts while it reads never gets here; an embedder's may.
            self.refuse(
                InvalidRequestError(
                    f"Invalid request: a message of {len(data):,} bytes is over the limit of "
                    f"{limit:,}"
                )
            )
        elif self._early is not None:
            self._early.append(data)
        elif self._engine.lifespan.started:
            self._take(codec.decode(data))
        else:
            # The lifespan has to be entered first; messages keep their order.
            self._early = [data]
            self._beginning = self._loop.create_task(self._begin())

    def refuse(self, error: RpcError) -> None:
        """Answer something that was no message at all, such as an oversized line."""
        self._take(Malformed(error))

    async def _begin(self) -> None:
        try:
            await self._engine.lifespan.start()
        except Exception:
            logger.exception("the lifespan of the server failed to start")
            for data in self._early or ():
                message = codec.decode(data)
                if isinstance(message, Request):
                    error = InternalError("The server failed to start; its log has the details.")
                    self._write(codec.encode_error(message.id, error))
            self._early = None
            return
        early, self._early = self._early or [], None
        for data in early:
            self._take(codec.decode(data))

    def _take(self, message: Incoming) -> None:
        if isinstance(message, Request):
            answer = self._answer(message)
            if isinstance(answer, bytes):
                self._write(answer)
            elif asyncio.current_task(self._loop) is None:
                self._begin_call(answer)
            else:
                self._start(answer, self._run_and_send(answer))
        elif isinstance(message, Notification):
            self._notified(message)
        elif isinstance(message, Response):
            self._responded(message)
        elif isinstance(message, Malformed):
            self._write(codec.encode_error(message.id or self._unreadable_id(), message.error))
        else:
            self._take_batch(message)

    def _answer(self, message: Request) -> bytes | Call:
        """The answer, or the call that needs a task to be answered."""
        if message.id in self._calls:
            return codec.encode_error(message.id, id_in_use(message.id))
        call = self._engine.eras.open(message, self._session, self.principal)
        if isinstance(call, RpcError):
            return codec.encode_error(message.id, call)
        self._engine.equip(call, self, self, self._origin, self.principal)
        dispatcher = self._engine.dispatcher
        if dispatcher.needs_task(call):
            return call
        answer = dispatcher.answer(call)
        assert isinstance(answer, bytes)  # everything that waits asks for a task
        return answer

    def _begin_call(self, call: Call) -> None:
        """Take the first step at once; most calls need no second one."""

        def wrap(rest: Coroutine[Any, Any, bytes]) -> Coroutine[Any, Any, None]:
            return self._run_and_send(call, rest)

        begun = self._eager_tasks.begin(lambda: self._engine.dispatcher.answer(call), wrap)
        if isinstance(begun, bytes):
            call.over = True
            self._write(begun)
        else:
            self._calls[call.id] = _InFlight(call, begun)

    def _start(self, call: Call, running: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = self._loop.create_task(running)
        self._calls[call.id] = _InFlight(call, task)
        return task

    async def _run(self, call: Call) -> bytes:
        try:
            answer = self._engine.dispatcher.answer(call)
            return answer if isinstance(answer, bytes) else await answer
        finally:
            call.over = True
            self._calls.pop(call.id, None)

    async def _run_and_send(
        self, call: Call, answer: bytes | Coroutine[Any, Any, bytes] | None = None
    ) -> None:
        try:
            if answer is None:
                answer = self._engine.dispatcher.answer(call)
            if not isinstance(answer, bytes):
                answer = await answer
            if not call.over:
                # With one call in flight, no other answer is on its way to be sent along.
                (self._write if len(self._calls) > 1 else self._write_now)(answer)
        finally:
            call.over = True
            self._calls.pop(call.id, None)

    # -- batches (2025-03-26 only) ---------------------------------------------------------

    def _take_batch(self, batch: Batch) -> None:
        # batch.receive (2025-03-26 basic/index), batch.removed (2025-06-18 changelog)
        if self._session is None or not self._session.revision.batching:
            self._write(codec.encode_error(self._unreadable_id(), no_batches()))
            return
        answers: list[bytes] = []
        waiting: list[asyncio.Task[bytes]] = []
        ids: set[bytes] = set()
        for item in batch.items:
            if isinstance(item, Request):
                if item.id in ids:
                    answers.append(codec.encode_error(item.id, id_in_use(item.id)))
                    continue
                ids.add(item.id)
                answer = self._answer(item)
                if isinstance(answer, bytes):
                    answers.append(answer)
                else:
                    waiting.append(self._start(answer, self._run(answer)))
            elif isinstance(item, Malformed):
                answers.append(codec.encode_error(item.id or b"null", item.error))
            else:
                self._take(item)
        if waiting:
            self._loop.create_task(self._finish_batch(answers, waiting))
        elif answers:
            self._write(codec.encode_batch(answers))

    async def _finish_batch(self, answers: list[bytes], waiting: list[asyncio.Task[bytes]]) -> None:
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        answers += [outcome for outcome in outcomes if isinstance(outcome, bytes)]
        if answers:
            self._write(codec.encode_batch(answers))

    # -- notifications and responses ------------------------------------------------------

    def _notified(self, message: Notification) -> None:
        if message.method == "notifications/cancelled":
            self._cancel(message)
        elif message.method == "notifications/initialized" and self._session is not None:
            self._session.ready = True
        else:
            # base.notification.no-reply: known or not, nobody gets an answer
            logger.debug("ignored the notification %.100r", message.method)

    def _cancel(self, message: Notification) -> None:
        cancellation = read_cancellation(message)
        in_flight = self._calls.get(cancellation.id) if cancellation is not None else None
        if cancellation is None or in_flight is None:
            # cancel.invalid-ignored (2025-11-25 basic/utilities/cancellation)
            logger.debug("ignored a cancellation of nothing that is in flight")
            return
        # cancel.log (2025-11-25 basic/utilities/cancellation): the reason
        logger.debug("request %s cancelled: %.200s", cancellation.id.decode(), cancellation.reason)
        self._withdraw(in_flight)

    def _withdraw(self, in_flight: _InFlight) -> None:
        # cancel.no-response: a call that is over says nothing more, whatever its handler does
        in_flight.call.cancelled = in_flight.call.over = True
        # Not at once: a task that is cancelled before its first step never runs at all, so
        # nothing would take its id off the list of calls in flight.
        self._loop.call_soon(in_flight.task.cancel)

    def _responded(self, message: Response) -> None:
        channel = self._session.back_channel if self._session is not None else None
        if channel is None or not channel.resolve(message):
            logger.debug("ignored a response to nothing that was asked")

    def _unreadable_id(self) -> bytes | None:
        return self._session.revision.unreadable_id if self._session is not None else None

    # -- what calls need of their connection -------------------------------------------------

    def send(self, message: bytes) -> None:
        """Send a message from any thread."""
        if threading.get_ident() == self._thread:
            self._write(message)
        else:
            self._loop.call_soon_threadsafe(self._write, message)

    async def drain(self) -> None:
        """Wait until a slow reader has caught up enough."""
        if self._drain is not None:
            await self._drain()

    def tell(self, message: bytes) -> None:
        """Send a message that belongs to no request, as long as anybody is there."""
        if not self._is_closed:
            self._write(message)

    def start_session(self, revision: Revision, params: InitializeParams) -> None:
        """Remember what initialize settled."""
        self._session = self._engine.eras.new_session(revision, params)

    def open_stream(self, stream: ListenStream) -> None:
        """Deliver changes to a listen stream from now on."""
        self._streams.add(stream)

    def close_stream(self, stream: ListenStream) -> None:
        """Deliver no more."""
        self._streams.discard(stream)

    # -- changes ---------------------------------------------------------------------------

    def _heard(self, change: ChangeEvent) -> None:
        if change.task is not None and not self._wants(change.task.id):
            return
        if threading.get_ident() == self._thread:
            self._note(change)
        else:
            self._loop.call_soon_threadsafe(self._note, change)

    def _wants(self, task: str) -> bool:
        """Tasks change all the time, and most of them are others'."""
        if self._streams:
            return True
        return self._session is not None and task in self._session.tasks

    def _note(self, change: ChangeEvent) -> None:
        if self._session is None and not self._streams:
            return
        # Many changes in one go are one notification of each kind.
        if not self._changes:
            self._loop.call_soon(self._announce)
        self._changes[change] = None

    def _announce(self) -> None:
        changes, self._changes = self._changes, {}
        for change in changes:
            if self._session is not None:
                message = announce(change, self._session)
                if message is not None:
                    self._write(message)
            for stream in self._streams:
                message = stream.announce(change)
                if message is not None:
                    self._write(message)

    # -- the end ---------------------------------------------------------------------------

    async def close(self, grace: float = 0.0) -> None:
        """End: streams gracefully, calls within `grace` seconds, whatever is left by force."""
        self._is_closed = True
        self._unsubscribe()
        self._eager_tasks.close()
        if self._beginning is not None:
            await asyncio.wait([self._beginning], timeout=grace or 0.05)
            self._beginning.cancel()
        if self._session is not None and self._session.back_channel is not None:
            self._session.back_channel.close()
        await self._end_streams()
        tasks = [in_flight.task for in_flight in self._calls.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=grace or 0.05)
        left = list(self._calls.values())
        for in_flight in left:
            self._withdraw(in_flight)
        if left:
            await asyncio.wait([in_flight.task for in_flight in left], timeout=grace or 0.5)

    async def _end_streams(self) -> None:
        streams = [stream for stream in self._streams if not stream.call.over]
        if not streams:
            return
        for stream in streams:
            stream.end()
        # subs.graceful-result (2026-07-28 basic/patterns/subscriptions): the result comes first.
        # A client that reads of the cancellation before it takes the stream for lost.
        answered = [self._calls[stream.call.id].task for stream in streams]
        await asyncio.wait(answered, timeout=0.05)
        for stream in streams:
            # cancel.server-listen-teardown (2026-07-28 basic/patterns/cancellation); and
            # subs.id-on-all (2026-07-28 basic/patterns/subscriptions): it belongs to the stream
            params = b'{"_meta":%b,"requestId":%b,"reason":"the server is shutting down"}' % (
                codec.encode(stream.meta),
                stream.call.id,
            )
            self._write(codec.encode_notification("notifications/cancelled", params))

"""The one implementation of "receive a message, run it, answer it".

A transport decodes a message, passes it to a `MessageHandler` and delivers what comes back. The
handler admits requests (duplicate ids, calls per client, the era), runs them, keeps the table of
calls in flight, cancels them, and takes notifications, responses and batches. It does not know
what carries the bytes.

    transport                     handler                          scope
    stdio, memory, HTTP+SSE       ClientHandler                    the connection
    Streamable HTTP, legacy       ClientHandler                    the session
    Streamable HTTP, modern       StatelessHandler                 the application
    `server.handle`               StatelessHandler                 the server and a revision

A request that needs no waiting is answered without a coroutine:

    call = handler.open(message, principal)      # a Call, or the RpcError that refuses it
    answer = handler.start(call, link, origin)   # bytes, or a coroutine that returns bytes or None

None means that the request was cancelled: nothing may be sent for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import msgspec

from dovetail.core.call import Call, Origin
from dovetail.core.link import Link
from dovetail.core.principal import Principal, owner_of
from dovetail.eras.select import LegacySession, id_in_use, no_batches
from dovetail.errors import InternalError, InvalidRequestError, RateLimitError, RpcError
from dovetail.runtime.engine import Engine
from dovetail.spec.models import CancelledParams, InitializeParams
from dovetail.spec.revisions import Revision
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Incoming, Malformed, Notification, Request, Response

__all__ = [
    "Cancellation",
    "ClientHandler",
    "InFlight",
    "MessageHandler",
    "StatelessHandler",
    "end_calls",
    "finish_batch",
    "read_cancellation",
    "refuse_message",
    "start_lifespan",
    "too_long",
]


class Cancellation(NamedTuple):
    """The request to cancel, and the reason."""

    id: bytes
    reason: str


def read_cancellation(message: Notification) -> Cancellation | None:
    """Return the cancellation, None if malformed: those are ignored (cancel.invalid-ignored)."""
    if message.params is None:
        return None
    try:
        params = codec.decode_as(CancelledParams, message.params)
    except msgspec.ValidationError:
        return None
    id = codec.canonical_id(bytes(params.request_id))
    return Cancellation(id, params.reason or "no reason given") if id is not None else None


logger: logging.Logger = logging.getLogger("dovetail")

# A running call, and a coroutine that delivers its answer.
Running: TypeAlias = Coroutine[Any, Any, bytes | None]
Rest: TypeAlias = Coroutine[Any, Any, Any]

# Seconds to wait for calls if there is no grace period, and for cancelled calls to end.
_SHORT_WAIT = 0.05
_CANCEL_WAIT = 0.4


class InFlight:
    """A call that has not been answered, and the task that runs it once there is one."""

    __slots__ = ("call", "response", "task")

    def __init__(self, call: Call) -> None:
        self.call: Call = call
        self.task: asyncio.Task[Any] | None = None
        # What the client gets if the call is withdrawn.
        self.response: bytes | None = None

    def withdraw(self, error: RpcError | None = None) -> None:
        """End the call; the client gets `error`, or nothing (cancel.no-response)."""
        call = self.call
        if error is not None:
            self.response = codec.encode_error(call.id, error)
            call.refusal = error
        call.phase = call.phase.withdrawn
        if self.task is not None:
            # Not at once: a task that is cancelled before its first step never runs at all, and
            # would stay in the table.
            self.task.get_loop().call_soon(self.task.cancel)


class MessageHandler:
    """Handles messages; `ClientHandler` and `StatelessHandler` say whose they are."""

    __slots__ = ("_limit", "engine", "in_flight", "relay", "session", "started")

    def __init__(self, engine: Engine, session: LegacySession | None = None) -> None:
        self.engine: Engine = engine
        self.session: LegacySession | None = session
        # When the session was started here; None for one that was not, and after its end.
        self.started: float | None = None
        # Calls that wait for something. Those of one client by id, as cancellations name them.
        self.in_flight: dict[bytes | Call, InFlight] = {}
        self._limit = engine.options.max_calls_per_client
        # Passes on cancellations and responses that another process may wait for.
        self.relay: Callable[[Notification | Response], None] | None = None

    # -- requests -----------------------------------------------------------------------------

    def open(self, message: Request, principal: Principal | None) -> Call | RpcError:
        """The call, ready to start, or the error that refuses the request."""
        refusal = self._refuse(message, principal)
        if refusal is not None:
            return refusal
        call = self.engine.eras.open(message, self.session, principal)
        if isinstance(call, Call):
            call.services = self.engine
            call.principal = principal
        return call

    def _refuse(self, message: Request, principal: Principal | None) -> RpcError | None:
        """Why a request is refused before its params are read."""
        raise NotImplementedError

    def start(self, call: Call, link: Link, origin: Origin) -> bytes | Running:
        """Answer a call, or start it: the coroutine must be awaited in the same task."""
        call.link = link
        call.origin = origin
        answer = self.engine.dispatcher.answer(call)
        if isinstance(answer, bytes):
            # The handler may have left a task behind: nothing more may be sent for this call.
            call.phase = call.phase.answered
            return answer
        in_flight = self._track(call)
        in_flight.task = asyncio.current_task()
        return self._finish(in_flight, answer)

    def start_task(
        self, call: Call, link: Link, origin: Origin, wrap: Callable[[Running], Rest] | None = None
    ) -> asyncio.Task[Any]:
        """Run a call in a task of its own; `wrap` makes the coroutine that delivers its answer."""
        call.link = link
        call.origin = origin
        in_flight = self._track(call)
        running = self._run(in_flight)
        rest: Rest = running if wrap is None else wrap(running)
        task = in_flight.task = asyncio.get_running_loop().create_task(rest)
        # A task that is cancelled before its first step runs none of the code that forgets it.
        task.add_done_callback(lambda _: self._forget(in_flight))
        return task

    async def _run(self, in_flight: InFlight) -> bytes | None:
        call = in_flight.call
        if call.phase.is_withdrawn:
            # Cancelled before its first step: the handler never runs.
            self._forget(in_flight)
            return in_flight.response
        answer = self.engine.dispatcher.answer(call)
        if not isinstance(answer, bytes):
            return await self._finish(in_flight, answer)
        call.phase = call.phase.answered
        self._forget(in_flight)
        return answer

    async def _finish(
        self, in_flight: InFlight, answer: Coroutine[Any, Any, bytes]
    ) -> bytes | None:
        """The rest of a call after its first step."""
        call, task = in_flight.call, in_flight.task
        assert task is not None
        try:
            response = await answer
            return in_flight.response if call.phase.is_withdrawn else response
        except asyncio.CancelledError:
            # Only this call was cancelled, not the task that happens to run it.
            if call.phase.is_withdrawn and task.uncancel() == 0:
                return in_flight.response
            raise
        finally:
            call.phase = call.phase.answered
            self._forget(in_flight)

    def _track(self, call: Call) -> InFlight:
        raise NotImplementedError

    def _forget(self, in_flight: InFlight) -> None:
        """Remove a call from the table, if it is still there."""
        raise NotImplementedError

    # -- batches (2025-03-26 only) --------------------------------------------------------------

    def start_batch(
        self, batch: Batch, link: Link, origin: Origin, principal: Principal | None
    ) -> tuple[list[bytes], list[asyncio.Task[bytes | None]]]:
        """Handle the messages of a batch: the responses that are ready, and the running calls."""
        responses: list[bytes] = []
        running: list[asyncio.Task[bytes | None]] = []
        ids: set[bytes] = set()
        for item in batch.items:
            if isinstance(item, Request):
                call = id_in_use(item.id) if item.id in ids else self.open(item, principal)
                ids.add(item.id)
                if isinstance(call, RpcError):
                    responses.append(codec.encode_error(item.id, call))
                elif self.engine.dispatcher.needs_task(call):
                    # batch.http.all-answered (2025-03-26 basic/transports): in parallel
                    running.append(self.start_task(call, link, origin))
                else:
                    answer = self.start(call, link, origin)
                    assert isinstance(answer, bytes)  # methods that wait need a task
                    responses.append(answer)
            elif isinstance(item, Malformed):
                responses.append(self.refuse_malformed(item))
            elif isinstance(item, Notification):
                self.notify(item)
            else:
                self.resolve(item)
        return responses, running

    def refuse_batch(self) -> bytes | None:
        """The error for a batch, if the revision has none."""
        # batch.receive (2025-03-26 basic/index), batch.removed (2025-06-18 changelog)
        if self.session is not None and self.session.revision.batching:
            return None
        return codec.encode_error(self._unreadable_id, no_batches())

    def refuse_malformed(self, message: Malformed) -> bytes:
        """The error for bytes that are no message."""
        return codec.encode_error(message.id or self._unreadable_id, message.error)

    @property
    def _unreadable_id(self) -> bytes | None:
        return None if self.session is None else self.session.revision.unreadable_id

    # -- notifications and responses ------------------------------------------------------------

    def notify(self, message: Notification) -> None:
        """Take a notification."""
        if message.method == "notifications/cancelled":
            self._cancel(message)
        elif message.method == "notifications/initialized" and self.session is not None:
            if self.session.is_kept:
                self.session.make_ready()
        else:
            # base.notification.no-reply: unknown ones are ignored
            logger.debug("ignored the notification %.100r", message.method)

    def _cancel(self, message: Notification) -> None:
        cancellation = read_cancellation(message)
        in_flight = self.in_flight.get(cancellation.id) if cancellation is not None else None
        if cancellation is not None and in_flight is None and self.relay is not None:
            self.relay(message)
            return
        if cancellation is None or in_flight is None:
            # cancel.invalid-ignored (2025-11-25 basic/utilities/cancellation)
            logger.debug("ignored a cancellation: no such request is in flight")
            return
        # cancel.log (2025-11-25 basic/utilities/cancellation): the reason
        logger.debug("request %s cancelled: %.200s", cancellation.id.decode(), cancellation.reason)
        in_flight.withdraw()

    def end(self, error: RpcError | None = None) -> None:
        """End all calls and questions; callers that wait get `error`, or nothing."""
        for in_flight in tuple(self.in_flight.values()):
            in_flight.withdraw(error)
        if self.session is None:
            return
        if self.session.back_channel is not None:
            self.session.back_channel.close()
        self.session.forget_state()
        if self.started is not None:
            duration = perf_counter() - self.started
            self.started = None
            self.engine.dispatcher.end_session(self.session.revision.date, duration)

    def resolve(self, message: Response) -> None:
        """Take the response to a request of the server."""
        channel = self.session.back_channel if self.session is not None else None
        if channel is not None and channel.resolve(message):
            return
        if self.relay is not None:
            self.relay(message)
        else:
            logger.debug("ignored a response: no such request was sent")


class ClientHandler(MessageHandler):
    """The messages of one client, known by its connection or its session."""

    __slots__ = ()

    def _refuse(self, message: Request, principal: Principal | None) -> RpcError | None:
        if message.id in self.in_flight:
            return id_in_use(message.id)
        return _too_many(self._limit) if len(self.in_flight) >= self._limit else None

    def start_session(self, revision: Revision, params: InitializeParams) -> None:
        """Keep what `initialize` negotiated."""
        self.session: LegacySession | None = self.engine.eras.new_session(revision, params)
        self.started: float | None = perf_counter()

    def _track(self, call: Call) -> InFlight:
        in_flight = self.in_flight[call.id] = InFlight(call)
        return in_flight

    def _forget(self, in_flight: InFlight) -> None:
        # The id may have been used again by now.
        if self.in_flight.get(in_flight.call.id) is in_flight:
            del self.in_flight[in_flight.call.id]


class StatelessHandler(MessageHandler):
    """Messages that stand alone: nothing is stored between two of them.

    The calls of a principal are limited together; anonymous callers cannot be distinguished.
    """

    __slots__ = ("_by_owner",)

    def __init__(self, engine: Engine, revision: Revision | None = None) -> None:
        """Legacy requests are served at `revision`; without one they are refused."""
        super().__init__(
            engine, None if revision is None else engine.eras.stateless_session(revision)
        )
        self._by_owner: Counter[str | None] = Counter()

    def _refuse(self, message: Request, principal: Principal | None) -> RpcError | None:
        if principal is None or self._by_owner.get(owner_of(principal), 0) < self._limit:
            return None
        return _too_many(self._limit)

    def start_alone(self, call: Call, link: Link, origin: Origin) -> bytes | Running:
        """Like `start`, for an anonymous call, which cannot be cancelled and is not tracked."""
        call.link = link
        call.origin = origin
        return self.engine.dispatcher.answer(call)

    def _track(self, call: Call) -> InFlight:
        in_flight = self.in_flight[call] = InFlight(call)
        if call.principal is not None:
            self._by_owner[owner_of(call.principal)] += 1
        return in_flight

    def _forget(self, in_flight: InFlight) -> None:
        call = in_flight.call
        if self.in_flight.pop(call, None) is None or call.principal is None:
            return
        owner = owner_of(call.principal)
        self._by_owner[owner] -= 1
        if not self._by_owner[owner]:
            del self._by_owner[owner]


async def end_calls(
    handlers: Sequence[MessageHandler], grace: float, error: RpcError | None = None
) -> None:
    """Wait `grace` seconds for calls in flight, then cancel the rest; their callers get `error`."""
    await _wait_for_calls(handlers, grace or _SHORT_WAIT)
    for handler in handlers:
        handler.end(error)
    await _wait_for_calls(handlers, _CANCEL_WAIT)
    for handler in handlers:
        for in_flight in handler.in_flight.values():
            logger.error("%s did not end when it was cancelled", in_flight.call.describe())


async def _wait_for_calls(handlers: Sequence[MessageHandler], timeout: float) -> None:
    in_flight = [one for handler in handlers for one in handler.in_flight.values()]
    tasks = [one.task for one in in_flight if one.task is not None]
    if tasks:
        await asyncio.wait(tasks, timeout=timeout)


async def finish_batch(
    responses: list[bytes], running: Iterable[asyncio.Task[bytes | None]]
) -> list[bytes]:
    """All responses of a batch, once its calls have ended."""
    answers = await asyncio.gather(*running)
    return [*responses, *(answer for answer in answers if answer is not None)]


async def start_lifespan(engine: Engine) -> RpcError | None:
    """Start the server's lifespan; the error for requests that came before it, if it fails."""
    try:
        await engine.lifespan.start()
    except Exception:
        logger.exception("the lifespan of the server failed to start")
        return InternalError("The server failed to start; its log has the details.")
    return None


def refuse_message(message: Incoming, error: RpcError) -> bytes | None:
    """The response that refuses every request of a message; None if it has none."""
    if isinstance(message, Request):
        return codec.encode_error(message.id, error)
    if isinstance(message, Malformed):
        return codec.encode_error(message.id, message.error)
    if isinstance(message, Batch):
        refused = [refuse_message(item, error) for item in message.items]
        responses = [response for response in refused if response is not None]
        return codec.encode_batch(responses) if responses else None
    return None


def too_long(limit: int) -> RpcError:
    """The error for a message over `Options.max_message_bytes`."""
    return InvalidRequestError(f"Invalid request: a message is over the limit of {limit:,} bytes")


def _too_many(limit: int) -> RpcError:
    return RateLimitError(
        f"Too many calls in flight: this client has {limit:,} requests that are not answered yet",
        retry_after=1.0,
    )

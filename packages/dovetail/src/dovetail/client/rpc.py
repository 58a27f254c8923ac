"""Requests and their answers over one channel: ids, timeouts, cancellation, progress.

Knows JSON-RPC and the two notifications that speak of a request (progress, cancelled);
what methods mean, and in which era, is the business of whoever listens. Incoming
messages are handled in the order they arrive, so the progress of a call is told
before the call returns. Nothing a server sends can raise in here.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec import Raw, Struct

from dovetail.client.background import Background, resolve
from dovetail.client.channel import Channel, SessionEndedError
from dovetail.errors import DovetailError, PeerError, RpcError, TransportError
from dovetail.spec.keys import PROGRESS_TOKEN
from dovetail.spec.models import ProgressParams
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Malformed, Message, Notification, Request, Response

__all__ = ["Exchange", "Listener", "PendingRequest", "ProgressCallback", "time_limit"]

ProgressCallback: TypeAlias = Callable[[ProgressParams], Awaitable[None] | None]

# How many unreadable things a server wrote are kept to explain a timeout with.
_KEPT_STRAYS = 5
# A moment for the last notifications, in both directions, before the channel closes.
_DRAIN_SECONDS = 0.5


class Listener(Protocol):
    """Who is told of what the server sends of its own accord."""

    def on_notification(self, message: Notification) -> None:
        """The server tells something; progress is handled before."""

    def on_request(self, message: Request) -> None:
        """The server asks something."""

    def on_session_ended(self) -> None:
        """The server has forgotten who we are, and nobody was asking."""

    def on_closed(self, error: TransportError) -> None:
        """The server is gone; requests that wait have been told already."""


class _WireError(Struct):
    code: int
    message: str
    data: Any = None


@dataclass(eq=False, slots=True)
class PendingRequest:
    """A request that is waiting for its answer."""

    number: int
    method: str
    answer: asyncio.Future[Raw]
    progress: ProgressCallback | None = None
    told: list[asyncio.Task[None]] = field(default_factory=list)
    # Who sends it, if that is not whoever waits for the answer.
    sending: asyncio.Task[None] | None = None

    @property
    def id(self) -> bytes:
        """The id as it stands on the wire."""
        return codec.encode_id(self.number)


class Exchange:
    """Sends requests, matches answers, and passes everything else to its listener."""

    def __init__(self, channel: Channel) -> None:
        self.listener: Listener | None = None
        # Questions of the server's that somebody is being asked.
        self.callbacks = Background()
        # Log messages and changes on their way to the callback that is told of them.
        self.tellings = Background()
        self._outbox = Background()
        # Requests that are sent on the side: on HTTP, that lasts as long as their response.
        self._apart = Background()
        self._channel = channel
        self._numbers = count(1)
        self._waiting: dict[bytes, PendingRequest] = {}
        self._gone: TransportError | None = None
        self._strays: deque[str] = deque(maxlen=_KEPT_STRAYS)

    async def open(self) -> None:
        """Open the channel; raises TransportError."""
        await self._channel.open(self.receive, self.closed)

    async def close(self) -> None:
        """Close the channel; whoever still waits gets a TransportError."""
        await self.callbacks.close()
        await self._apart.close()
        for unfinished in (self.tellings, self._outbox):
            await unfinished.drain(_DRAIN_SECONDS)
            await unfinished.close()
        self.closed(TransportError("The client is closed"))
        await self._channel.close()

    # -- out ----------------------------------------------------------------------------

    def check_open(self) -> None:
        """Raises TransportError if nothing is going to come any more."""
        if self._gone is not None:
            raise TransportError(str(self._gone))

    def start(self, method: str, progress: ProgressCallback | None = None) -> PendingRequest:
        """Take an id and wait for its answer; `transmit` sends it, `forget` gives up."""
        self.check_open()
        answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        call = PendingRequest(next(self._numbers), method, answer, progress)
        self._waiting[call.id] = call
        return call

    async def transmit(self, call: PendingRequest, params: dict[str, Any] | None) -> None:
        """Send the request of a started call."""
        if call.progress is not None:
            # progress.token-type (2025-11-25 basic/utilities/progress): unique among the
            # active requests, which the request's own id is.
            params = params or {}
            params["_meta"] = {**params.get("_meta", {}), PROGRESS_TOKEN: call.number}
        body = None if params is None else codec.encode(params)
        await self._channel.send(codec.encode_request(call.id, call.method, body))

    def transmit_apart(self, call: PendingRequest, params: dict[str, Any] | None) -> None:
        """Send it on the side, for a call whose answer comes long after other messages."""
        call.sending = self._apart.start(self._transmit_or_fail(call, params))

    async def _transmit_or_fail(self, call: PendingRequest, params: dict[str, Any] | None) -> None:
        try:
            await self.transmit(call, params)
        except (TransportError, PeerError) as error:
            # Whoever has answered already, or closed the client, knows more about why.
            if not call.answer.done():
                call.answer.set_exception(error)

    def forget(self, call: PendingRequest, reason: str | None = None) -> None:
        """Stop waiting; with a reason, the server is told that nobody waits any more."""
        self._waiting.pop(call.id, None)
        for task in call.told:
            task.cancel()
        # Whoever waits for a future and is cancelled cancels the future: that is no answer.
        answered = call.answer.done() and not call.answer.cancelled()
        if answered:
            # Whoever sent it may have failed first: an exception nobody reads is reported.
            call.answer.exception()
        call.answer.cancel()
        if call.sending is not None:
            call.sending.cancel()
        # cancel.race (2025-11-25 basic/utilities/cancellation): only a request believed to be
        # in progress is cancelled.
        if reason is not None and not answered and self._gone is None:
            params = codec.encode({"requestId": call.number, "reason": reason})
            notice = codec.encode_notification("notifications/cancelled", params)
            self._outbox.start(self._deliver(notice))

    async def request(
        self,
        method: str,
        params: dict[str, Any] | None,
        *,
        timeout: float,
        progress: ProgressCallback | None = None,
        cancellable: bool = True,
    ) -> Raw:
        """Ask and wait; raises RpcError, PeerError, TransportError or TimeoutError."""
        call = self.start(method, progress)
        reason: str | None = "The client no longer waits for the answer"
        try:
            # lifecycle.timeouts.set (2025-11-25 basic/lifecycle): every request has a timeout.
            async with time_limit(timeout):
                await self._transmit_or_fail(call, params)
                if call.answer.done():
                    # What came before the answer is told before the call returns: let the
                    # callbacks that were started meanwhile have their turn.
                    await asyncio.sleep(0)
                result = await call.answer
                await asyncio.gather(*call.told)
                return result
        except TimeoutError:
            reason = f"No answer within {timeout:g} s"
            raise TimeoutError(self._describe_timeout(method, timeout)) from None
        except DovetailError:
            # It was answered, or never arrived: there is nothing to take back.
            reason = None
            raise
        finally:
            # lifecycle.timeouts.cancel (2025-11-25 basic/lifecycle): a sender that gives up
            # says so; `initialize` alone must not be cancelled.
            self.forget(call, reason if cancellable else None)

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Tell the server something."""
        body = None if params is None else codec.encode(params)
        await self._channel.send(codec.encode_notification(method, body))

    def respond(self, id: bytes, outcome: dict[str, Any] | RpcError) -> None:
        """Answer a request of the server's; a server that is gone needs no answer."""
        if isinstance(outcome, RpcError):
            data = codec.encode_error(id, outcome)
        else:
            data = codec.encode_result(id, codec.encode(outcome))
        self._outbox.start(self._deliver(data))

    async def _deliver(self, data: bytes) -> None:
        try:
            await self._channel.send(data)
        except TransportError as error:
            self.closed(error)

    def _describe_timeout(self, method: str, timeout: float) -> str:
        text = f"The server did not answer {method} within {timeout:g} s"
        if self._strays:
            text += f"; what it sent instead: {' | '.join(self._strays)}"
        return text

    # -- in -----------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """One message from the channel."""
        incoming = codec.decode(data)
        if isinstance(incoming, Batch):
            for item in incoming.items:
                self._route(item, data)
        else:
            self._route(incoming, data)

    def closed(self, error: TransportError) -> None:
        """The channel is gone: nobody waits in vain."""
        if self._gone is not None:
            return
        if isinstance(error, SessionEndedError):
            if self.listener is not None:
                self.listener.on_session_ended()
            return
        self._gone = error
        for call in tuple(self._waiting.values()):
            if not call.answer.done():
                # One exception per waiter: a shared one would collect every traceback.
                call.answer.set_exception(TransportError(str(error)))
        if self.listener is not None:
            self.listener.on_closed(error)

    def stray(self, text: str) -> None:
        """Remember something the server sent that fits nowhere."""
        self._strays.append(text[:200])

    def _route(self, message: Message | Malformed, data: bytes) -> None:
        match message:
            case Response():
                self._answer(message, data)
            case Notification(method="notifications/progress"):
                self._tell_progress(message, data)
            case Notification():
                if self.listener is not None:
                    self.listener.on_notification(message)
            case Request():
                if self.listener is not None:
                    self.listener.on_request(message)
            case Malformed(error=error, id=id):
                call = None if id is None else self._waiting.get(id)
                if call is None or call.answer.done():
                    self.stray(data.decode(errors="replace"))
                else:
                    text = f"The answer to {call.method} is no JSON-RPC: {error.message}"
                    call.answer.set_exception(PeerError(text))

    def _answer(self, response: Response, data: bytes) -> None:
        call = self._find_call(response)
        if call is None or call.answer.done():
            # Late, or never asked for (2026-07-28 basic/patterns/cancellation): ignored.
            self.stray(data.decode(errors="replace"))
        elif response.result is not None:
            call.answer.set_result(response.result)
        else:
            assert response.error is not None
            call.answer.set_exception(_read_error(call.method, response.error))

    def _find_call(self, response: Response) -> PendingRequest | None:
        if response.id is not None:
            return self._waiting.get(response.id)
        # base.error.id-omitted-if-unreadable (2025-11-25 basic/index): an error without an
        # id is about a request the server could not read; with one waiting, it is that one.
        return next(iter(self._waiting.values())) if len(self._waiting) == 1 else None

    def _tell_progress(self, message: Notification, data: bytes) -> None:
        try:
            params = codec.decode_as(ProgressParams, message.params or b"{}")
        except msgspec.ValidationError:
            self.stray(data.decode(errors="replace"))
            return
        call = self._waiting.get(codec.encode_id(params.progress_token))
        if call is not None and call.progress is not None:
            task = asyncio.get_running_loop().create_task(resolve(call.progress, params))
            call.told.append(task)


def _read_error(method: str, raw: Raw) -> RpcError | PeerError:
    try:
        error = codec.decode_as(_WireError, raw)
    except msgspec.ValidationError as problem:
        return PeerError(f"The error that answers {method} does not fit JSON-RPC: {problem}")
    return RpcError.from_wire(error.code, error.message, error.data)


def time_limit(seconds: float) -> asyncio.Timeout:
    """`asyncio.timeout` that takes infinity for an answer."""
    return asyncio.timeout(None if seconds == math.inf else seconds)

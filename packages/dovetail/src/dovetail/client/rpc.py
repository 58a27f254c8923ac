"""JSON-RPC over one channel: request ids, timeouts, cancellation, progress.

This module knows JSON-RPC and the two notifications about a request (progress, cancelled). The
listener, one of the two eras, handles the other methods. Incoming messages are handled in the
order they arrive, so progress callbacks run before the call returns. Nothing that a server sends
raises here.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec import Raw, Struct

from dovetail.client.channel import Channel, SessionEndedError, StreamLostError
from dovetail.client.telemetry import Telemetry
from dovetail.core.telemetry import current_trace_context
from dovetail.errors import DovetailError, PeerError, RpcError, TransportError
from dovetail.net.background import BackgroundTasks, resolve
from dovetail.runtime.deadlines import time_limit
from dovetail.spec.keys import PROGRESS_TOKEN, TRACE_KEYS
from dovetail.spec.models import ProgressParams
from dovetail.spec.revisions import Revision
from dovetail.wire import codec
from dovetail.wire.messages import (
    Batch,
    Incoming,
    Malformed,
    Message,
    Notification,
    Request,
    Response,
)

__all__ = ["Listener", "PendingRequest", "ProgressCallback", "RpcConnection"]

ProgressCallback: TypeAlias = Callable[[ProgressParams], Awaitable[None] | None]

# Seconds for a request that reports progress, unless its own limit is longer: a server must not
# extend it for ever (2025-11-25 basic/lifecycle, timeouts).
_MAX_TOTAL = 3600.0
# Unexpected messages that are stored to explain a timeout.
_MAX_UNEXPECTED = 5
# Time for the last notifications, in both directions, before the channel closes.
_DRAIN_SECONDS = 0.5


class Listener(Protocol):
    """Receives the messages that the server sends on its own initiative."""

    @property
    def revision(self) -> Revision:
        """The revision that is spoken, or offered."""

    def on_notification(self, message: Notification) -> None:
        """Handle a notification. Progress notifications are not passed on."""

    def on_request(self, message: Request) -> None:
        """Handle a request from the server."""

    def on_session_ended(self) -> None:
        """Handle the end of the session while no request is pending."""

    def on_closed(self, error: TransportError) -> None:
        """Handle the end of the connection. Pending requests have failed already."""


class _WireError(Struct):
    code: int
    message: str
    data: Any = None


@dataclass(eq=False, slots=True)
class PendingRequest:
    """A request that is waiting for its response."""

    number: int
    # The id as JSON.
    id: bytes
    method: str
    response: asyncio.Future[Raw]
    progress: ProgressCallback | None = None
    progress_tasks: list[asyncio.Task[None]] = field(default_factory=list)
    # The time limit, which progress extends by its seconds, but not past `ends`.
    limit: time_limit | None = None
    seconds: float = math.inf
    ends: float = math.inf
    has_progress: bool = False
    # The task that sends it, if it is not the task that waits for the response.
    sending: asyncio.Task[None] | None = None

    def extend(self) -> None:
        """Start the time limit again: the server is at work."""
        self.has_progress = True
        # An infinite limit waits for a login.
        if self.limit is not None and self.limit.due < math.inf:
            rest = self.ends - asyncio.get_running_loop().time()
            self.limit.move(min(self.seconds, rest))


class RpcConnection:
    """Sends requests, matches responses, and passes everything else to its listener."""

    def __init__(self, channel: Channel, telemetry: Telemetry | None = None) -> None:
        self.listener: Listener | None = None
        # Callbacks that handle requests from the server.
        self.request_tasks: BackgroundTasks = BackgroundTasks()
        # Callbacks that handle log messages and list changes.
        self.notification_tasks: BackgroundTasks = BackgroundTasks()
        self._send_tasks = BackgroundTasks()
        # Long requests; over HTTP, sending one lasts as long as its response.
        self._stream_tasks = BackgroundTasks()
        self._channel = channel
        self._telemetry = telemetry
        # When the current session began; None without sessions.
        self._session_began: float | None = None
        self._numbers = count(1)
        self._pending: dict[bytes, PendingRequest] = {}
        self._close_error: TransportError | None = None
        self._unexpected: deque[str] = deque(maxlen=_MAX_UNEXPECTED)

    async def open(self) -> None:
        """Open the channel; raises TransportError."""
        await self._channel.open(self.receive, self.closed)

    async def close(self) -> None:
        """Close the channel; pending requests fail with TransportError."""
        await self.request_tasks.close()
        await self._stream_tasks.close()
        for unfinished in (self.notification_tasks, self._send_tasks):
            await unfinished.drain(_DRAIN_SECONDS)
            await unfinished.close()
        self._end_session()
        self.closed(TransportError("The client is closed"))
        await self._channel.close()

    def begin_session(self) -> None:
        """A handshake was successful; the session lasts until the next one or until `close`."""
        self._end_session()
        self._session_began = perf_counter()

    def _end_session(self) -> None:
        began, self._session_began = self._session_began, None
        if began is not None and self._telemetry is not None:
            duration = perf_counter() - began
            self._telemetry.end_session(duration, self._revision, self._channel)

    @property
    def _revision(self) -> str:
        # The listener is the era that makes the requests.
        assert self.listener is not None
        return self.listener.revision.date

    @property
    def is_closed(self) -> bool:
        """Whether no more requests can be sent."""
        return self._close_error is not None

    # -- out ----------------------------------------------------------------------------

    def check_open(self) -> None:
        """Raise TransportError if the connection is closed."""
        if self._close_error is not None:
            raise TransportError(str(self._close_error))

    def start(self, method: str, progress: ProgressCallback | None = None) -> PendingRequest:
        """Create a pending request; `send` sends it, `forget` abandons it."""
        self.check_open()
        response: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        number = next(self._numbers)
        call = PendingRequest(number, codec.encode_id(number), method, response, progress)
        self._pending[call.id] = call
        return call

    def send(self, call: PendingRequest, params: dict[str, Any] | None) -> Awaitable[None]:
        """Send a request that `start` created; to be awaited at once."""
        if call.progress is not None:
            # progress.token-type (2025-11-25 basic/utilities/progress): unique among the
            # active requests, which the request's own id is.
            params = params or {}
            params["_meta"] = {**params.get("_meta", {}), PROGRESS_TOKEN: call.number}
        params = _continue_trace(params)
        body = None if params is None else Raw(codec.encode(params))
        return self._channel.send_request(Request(call.id, call.method, body), params)

    def send_in_background(self, call: PendingRequest, params: dict[str, Any] | None) -> None:
        """Send a request without waiting, for calls with a long-lived response."""
        call.sending = self._stream_tasks.start(self._send_or_fail(call, params))

    async def _send_or_fail(self, call: PendingRequest, params: dict[str, Any] | None) -> None:
        try:
            await self.send(call, params)
        except (TransportError, PeerError) as error:
            _fail(call, error)

    def forget(self, call: PendingRequest, reason: str | None = None) -> None:
        """Stop waiting; with a reason, also send a cancellation to the server."""
        self._pending.pop(call.id, None)
        for task in call.progress_tasks:
            task.cancel()
        # Cancelling a task that awaits a future cancels the future: that is not a response.
        answered = call.response.done() and not call.response.cancelled()
        if answered:
            # Retrieve the exception, or asyncio logs that it was never retrieved.
            call.response.exception()
        call.response.cancel()
        if call.sending is not None:
            call.sending.cancel()
        # cancel.race (2025-11-25 basic/utilities/cancellation): only a request believed to be
        # in progress is cancelled.
        if reason is not None and not answered and self._close_error is None:
            params = codec.encode({"requestId": call.number, "reason": reason})
            notice = codec.encode_notification("notifications/cancelled", params)
            self._send_tasks.start(self._deliver(notice))

    async def request(
        self,
        method: str,
        params: dict[str, Any] | None,
        *,
        timeout: float,
        progress: ProgressCallback | None = None,
        cancellable: bool = True,
    ) -> Raw:
        """Send a request and wait for its result.

        Raises RpcError, PeerError, TransportError or TimeoutError.
        """
        call = self.start(method, progress)
        if self._telemetry is None:
            return await self._complete(call, params, timeout, cancellable)
        with self._telemetry.observe(
            method, params, call.number, self._revision, self._channel
        ) as observed:
            result = await self._complete(call, params, timeout, cancellable)
            observed.answered(result)
            return result

    async def _complete(
        self,
        call: PendingRequest,
        params: dict[str, Any] | None,
        timeout: float,
        cancellable: bool,
    ) -> Raw:
        reason: str | None = "The client no longer waits for the answer"
        try:
            # lifecycle.timeouts.set (2025-11-25 basic/lifecycle): every request has a timeout.
            if timeout == math.inf:
                return await self._wait_for_result(call, params)
            with time_limit(timeout) as call.limit:
                call.seconds = timeout
                now = asyncio.get_running_loop().time()
                call.ends = now + max(timeout, _MAX_TOTAL)
                return await self._wait_for_result(call, params)
        except TimeoutError:
            reason = f"No answer within {timeout:g} s"
            raise TimeoutError(self._describe_timeout(call, timeout)) from None
        except DovetailError:
            # It was answered, or it never arrived: there is nothing to cancel.
            reason = None
            raise
        finally:
            # lifecycle.timeouts.cancel (2025-11-25 basic/lifecycle): a sender that gives up
            # sends a cancellation, except for `initialize`.
            self.forget(call, reason if cancellable else None)

    async def _wait_for_result(self, call: PendingRequest, params: dict[str, Any] | None) -> Raw:
        try:
            await self.send(call, params)
        except (TransportError, PeerError) as error:
            _fail(call, error)
        channel_waited = self._channel.waits_for_response and not self.notification_tasks.is_busy
        if call.response.done() and not channel_waited:
            # Callbacks run before the call returns: let those that were started meanwhile run.
            await asyncio.sleep(0)
        result = await call.response
        if call.progress_tasks:
            await asyncio.gather(*call.progress_tasks)
        return result

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification."""
        body = None if params is None else codec.encode(params)
        await self._channel.send(codec.encode_notification(method, body))

    def respond(self, id: bytes, outcome: dict[str, Any] | RpcError) -> None:
        """Answer a request from the server; does nothing if the connection is closed."""
        if isinstance(outcome, RpcError):
            data = codec.encode_error(id, outcome)
        else:
            data = codec.encode_result(id, codec.encode(outcome))
        self._send_tasks.start(self._deliver(data))

    async def _deliver(self, data: bytes) -> None:
        try:
            await self._channel.send(data)
        except TransportError as error:
            self.closed(error)

    def _describe_timeout(self, call: PendingRequest, timeout: float) -> str:
        since = " of its last progress" if call.has_progress else ""
        text = f"The server did not answer {call.method} within {timeout:g} s{since}"
        if self._unexpected:
            text += f"; it sent instead: {' | '.join(self._unexpected)}"
        return text

    # -- in -----------------------------------------------------------------------------

    def receive(self, data: bytes, message: Incoming | None = None) -> None:
        """Handle one message from the channel."""
        incoming = codec.decode(data) if message is None else message
        if isinstance(incoming, Response):
            self._handle_response(incoming, data)
        elif isinstance(incoming, Batch):
            for item in incoming.items:
                self._route(item, data)
        else:
            self._route(incoming, data)

    def closed(self, error: TransportError) -> None:
        """Handle the end of the channel or of its session or stream."""
        if self._close_error is not None:
            return
        if isinstance(error, SessionEndedError):
            if self.listener is not None:
                self.listener.on_session_ended()
            return
        if not isinstance(error, StreamLostError):
            self._close_error = error
            self._fail_pending(error)
        elif error.carries_responses:
            self._fail_pending(error)
        if self.listener is not None:
            self.listener.on_closed(error)

    def _fail_pending(self, error: TransportError) -> None:
        for call in tuple(self._pending.values()):
            if not call.response.done():
                # One exception per request: a shared one would collect every traceback.
                call.response.set_exception(TransportError(str(error)))

    def note_unexpected(self, text: str) -> None:
        """Keep an unexpected message for the text of a timeout error."""
        self._unexpected.append(text[:200])

    def _route(self, message: Message | Malformed, data: bytes) -> None:
        match message:
            case Response():
                self._handle_response(message, data)
            case Notification(method="notifications/progress"):
                self._handle_progress(message, data)
            case Notification():
                if self.listener is not None:
                    self.listener.on_notification(message)
            case Request():
                if self.listener is not None:
                    self.listener.on_request(message)
            case Malformed(error=error, id=id):
                call = None if id is None else self._pending.get(id)
                if call is None or call.response.done():
                    self.note_unexpected(data.decode(errors="replace"))
                else:
                    text = f"The response to {call.method} is not valid JSON-RPC: {error.message}"
                    call.response.set_exception(PeerError(text))

    def _handle_response(self, response: Response, data: bytes) -> None:
        call = self._find_call(response)
        if call is None or call.response.done():
            # Late, or not requested (2026-07-28 basic/patterns/cancellation): ignored.
            self.note_unexpected(data.decode(errors="replace"))
        elif response.result is not None:
            call.response.set_result(response.result)
        else:
            assert response.error is not None
            call.response.set_exception(_read_error(call.method, response.error))

    def _find_call(self, response: Response) -> PendingRequest | None:
        if response.id is not None:
            return self._pending.get(response.id)
        # base.error.id-omitted-if-unreadable (2025-11-25 basic/index): an error without an
        # id is about a request that the server could not read. If one request is pending, it
        # is that one.
        return next(iter(self._pending.values())) if len(self._pending) == 1 else None

    def _handle_progress(self, message: Notification, data: bytes) -> None:
        try:
            params = codec.decode_as(ProgressParams, message.params or b"{}")
        except msgspec.ValidationError:
            self.note_unexpected(data.decode(errors="replace"))
            return
        call = self._pending.get(codec.encode_id(params.progress_token))
        if call is not None and call.progress is not None:
            call.extend()
            task = asyncio.get_running_loop().create_task(resolve(call.progress, params))
            call.progress_tasks.append(task)


def _continue_trace(params: dict[str, Any] | None) -> dict[str, Any] | None:
    """The params with the trace context of the current span, unless they have one."""
    # base.meta.trace-context (2026-07-28 basic/index): W3C trace context
    context = current_trace_context()
    meta = {} if params is None else params.get("_meta", {})
    if not context or any(name in meta for name in TRACE_KEYS):
        return params
    return {**(params or {}), "_meta": {**context, **meta}}


def _fail(call: PendingRequest, error: Exception) -> None:
    # A response, or closing the client, gives a better reason than this error.
    if not call.response.done():
        call.response.set_exception(error)


def _read_error(method: str, raw: Raw) -> RpcError | PeerError:
    try:
        error = codec.decode_as(_WireError, raw)
    except msgspec.ValidationError as problem:
        return PeerError(f"The error response to {method} is not valid JSON-RPC: {problem}")
    return RpcError.from_wire(error.code, error.message, error.data)

"""One POST of a legacy client, from what it says to its answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from dovetail.core.call import Call
from dovetail.core.principal import Principal
from dovetail.eras.select import id_in_use, no_batches
from dovetail.errors import InternalError, RpcError
from dovetail.features.cancellation import read_cancellation
from dovetail.runtime.engine import Engine
from dovetail.runtime.one_shot import ResponseOnlyLink
from dovetail.spec.revisions import Revision
from dovetail.transports.streamable_http.asgi import (
    JSON,
    HttpResponse,
    PendingResponse,
    RequestView,
    respond,
)
from dovetail.transports.streamable_http.legacy.session import HttpSession, InFlight
from dovetail.transports.streamable_http.legacy.streams import AnswerOnlyOutbox, CallOutbox
from dovetail.transports.streamable_http.refusals import find_refusal
from dovetail.transports.streamable_http.reply import Reply
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Incoming, Malformed, Notification, Request, Response

__all__ = ["Exchange"]

logger = logging.getLogger("dovetail")

# Requests of one session, or of one batch without a session, that wait for their answers. No
# assistant has so many; the limits of the server (concurrency, queue) are for all clients
# together, and one must not use them up.
_MOST_CALLS = 1000


class Exchange:
    """One POST of a session, from message to answer."""

    def __init__(
        self,
        engine: Engine,
        request: RequestView,
        session: HttpSession | None,
        principal: Principal | None,
        *,
        streams: bool,
    ) -> None:
        """Without `streams` the answer is all that the client gets to hear."""
        self._engine = engine
        self._streams = streams
        self._request = request
        self._session = session
        self._link = ResponseOnlyLink(messages=streams) if session is None else session
        self._calls: dict[bytes, InFlight] = {} if session is None else session.calls
        self._principal = principal

    def begin(self, message: Request, revision: Revision) -> PendingResponse:
        """Answer one request, or begin to."""
        if len(self._calls) >= _MOST_CALLS:
            error = codec.encode_error(message.id, _too_many())
            return HttpResponse(429, error, [*JSON, (b"retry-after", b"1")])
        call = self._open(message, revision)
        if not isinstance(call, Call):
            return HttpResponse(200, codec.encode_error(message.id, call))
        reply = Reply(self._request.transmit, streams=self._streams)
        outbox = self._outbox(reply, revision)
        self._engine.equip(call, outbox, self._link, self._request, self._principal)
        answer = self._engine.dispatcher.answer(call)
        if isinstance(answer, bytes) and outbox.is_silent:
            # What a handler has left behind may talk on; nobody listens any more.
            call.over = True
            refusal = None if call.failure is None else find_refusal(call)
            if refusal is not None:
                return HttpResponse(refusal[0], answer, refusal[1])
            return HttpResponse(200, answer)
        in_flight = self._calls[call.id] = InFlight(call)
        return self._go_on(in_flight, answer, reply, outbox)

    async def _go_on(
        self,
        in_flight: InFlight,
        answer: bytes | Coroutine[Any, Any, bytes],
        reply: Reply,
        outbox: CallOutbox,
    ) -> None:
        """The rest of a request that waits for something or has spoken."""
        try:
            body = await self._run(in_flight, answer)
        except asyncio.CancelledError:
            outbox.stop()
            raise
        finally:
            del self._calls[in_flight.call.id]
        await self._finish([body] if body else [], reply, outbox, False)

    async def take(self, message: Incoming, revision: Revision) -> None:
        """Answer whatever came."""
        if isinstance(message, Batch):
            if not revision.batching:
                error = codec.encode_error(revision.unreadable_id, no_batches())
                await respond(self._request.transmit, 400, error, JSON)
                return
            await self._answer(list(message.items), revision, is_batch=True)
        elif isinstance(message, Malformed):
            error = codec.encode_error(message.id or revision.unreadable_id, message.error)
            await respond(self._request.transmit, 400, error, JSON)
        else:
            await self._answer([message], revision, is_batch=False)

    async def _answer(self, items: list[Any], revision: Revision, *, is_batch: bool) -> None:
        reply = Reply(self._request.transmit, streams=self._streams)
        outbox = self._outbox(reply, revision)
        answers: list[bytes] = []
        calls: list[InFlight] = []
        try:
            self._take_all(items, revision, outbox, answers, calls)
            if len(calls) == 1:
                answers.append(await self._run(calls[0]))
            elif calls:
                # batch.http.all-answered (2025-03-26 basic/transports): each in a task of its own
                answers += await asyncio.gather(*map(self._run, calls))
        except asyncio.CancelledError:
            outbox.stop()
            raise
        finally:
            # Here and not where they run: a task that is cancelled early never runs at all.
            for in_flight in calls:
                del self._calls[in_flight.call.id]
        await self._finish([answer for answer in answers if answer], reply, outbox, is_batch)

    async def _finish(
        self, answers: list[bytes], reply: Reply, outbox: CallOutbox, is_batch: bool
    ) -> None:
        if answers:
            await outbox.finish(answers, is_batch=is_batch)
        elif reply.is_stream:
            outbox.stop()
            await reply.end()
        else:
            # http.post.notification-202, http.post.notification-empty; also for a request that
            # was cancelled: the specification forbids an answer, HTTP demands a response
            await respond(self._request.transmit, 202)

    def _outbox(self, reply: Reply, revision: Revision) -> CallOutbox:
        kept = self._session
        if kept is None:
            return CallOutbox(None, reply, primes=False)
        if not self._streams:
            channel = kept.session.back_channel if kept.session is not None else None
            return AnswerOnlyOutbox(reply, channel.resolve if channel is not None else None)
        return CallOutbox(kept.new_stream, reply, primes=revision.priming_events)

    def _take_all(
        self,
        items: list[Any],
        revision: Revision,
        outbox: CallOutbox,
        answers: list[bytes],
        calls: list[InFlight],
    ) -> None:
        """Sort what was said into answers that are ready and calls that are to be run."""
        ids: set[bytes] = set()
        for item in items:
            if isinstance(item, Request):
                opened = id_in_use(item.id) if item.id in ids else self._open(item, revision)
                ids.add(item.id)
                if isinstance(opened, Call):
                    self._engine.equip(opened, outbox, self._link, self._request, self._principal)
                    calls.append(self._calls.setdefault(item.id, InFlight(opened)))
                else:
                    answers.append(codec.encode_error(item.id, opened))
            elif isinstance(item, Malformed):
                answers.append(codec.encode_error(item.id or revision.unreadable_id, item.error))
            elif isinstance(item, Notification):
                self._notified(item)
            else:
                self._responded(item)

    def _open(self, message: Request, revision: Revision) -> Call | RpcError:
        if message.id in self._calls:
            return id_in_use(message.id)
        if len(self._calls) >= _MOST_CALLS:
            return _too_many()
        session = self._session.session if self._session is not None else None
        return self._engine.eras.open(message, session, self._principal, revision)

    async def _run(
        self, in_flight: InFlight, answer: bytes | Coroutine[Any, Any, bytes] | None = None
    ) -> bytes:
        """The answer, begun already or not; nothing, if the client has taken the request back."""
        call = in_flight.call
        task = in_flight.task = asyncio.current_task()
        if call.cancelled:
            if answer is None:
                return b""
            # Taken back after its first step and before its second: it is told there.
            assert task is not None
            task.cancel()
        try:
            if answer is None:
                answer = self._engine.dispatcher.answer(call)
            if not isinstance(answer, bytes):
                answer = await answer
            if not call.over:
                return answer
            return _lost(call) if in_flight.is_lost else b""
        except asyncio.CancelledError:
            if task is not None and call.over and task.uncancel() == 0:
                return _lost(call) if in_flight.is_lost else b""
            raise
        finally:
            call.over = True

    def _notified(self, message: Notification) -> None:
        kept = self._session
        if kept is None or kept.session is None:
            return
        if message.method == "notifications/initialized":
            kept.session.ready = True
        elif message.method == "notifications/cancelled":
            cancellation = read_cancellation(message)
            in_flight = kept.calls.get(cancellation.id) if cancellation is not None else None
            if in_flight is not None:
                in_flight.withdraw()

    def _responded(self, message: Response) -> None:
        kept = self._session
        channel = kept.session.back_channel if kept and kept.session else None
        if channel is None or not channel.resolve(message):
            logger.debug("ignored a response to nothing that was asked")


def _lost(call: Call) -> bytes:
    return codec.encode_error(
        call.id, InternalError("The session has ended, and the call with it; begin again")
    )


def _too_many() -> RpcError:
    return InternalError(
        f"There are {_MOST_CALLS:,} requests of this client that are not answered yet; more are "
        "not taken now"
    )

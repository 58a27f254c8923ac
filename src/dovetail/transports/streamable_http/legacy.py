"""Streamable HTTP of 2025-03-26 to 2025-11-25: sessions, streams that can be picked up again.

A session begins with the answer to initialize and ends with DELETE, with time, or with the
server. Each POST of a request is answered by plain JSON, or by a stream once its handler says
something first; requests to the client travel on that same stream. Messages that belong to no
request travel on the stream that a GET has opened. Events have ids, so a stream whose
connection broke is picked up with GET and Last-Event-ID; a broken connection cancels nothing.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from dovetail.core.call import Call
from dovetail.eras.select import Session, announce, no_batches
from dovetail.errors import InternalError, InvalidRequestError, LimitError, RpcError
from dovetail.features.cancellation import read_cancellation
from dovetail.features.subscriptions import Change
from dovetail.runtime.engine import Engine
from dovetail.spec.models import InitializeParams
from dovetail.spec.revisions import HEADERLESS, Family, Revision, find_revision
from dovetail.stores.events import EventLog, MemoryEventLog
from dovetail.stores.sessions import MemorySessions
from dovetail.transports.streamable_http.asgi import (
    JSON,
    Headers,
    HttpRequest,
    respond,
    watch_for_disconnect,
)
from dovetail.transports.streamable_http.reply import Reply
from dovetail.wire import codec
from dovetail.wire.framing import encode_sse
from dovetail.wire.messages import Batch, Incoming, Malformed, Notification, Request, Response

__all__ = ["HttpSession", "LegacyEndpoint"]

logger = logging.getLogger("dovetail")

SESSION_ID = b"mcp-session-id"
LAST_EVENT_ID = b"last-event-id"

# Streams of one session that are kept for being picked up again, and bytes kept of each.
_MOST_STREAMS = 32
_MOST_KEPT = 1024 * 1024


class HttpSession:
    """A legacy session on HTTP, and the streams it has."""

    __slots__ = (
        "calls", "engine", "general", "id", "next_stream", "principal", "session", "streams",
        "unsubscribe",
    )  # fmt: skip

    def __init__(self, engine: Engine, principal: str | None) -> None:
        self.engine = engine
        self.principal = principal
        self.id = ""
        self.session: Session | None = None
        # Calls in flight, for notifications/cancelled, which comes as a request of its own.
        self.calls: dict[bytes, tuple[Call, asyncio.Task[Any]]] = {}
        # Streams that may be picked up again, oldest first.
        self.streams: OrderedDict[str, Stream] = OrderedDict()
        self.next_stream = 0
        # Where messages go that belong to no request: the stream of the latest GET.
        self.general: Stream | None = None
        self.unsubscribe: Callable[[], None] | None = None

    def start_session(self, revision: Revision, params: InitializeParams) -> None:
        """What initialize settled; called by the era."""
        self.session = self.engine.eras.new_session(revision, params)

    def new_stream(self, reply: Reply) -> Stream:
        """A stream of this session, kept for a while after its connection is gone."""
        self.next_stream += 1
        name = f"{self.next_stream}"
        stream = self.streams[name] = Stream(MemoryEventLog(name, _MOST_KEPT), reply)
        if len(self.streams) > _MOST_STREAMS:
            self._forget_one()
        return stream

    def _forget_one(self) -> None:
        # One that still has something to say is never forgotten; those are as many as there
        # are calls, and one more.
        for name, stream in self.streams.items():
            if stream.finished:
                del self.streams[name]
                stream.detach()
                return

    def open_general(self, reply: Reply) -> Stream:
        """The stream of a GET: from now on it carries what belongs to no request."""
        # http.multi.one-stream: never two streams with the same message
        if self.general is not None:
            self.general.finished = True
        self.general = self.new_stream(reply)
        if self.session is not None and self.session.revision.priming_events:
            self.general.prime()
        if self.unsubscribe is None:
            self.unsubscribe = self._subscribe(asyncio.get_running_loop())
        return self.general

    def _subscribe(self, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
        """Hear of changes, which may come from any thread; streams belong to the loop."""

        def heard(change: Change) -> None:
            if loop.is_closed():
                # It ended without ending its sessions; whoever publishes is not to blame.
                unsubscribe()
            else:
                loop.call_soon_threadsafe(self.hear, change)

        unsubscribe = self.engine.bus.subscribe(heard)
        return unsubscribe

    def pick_up(self, last_event_id: bytes, reply: Reply) -> Stream | None:
        """The stream of this event, going on with another connection."""
        # http.resume.same-stream: an id names its stream
        name = last_event_id.decode("latin-1").rpartition("_")[0]
        stream = self.streams.get(name)
        return stream if stream is not None and stream.move_to(reply, last_event_id) else None

    def say(self, message: bytes) -> None:
        """Send a message that belongs to no request."""
        if self.general is not None:
            self.general.send(message)

    def hear(self, change: Change) -> None:
        """Tell the client of a change, if it listens."""
        if self.session is not None:
            message = announce(change, self.session)
            if message is not None:
                self.say(message)

    @property
    def is_busy(self) -> bool:
        """Whether something of this session is going on."""
        return bool(self.calls) or any(stream.is_open for stream in self.streams.values())

    def end(self) -> None:
        """End whatever goes on."""
        if self.unsubscribe is not None:
            self.unsubscribe()
        for call, task in self.calls.values():
            call.cancelled = call.over = True
            task.cancel()
        for stream in self.streams.values():
            stream.detach()
        if self.session is not None and self.session.back_channel is not None:
            self.session.back_channel.close()


class Stream:
    """One stream of events: a log, and the connection that carries it at the moment, if any."""

    __slots__ = ("finished", "log", "reply")

    def __init__(self, log: EventLog, reply: Reply) -> None:
        self.log = log
        self.reply: Reply | None = reply
        # Everything that will ever be on the stream has been said.
        self.finished = False

    @property
    def is_open(self) -> bool:
        """Whether a connection carries it now."""
        return self.reply is not None

    def prime(self) -> None:
        """Give the client an id to come back with before there is anything to say."""
        # http.sse.prime (2025-11-25 basic/transports)
        if self.reply is not None:
            self.reply.raw(encode_sse(b"", id=self.log.append(b"")))

    def send(self, message: bytes, *, is_answer: bool = False) -> None:
        """Say something on the stream, or keep it for the next connection."""
        id = self.log.append(message)
        if self.reply is not None:
            self.reply.event(message, id=id, is_answer=is_answer)

    def move_to(self, reply: Reply, last_event_id: bytes) -> bool:
        """Go on with another connection, from after an event; False if that is not known."""
        missed = self.log.after(last_event_id)
        if missed is None:
            return False
        self.detach()
        self.reply = reply
        for id, message in missed:
            if message:
                reply.raw(encode_sse(message, event=b"message", id=id))
        return True

    def detach(self, retry_ms: int | None = None) -> None:
        """Let go of the connection; the stream itself goes on."""
        if self.reply is not None:
            if retry_ms is not None:
                # http.sse.retry (2025-11-25 basic/transports): say when to come back
                self.reply.raw(encode_sse(b"", retry=retry_ms))
            self.reply.stop()
            self.reply = None


class CallOutbox:
    """The outbox of one POST: opens a stream when its handler speaks before it answers."""

    __slots__ = ("_loop", "_primes", "_reply", "_session", "_thread", "stream")

    def __init__(self, session: HttpSession | None, reply: Reply, primes: bool) -> None:
        self._session = session
        self._reply = reply
        self._primes = primes
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self.stream: Stream | None = None

    def send(self, message: bytes) -> None:
        """Say something before the answer; from any thread."""
        if threading.get_ident() == self._thread:
            self._say(message)
        else:
            self._loop.call_soon_threadsafe(self._say, message)

    def _say(self, message: bytes, *, is_answer: bool = False) -> None:
        if self._session is None:
            self._reply.event(message, is_answer=is_answer)
            return
        if self.stream is None:
            self.stream = self._session.new_stream(self._reply)
            if self._primes:
                self.stream.prime()
        self.stream.send(message, is_answer=is_answer)

    async def drain(self) -> None:
        """Let a slow reader catch up."""
        await self._reply.drain()

    def disconnect(self, retry_ms: int) -> None:
        """Close the connection and let the client come back for the rest; from any thread.

        Clients of revisions without priming events do not expect this and would lose the answer.
        """
        if self._session is None or not self._primes:
            return
        if threading.get_ident() == self._thread:
            self._let_go(self._session, retry_ms)
        else:
            self._loop.call_soon_threadsafe(self._let_go, self._session, retry_ms)

    def _let_go(self, session: HttpSession, retry_ms: int) -> None:
        if self.stream is None:
            self.stream = session.new_stream(self._reply)
            self.stream.prime()
        self.stream.detach(retry_ms)

    async def finish(self, answers: list[bytes], *, is_batch: bool) -> None:
        """Answer, on the stream if there is one."""
        if self.stream is None and not self._reply.is_stream:
            await self._reply.finish(codec.encode_batch(answers) if is_batch else answers[0])
            return
        for answer in answers:
            self._say(answer, is_answer=True)
        self.stop()
        await self._reply.end()

    def stop(self) -> None:
        """Nothing more will be said, on whichever connection the stream is by now."""
        if self.stream is not None:
            self.stream.finished = True
            self.stream.detach()
        self._reply.stop()


class LegacyEndpoint:
    """Serves the clients that shake hands."""

    def __init__(
        self,
        engine: Engine,
        *,
        max_sessions: int,
        session_lifetime: float,
        stateless: bool,
        streaming: bool,
    ) -> None:
        self._engine = engine
        self._stateless = stateless
        self._streaming = streaming
        self.sessions: MemorySessions[HttpSession] = MemorySessions(
            max_sessions, session_lifetime, is_busy=lambda session: session.is_busy
        )

    # -- POST -------------------------------------------------------------------------------

    async def post(
        self, request: HttpRequest, message: Incoming, scope: Any, principal: str | None
    ) -> None:
        """Take one message or a batch."""
        for expired in self.sessions.expire():
            expired.end()
        if isinstance(message, Request) and message.method == "initialize":
            await self._initialize(request, message, scope, principal)
            return
        found = self._find(request.headers, principal)
        if isinstance(found, tuple):
            status, text = found
            id = message.id if isinstance(message, Request | Malformed) else None
            error = codec.encode_error(id, InvalidRequestError(text))
            await respond(request.transmit, status, error, JSON)
            return
        exchange = _Exchange(
            self._engine, request, found, scope, principal, streaming=self._streaming
        )
        await exchange.take(message, self._revision(request.headers, found))

    def _find(
        self, headers: dict[bytes, bytes], principal: str | None
    ) -> HttpSession | tuple[int, str] | None:
        """The session of a request, None where none is needed, or why it is refused."""
        version = headers.get(b"mcp-protocol-version")
        if version is not None:
            revision = find_revision(version.strip().decode("latin-1"))
            if revision is None or revision.family is not Family.LEGACY:
                # http.version-header.invalid-400 (2025-06-18 basic/transports)
                return 400, f"Unsupported MCP-Protocol-Version {version.decode('latin-1')[:50]!r}"
        if self._stateless:
            return None
        id = headers.get(SESSION_ID)
        if id is None:
            # http.session.missing-400 (2025-11-25 basic/transports)
            return 400, "Mcp-Session-Id is missing; begin with initialize"
        session = self.sessions.get(id.decode("latin-1"))
        if session is None or session.principal != principal:
            # http.session.ended-404: also for somebody else's session, which is none of theirs
            return 404, "There is no such session (any more); begin again with initialize"
        return session

    def _revision(self, headers: dict[bytes, bytes], session: HttpSession | None) -> Revision:
        if session is not None and session.session is not None:
            return session.session.revision
        version = headers.get(b"mcp-protocol-version", b"")
        # http.version-header.default (2025-11-25 basic/transports)
        return find_revision(version.strip().decode("latin-1")) or HEADERLESS

    async def _initialize(
        self, request: HttpRequest, message: Request, scope: Any, principal: str | None
    ) -> None:
        session = HttpSession(self._engine, principal)
        call = self._engine.eras.open(message, None, principal)
        headers: Headers = []
        if isinstance(call, RpcError):
            answer = codec.encode_error(message.id, call)
        else:
            outbox = CallOutbox(None, Reply(request.transmit), primes=False)
            self._engine.equip(call, outbox, session, scope, principal)
            said = self._engine.dispatcher.answer(call)
            answer = said if isinstance(said, bytes) else await said
        if session.session is not None and not self._stateless:
            try:
                session.id = self.sessions.add(session)
            except LimitError as full:
                error = codec.encode_error(message.id, InternalError(str(full)))
                await respond(request.transmit, 503, error, [*JSON, (b"retry-after", b"60")])
                return
            # http.session.assign (2025-11-25 basic/transports)
            headers = [(SESSION_ID, session.id.encode())]
        await respond(request.transmit, 200, answer, JSON + headers)

    # -- GET and DELETE ---------------------------------------------------------------------

    async def get(self, request: HttpRequest, principal: str | None) -> None:
        """Open the stream for messages of no request, or pick a broken one up again."""
        found = self._find(request.headers, principal)
        if not isinstance(found, HttpSession):
            # http.get.sse-or-405: without sessions there is nothing to listen to
            status, text = found or (405, "GET needs a session; this server keeps none")
            await respond(
                request.transmit, status, codec.encode_error(None, InvalidRequestError(text)), JSON
            )
            return
        reply = Reply(request.transmit)
        last_event_id = request.headers.get(LAST_EVENT_ID)
        if last_event_id is None:
            stream = found.open_general(reply)
        else:
            picked_up = found.pick_up(last_event_id, reply)
            if picked_up is None:
                text = "Last-Event-ID names no stream of this session that is still kept"
                error = codec.encode_error(None, InvalidRequestError(text))
                await respond(request.transmit, 400, error, JSON)
                return
            stream = picked_up
        reply.open()
        watch = watch_for_disconnect(request.receive, reply.stop)
        try:
            if stream.finished:
                stream.detach()
            await reply.written()
        finally:
            watch.cancel()
            if stream.reply is reply:
                stream.reply = None

    async def delete(self, request: HttpRequest, principal: str | None) -> None:
        """End a session."""
        found = self._find(request.headers, principal)
        if not isinstance(found, HttpSession):
            status, text = found or (405, "This server keeps no sessions")
            await respond(
                request.transmit, status, codec.encode_error(None, InvalidRequestError(text)), JSON
            )
            return
        self.sessions.remove(found.id)
        found.end()
        await respond(request.transmit, 204)

    def close(self) -> None:
        """End all sessions."""
        for session in self.sessions:
            self.sessions.remove(session.id)
            session.end()


class _Exchange:
    """One POST of a session, from message to answer."""

    def __init__(
        self,
        engine: Engine,
        request: HttpRequest,
        session: HttpSession | None,
        scope: Any,
        principal: str | None,
        *,
        streaming: bool,
    ) -> None:
        self._engine = engine
        self._streaming = streaming
        self._request = request
        self._session = session
        self._scope = scope
        self._principal = principal

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
        reply = Reply(self._request.transmit, streams=self._streaming)
        outbox = CallOutbox(self._session, reply, primes=revision.priming_events)
        answers: list[bytes] = []
        calls: list[Call] = []
        for item in items:
            if isinstance(item, Request):
                opened = self._open(item, revision, outbox)
                if isinstance(opened, Call):
                    calls.append(opened)
                else:
                    answers.append(opened)
            elif isinstance(item, Malformed):
                answers.append(codec.encode_error(item.id or revision.unreadable_id, item.error))
            elif isinstance(item, Notification):
                self._notified(item)
            else:
                self._responded(item)
        try:
            if len(calls) == 1:
                answers.append(await self._run(calls[0]))
            elif calls:
                # batch.http.all-answered (2025-03-26 basic/transports): each in a task of its own
                answers += await asyncio.gather(*map(self._run, calls))
        except asyncio.CancelledError:
            outbox.stop()
            raise
        answers = [answer for answer in answers if answer]
        if answers:
            await outbox.finish(answers, is_batch=is_batch)
        elif reply.is_stream:
            outbox.stop()
            await reply.end()
        else:
            # http.post.notification-202, http.post.notification-empty; also for a request that
            # was cancelled: the specification forbids an answer, HTTP demands a response
            await respond(self._request.transmit, 202)

    def _open(self, message: Request, revision: Revision, outbox: CallOutbox) -> bytes | Call:
        kept = self._session
        if kept is not None and message.id in kept.calls:
            error = InvalidRequestError(
                f"Invalid request: id {message.id.decode()[:100]} is in use by a request that is "
                "not answered yet"
            )
            return codec.encode_error(message.id, error)
        session = kept.session if kept is not None else None
        call = self._engine.eras.open(message, session, self._principal, revision)
        if isinstance(call, RpcError):
            return codec.encode_error(message.id, call)
        self._engine.equip(call, outbox, kept, self._scope, self._principal)
        return call

    async def _run(self, call: Call) -> bytes:
        """The answer; nothing, if the client has taken the request back."""
        task = asyncio.current_task()
        kept = self._session
        if kept is not None and task is not None:
            kept.calls[call.id] = (call, task)
        try:
            answer = self._engine.dispatcher.answer(call)
            if not isinstance(answer, bytes):
                answer = await answer
            return b"" if call.over else answer
        except asyncio.CancelledError:
            if task is not None and call.over and task.uncancel() == 0:
                return b""
            raise
        finally:
            call.over = True
            if kept is not None:
                kept.calls.pop(call.id, None)

    def _notified(self, message: Notification) -> None:
        kept = self._session
        if kept is None or kept.session is None:
            return
        if message.method == "notifications/initialized":
            kept.session.ready = True
        elif message.method == "notifications/cancelled":
            cancellation = read_cancellation(message)
            running = kept.calls.get(cancellation.id) if cancellation is not None else None
            if running is not None:
                call, task = running
                call.cancelled = call.over = True
                task.cancel()

    def _responded(self, message: Response) -> None:
        kept = self._session
        channel = kept.session.back_channel if kept and kept.session else None
        if channel is None or not channel.resolve(message):
            logger.debug("ignored a response to nothing that was asked")

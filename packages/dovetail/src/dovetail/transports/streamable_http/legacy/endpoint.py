"""POST, GET and DELETE of legacy clients: finds the session and maps messages to HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from dovetail.core.call import Call
from dovetail.core.link import ClientChannels
from dovetail.core.principal import Principal, owner_of
from dovetail.errors import InternalError, InvalidRequestError, LimitError, RpcError
from dovetail.runtime.engine import Engine
from dovetail.runtime.link import ResponseOnlyLink
from dovetail.runtime.message_handler import (
    MessageHandler,
    StatelessHandler,
    finish_batch,
)
from dovetail.spec.revisions import HEADERLESS, LEGACY, Family, Revision, find_revision
from dovetail.transports.asgi.in_flight import HttpCounts
from dovetail.transports.asgi.messages import (
    JSON,
    HttpRequest,
    HttpResponse,
    PendingResponse,
    RequestView,
    accepts,
    error_status,
    respond,
    watch_for_disconnect,
)
from dovetail.transports.asgi.reply import Reply
from dovetail.transports.streamable_http.legacy.memory_sessions import MemorySessions
from dovetail.transports.streamable_http.legacy.post_link import (
    JsonPostLink,
    PostLink,
    SessionPostLink,
    StatelessPostLink,
)
from dovetail.transports.streamable_http.legacy.session import HttpSession
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Incoming, Malformed, Notification, Request

__all__ = ["LAST_EVENT_ID", "SESSION_ID", "UNKNOWN", "LegacyEndpoint"]

SESSION_ID = b"mcp-session-id"
LAST_EVENT_ID = b"last-event-id"
_VERSION = b"mcp-protocol-version"
UNKNOWN = 404, "There is no such session, or it has expired; send initialize again"
_SUPPORTED = frozenset(revision.date.encode() for revision in LEGACY)


class LegacyEndpoint:
    """Serves POST, GET and DELETE of legacy clients."""

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
        self.is_stateless = stateless
        self._streaming = streaming
        self._stateless_handlers: dict[Revision, StatelessHandler] = {}
        self._response_only = ResponseOnlyLink(
            channels=ClientChannels(changes=False, messages=streaming)
        )
        self.sessions: MemorySessions[HttpSession] = MemorySessions(
            max_sessions, session_lifetime, is_busy=lambda session: session.is_busy
        )

    # -- POST -------------------------------------------------------------------------------

    def begin(
        self, request: RequestView, message: Incoming, principal: Principal | None
    ) -> PendingResponse:
        """Return the response to a message or batch, or a coroutine that writes it."""
        if isinstance(message, Request) and message.method == "initialize":
            return self._initialize(request, message, principal)
        found = self._find(request.headers, principal)
        if isinstance(found, tuple):
            return self._refuse(request, *found, message)
        return self._begin(request, message, principal, found)

    def _begin(
        self,
        request: RequestView,
        message: Incoming,
        principal: Principal | None,
        found: HttpSession | None,
    ) -> PendingResponse:
        handler: MessageHandler = (
            self._stateless_handler(request.headers) if found is None else found.handler
        )
        if isinstance(message, Request):
            call = handler.open(message, principal)
            if isinstance(call, RpcError):
                status, headers = error_status(call)
                return HttpResponse(status, codec.encode_error(message.id, call), headers)
            link = self._link(request, found, handler, message)
            answer = handler.start(call, link, request)
            if not isinstance(answer, bytes) or not link.is_silent:
                return self._finish(call, link, answer)
            if call.failure is None:
                return HttpResponse(200, answer)
            status, headers = error_status(call.refusal)
            return HttpResponse(status, answer, headers)
        if isinstance(message, Batch):
            refusal = handler.refuse_batch()
            if refusal is not None:
                return HttpResponse(400, refusal)
            link = self._link(request, found, handler, message)
            return self._finish_batch(link, *handler.start_batch(message, link, request, principal))
        if isinstance(message, Malformed):
            return HttpResponse(400, handler.refuse_malformed(message))
        if isinstance(message, Notification):
            handler.notify(message)
        else:
            handler.resolve(message)
        # http.post.notification-202, http.post.notification-empty
        return HttpResponse(202, b"", [])

    def _link(
        self,
        request: RequestView,
        session: HttpSession | None,
        handler: MessageHandler,
        message: Request | Batch,
    ) -> PostLink:
        # http.accept.406: a client must accept both, but one that accepts only JSON still gets the
        # response; messages before it are dropped
        streams = self._streaming and accepts(request.headers.get(b"accept"), b"text/event-stream")
        reply = Reply(request.transmit, streams=streams)
        if session is None:
            channels = ClientChannels(changes=False, messages=streams)
            return StatelessPostLink(handler.session, reply, channels)
        if not streams:
            return JsonPostLink(session, reply, message)
        kept = session.session
        primes = kept is not None and kept.revision.priming_events
        return SessionPostLink(session, reply, message, primes=primes)

    async def _finish(
        self, call: Call, link: PostLink, answer: bytes | Coroutine[Any, Any, bytes | None]
    ) -> None:
        """Wait for the handler and finish the response."""
        try:
            response = answer if isinstance(answer, bytes) else await answer
        except BaseException:
            link.stop()
            raise
        status, headers = error_status(call.refusal)
        await link.finish([] if response is None else [response], status=status, headers=headers)

    async def _finish_batch(
        self, link: PostLink, ready: list[bytes], running: list[asyncio.Task[bytes | None]]
    ) -> None:
        try:
            responses = await finish_batch(ready, running)
        except BaseException:
            link.stop()
            raise
        await link.finish(responses, is_batch=True)

    def _stateless_handler(self, headers: dict[bytes, bytes]) -> StatelessHandler:
        version = headers.get(_VERSION, b"")
        # http.version-header.default (2025-11-25 basic/transports)
        revision = find_revision(version.strip().decode("latin-1")) or HEADERLESS
        handler = self._stateless_handlers.get(revision)
        if handler is None:
            handler = StatelessHandler(self._engine, revision)
            self._stateless_handlers[revision] = handler
        return handler

    def _find(
        self, headers: dict[bytes, bytes], principal: Principal | None
    ) -> HttpSession | tuple[int, str] | None:
        """The session of a request, None if none is needed, or the status and error text."""
        id = self._find_id(headers)
        if id is None or isinstance(id, tuple):
            return id
        self._end_expired()
        session = self.sessions.get(id)
        if session is None or session.owner != owner_of(principal):
            # http.session.ended-404: also if the session has another owner
            return UNKNOWN
        return session

    def _find_id(self, headers: dict[bytes, bytes]) -> str | tuple[int, str] | None:
        """The session id of a request, None if none is needed, or the status and error text."""
        version = headers.get(_VERSION)
        if version is not None and version not in _SUPPORTED:
            revision = find_revision(version.strip().decode("latin-1"))
            if revision is None or revision.family is not Family.LEGACY:
                # http.version-header.invalid-400 (2025-06-18 basic/transports)
                return 400, f"Unsupported MCP-Protocol-Version {version.decode('latin-1')[:50]!r}"
        if self.is_stateless:
            return None
        id = headers.get(SESSION_ID)
        if id is None:
            # http.session.missing-400 (2025-11-25 basic/transports)
            return 400, "Mcp-Session-Id is missing; send initialize first"
        return id.decode("latin-1")

    def _end_expired(self) -> None:
        for expired in self.sessions.expire():
            expired.end()

    async def _refuse(
        self, request: RequestView, status: int, text: str, message: Incoming | None = None
    ) -> None:
        error: RpcError = InvalidRequestError(text)
        id = message.id if isinstance(message, Request | Malformed) else None
        if isinstance(message, Malformed) and status == 400:
            # The malformed message may be an initialize, which needs no session.
            error = message.error
        await respond(request.transmit, status, codec.encode_error(id, error), JSON)

    async def _initialize(
        self, request: RequestView, message: Request, principal: Principal | None
    ) -> None:
        self._end_expired()
        session = self._new_session(principal)
        call = session.handler.open(message, principal)
        status, headers = 200, JSON
        body: bytes | None
        if isinstance(call, RpcError):
            body = codec.encode_error(message.id, call)
            status, headers = error_status(call)
        else:
            answer = session.handler.start(
                call, self._response_only if self.is_stateless else session, request
            )
            body = answer if isinstance(answer, bytes) else await answer
            assert body is not None  # the client does not know the session yet, so it cannot cancel
            status, headers = error_status(call.refusal)
        if session.session is not None and not self.is_stateless:
            try:
                await self._keep(session, session.owner or _address(request))
            except LimitError as full:
                error = codec.encode_error(message.id, InternalError(str(full)))
                await respond(request.transmit, 503, error, [*JSON, (b"retry-after", b"60")])
                return
            # http.session.assign (2025-11-25 basic/transports)
            headers = [*headers, (SESSION_ID, session.id.encode())]
        await respond(request.transmit, status, body, headers)

    def _new_session(self, principal: Principal | None) -> HttpSession:
        return HttpSession(self._engine, principal)

    async def _keep(self, session: HttpSession, owner: str) -> None:
        """Store a new session and set its id; raises LimitError if there are too many."""
        evicted = self.sessions.make_room(owner)
        if evicted is not None:
            evicted.end()
        session.id = self.sessions.add(session, owner)

    # -- GET and DELETE ---------------------------------------------------------------------

    async def get(self, request: HttpRequest, principal: Principal | None) -> None:
        """Open the stream for unrelated messages, or resume a broken stream."""
        found = self._find(request.headers, principal)
        if not isinstance(found, HttpSession):
            assert found is not None  # without sessions, the method is not allowed
            await self._refuse(request, *found)
            return
        reply = Reply(request.transmit)
        last_event_id = request.headers.get(LAST_EVENT_ID)
        if last_event_id is None:
            stream = found.open_general(reply)
        else:
            resumed = found.resume(last_event_id, reply)
            if resumed is None:
                await self._refuse_resumption(request)
                return
            stream = resumed
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

    async def _refuse_resumption(self, request: RequestView) -> None:
        text = "Last-Event-ID does not match a stream that this session still keeps"
        await self._refuse(request, 400, text)

    async def delete(self, request: HttpRequest, principal: Principal | None) -> None:
        """End a session."""
        found = self._find(request.headers, principal)
        if not isinstance(found, HttpSession):
            assert found is not None  # without sessions, the method is not allowed
            await self._refuse(request, *found)
            return
        self.sessions.remove(found.id)
        found.end()
        await respond(request.transmit, 204)

    @property
    def counts(self) -> HttpCounts:
        """Current number of sessions, calls and streams."""
        sessions = list(self._own_sessions)
        calls = sum(len(session.handler.in_flight) for session in sessions)
        streams = sum(stream.is_open for each in sessions for stream in each.streams.values())
        return HttpCounts(len(sessions), calls, streams)

    @property
    def _own_sessions(self) -> Iterable[HttpSession]:
        """The sessions that this process has."""
        return self.sessions

    @property
    def handlers(self) -> list[MessageHandler]:
        """The handlers of running calls."""
        return [
            *(session.handler for session in self._own_sessions),
            *self._stateless_handlers.values(),
        ]

    def end_streams(self) -> None:
        """End the streams of clients that listen for messages."""
        for session in self._own_sessions:
            session.end_stream()

    def close(self) -> None:
        """End all sessions."""
        for session in self.sessions:
            self.sessions.remove(session.id)
            session.end()


def _address(request: RequestView) -> str:
    """The owner of an anonymous session; no principal has a name of this form."""
    client = request.scope.get("client")
    return f"\0{client[0]}" if client else "\0"

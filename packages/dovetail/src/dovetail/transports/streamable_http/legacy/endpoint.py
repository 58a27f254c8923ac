"""POST, GET and DELETE of clients that shake hands: which session, and may they.

What a POST says is the business of `exchange.py`, what a session holds that of `session.py`.
"""

from __future__ import annotations

from dovetail.core.principal import Principal, owner_of
from dovetail.errors import InternalError, InvalidRequestError, LimitError, RpcError
from dovetail.runtime.engine import Engine
from dovetail.runtime.one_shot import ResponseOnlyLink
from dovetail.spec.revisions import HEADERLESS, LEGACY, Family, Revision, find_revision
from dovetail.stores.sessions import MemorySessions
from dovetail.transports.streamable_http.accept import accepts
from dovetail.transports.streamable_http.asgi import (
    JSON,
    Headers,
    HttpRequest,
    PendingResponse,
    RequestView,
    respond,
    watch_for_disconnect,
)
from dovetail.transports.streamable_http.counts import HttpCounts
from dovetail.transports.streamable_http.legacy.exchange import Exchange
from dovetail.transports.streamable_http.legacy.session import HttpSession
from dovetail.transports.streamable_http.legacy.streams import CallOutbox
from dovetail.transports.streamable_http.reply import Reply
from dovetail.wire import codec
from dovetail.wire.messages import Incoming, Malformed, Request

__all__ = ["LegacyEndpoint"]

_SESSION_ID = b"mcp-session-id"
_LAST_EVENT_ID = b"last-event-id"
_VERSION = b"mcp-protocol-version"
_SPOKEN = frozenset(revision.date.encode() for revision in LEGACY)


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

    def begin(
        self, request: RequestView, message: Incoming, principal: Principal | None
    ) -> PendingResponse:
        """Take one message or a batch: answer it, or begin to."""
        if isinstance(message, Request) and message.method == "initialize":
            return self._initialize(request, message, principal)
        found = self._find(request.headers, principal)
        if isinstance(found, tuple):
            return self._refuse(request, *found, message)
        # http.accept.406: a client must take both, but one that takes only JSON loses no more
        # than what comes before the answer; a stream is what it could not read
        streams = self._streaming and accepts(request.headers.get(b"accept"), b"text/event-stream")
        exchange = Exchange(self._engine, request, found, principal, streams=streams)
        revision = self._revision(request.headers, found)
        if isinstance(message, Request):
            return exchange.begin(message, revision)
        return exchange.take(message, revision)

    def _find(
        self, headers: dict[bytes, bytes], principal: Principal | None
    ) -> HttpSession | tuple[int, str] | None:
        """The session of a request, None where none is needed, or why it is refused."""
        version = headers.get(_VERSION)
        if version is not None and version not in _SPOKEN:
            revision = find_revision(version.strip().decode("latin-1"))
            if revision is None or revision.family is not Family.LEGACY:
                # http.version-header.invalid-400 (2025-06-18 basic/transports)
                return 400, f"Unsupported MCP-Protocol-Version {version.decode('latin-1')[:50]!r}"
        if self._stateless:
            return None
        self._end_expired()
        id = headers.get(_SESSION_ID)
        if id is None:
            # http.session.missing-400 (2025-11-25 basic/transports)
            return 400, "Mcp-Session-Id is missing; begin with initialize"
        session = self.sessions.get(id.decode("latin-1"))
        if session is None or session.owner != owner_of(principal):
            # http.session.ended-404: also for somebody else's session, which is none of theirs
            return 404, "There is no such session (any more); begin again with initialize"
        return session

    def _end_expired(self) -> None:
        for expired in self.sessions.expire():
            expired.end()

    async def _refuse(
        self, request: RequestView, status: int, text: str, message: Incoming | None = None
    ) -> None:
        error: RpcError = InvalidRequestError(text)
        id = message.id if isinstance(message, Request | Malformed) else None
        if isinstance(message, Malformed) and status == 400:
            # What cannot be read may well be an initialize, which would need no session.
            error = message.error
        await respond(request.transmit, status, codec.encode_error(id, error), JSON)

    def _revision(self, headers: dict[bytes, bytes], session: HttpSession | None) -> Revision:
        if session is not None and session.session is not None:
            return session.session.revision
        version = headers.get(_VERSION, b"")
        # http.version-header.default (2025-11-25 basic/transports)
        return find_revision(version.strip().decode("latin-1")) or HEADERLESS

    async def _initialize(
        self, request: RequestView, message: Request, principal: Principal | None
    ) -> None:
        self._end_expired()
        session = HttpSession(self._engine, principal)
        call = self._engine.eras.open(message, None, principal)
        headers: Headers = []
        if isinstance(call, RpcError):
            answer = codec.encode_error(message.id, call)
        else:
            outbox = CallOutbox(None, Reply(request.transmit), primes=False)
            link = ResponseOnlyLink(messages=self._streaming) if self._stateless else session
            self._engine.equip(call, outbox, link, request, principal)
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
            headers = [(_SESSION_ID, session.id.encode())]
        await respond(request.transmit, 200, answer, JSON + headers)

    # -- GET and DELETE ---------------------------------------------------------------------

    async def get(self, request: HttpRequest, principal: Principal | None) -> None:
        """Open the stream for messages of no request, or pick a broken one up again."""
        found = self._find(request.headers, principal)
        if not isinstance(found, HttpSession):
            # http.get.sse-or-405: without sessions there is nothing to listen to
            refusal = found or (405, "GET needs a session; this server keeps none")
            await self._refuse(request, *refusal)
            return
        reply = Reply(request.transmit)
        last_event_id = request.headers.get(_LAST_EVENT_ID)
        if last_event_id is None:
            stream = found.open_general(reply)
        else:
            picked_up = found.pick_up(last_event_id, reply)
            if picked_up is None:
                text = "Last-Event-ID names no stream of this session that is still kept"
                await self._refuse(request, 400, text)
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

    async def delete(self, request: HttpRequest, principal: Principal | None) -> None:
        """End a session."""
        found = self._find(request.headers, principal)
        if not isinstance(found, HttpSession):
            refusal = found or (405, "This server keeps no sessions")
            await self._refuse(request, *refusal)
            return
        self.sessions.remove(found.id)
        found.end()
        await respond(request.transmit, 204)

    @property
    def counts(self) -> HttpCounts:
        """What is held for clients now."""
        calls = sum(len(session.calls) for session in self.sessions)
        streams = sum(
            stream.is_open for session in self.sessions for stream in session.streams.values()
        )
        return HttpCounts(len(self.sessions), calls, streams)

    def close(self) -> None:
        """End all sessions."""
        for session in self.sessions:
            self.sessions.remove(session.id)
            session.end()

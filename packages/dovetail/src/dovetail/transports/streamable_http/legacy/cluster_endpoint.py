"""POST, GET and DELETE of legacy clients in a cluster: any process serves any session.

Each request reads its session from the store. What a message has changed is stored, and the other
processes can know it, before the response is sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Iterable
from typing import Any

from dovetail.core.call import Call
from dovetail.core.principal import Principal, owner_of
from dovetail.errors import RpcError, StoreError
from dovetail.runtime.engine import Engine
from dovetail.runtime.processes import Processes
from dovetail.transports.asgi.in_flight import HttpCounts
from dovetail.transports.asgi.messages import (
    HttpRequest,
    HttpResponse,
    PendingResponse,
    RequestView,
    error_status,
    respond,
    watch_for_disconnect,
)
from dovetail.transports.asgi.reply import Reply
from dovetail.transports.streamable_http.legacy.cluster_session import (
    LISTENER,
    ClusterSession,
    ClusterSessions,
)
from dovetail.transports.streamable_http.legacy.endpoint import (
    LAST_EVENT_ID,
    UNKNOWN,
    LegacyEndpoint,
)
from dovetail.transports.streamable_http.legacy.post_link import PostLink, SessionPostLink
from dovetail.transports.streamable_http.legacy.session import HttpSession
from dovetail.transports.streamable_http.legacy.stream_logs import GENERAL, Follower, Position
from dovetail.wire import codec
from dovetail.wire.framing import encode_sse
from dovetail.wire.messages import Incoming, Malformed, Request

__all__ = ["ClusterEndpoint"]

logger: logging.Logger = logging.getLogger("dovetail")

# Seconds until a new connection has taken its stream.
_TIMEOUT = 5.0


class ClusterEndpoint(LegacyEndpoint):
    """Serves the legacy sessions of all processes."""

    def __init__(
        self, engine: Engine, processes: Processes, *, max_sessions: int, session_lifetime: float
    ) -> None:
        super().__init__(
            engine,
            max_sessions=max_sessions,
            session_lifetime=session_lifetime,
            stateless=False,
            streaming=True,
        )
        self._stored = ClusterSessions(
            engine, processes, limit=max_sessions, lifetime=session_lifetime
        )

    @property
    def _own_sessions(self) -> Iterable[ClusterSession]:
        return self._stored.local

    # -- POST ---------------------------------------------------------------------------------

    def begin(
        self, request: RequestView, message: Incoming, principal: Principal | None
    ) -> PendingResponse:
        """Return the response to a message or batch, or a coroutine that writes it."""
        if isinstance(message, Request) and message.method == "initialize":
            return super().begin(request, message, principal)
        return self._serve(request, message, principal)

    async def _serve(
        self, request: RequestView, message: Incoming, principal: Principal | None
    ) -> None:
        try:
            session = await self._read(request.headers, principal)
        except StoreError as error:
            await self._fail(request, message, error)
            return
        if isinstance(session, tuple):
            await self._refuse(request, *session, message)
            return
        try:
            await self._respond(request, message, principal, session)
        finally:
            self._stored.release(session)

    async def _respond(
        self,
        request: RequestView,
        message: Incoming,
        principal: Principal | None,
        session: ClusterSession,
    ) -> None:
        """Respond when what the message has changed or answered is stored."""
        response = self._begin(request, message, principal, session)
        # Taken now: the requests of a session run side by side.
        answers = session.take_answers()
        try:
            await self._stored.give(session, answers)
            if isinstance(response, HttpResponse):
                await session.share()
        except StoreError as error:
            if not isinstance(response, HttpResponse):
                response.close()
            await self._fail(request, message, error)
        else:
            await (
                respond(request.transmit, *response)
                if isinstance(response, HttpResponse)
                else response
            )

    async def _read(
        self, headers: dict[bytes, bytes], principal: Principal | None
    ) -> ClusterSession | tuple[int, str]:
        """The session of a request, or the status and error text. Raises StoreError."""
        id = self._find_id(headers)
        if isinstance(id, tuple):
            return id
        assert id is not None  # there are sessions
        session = await self._stored.read(id)
        if session is None:
            return UNKNOWN
        if session.owner != owner_of(principal):
            self._stored.release(session)
            return UNKNOWN
        return session

    async def _fail(self, request: RequestView, message: Incoming | None, error: RpcError) -> None:
        id = message.id if isinstance(message, Request | Malformed) else None
        status, headers = error_status(error)
        await respond(request.transmit, status, codec.encode_error(id, error), headers)

    async def _finish(
        self, call: Call, link: PostLink, answer: bytes | Coroutine[Any, Any, bytes | None]
    ) -> None:
        if isinstance(link, SessionPostLink) and not isinstance(answer, bytes):
            answer = _share_before(answer, link.http_session)
        await super()._finish(call, link, answer)

    async def _initialize(
        self, request: RequestView, message: Request, principal: Principal | None
    ) -> None:
        try:
            await super()._initialize(request, message, principal)
        except StoreError as error:
            await self._fail(request, message, error)

    def _new_session(self, principal: Principal | None) -> ClusterSession:
        return self._stored.new(principal)

    async def _keep(self, session: HttpSession, owner: str) -> None:
        assert isinstance(session, ClusterSession)
        await self._stored.keep(session, owner)

    # -- GET and DELETE -------------------------------------------------------------------------

    async def get(self, request: HttpRequest, principal: Principal | None) -> None:
        """Open the stream for unrelated messages, or resume a broken stream."""
        try:
            session = await self._read(request.headers, principal)
            if isinstance(session, tuple):
                await self._refuse(request, *session)
                return
        except StoreError as error:
            await self._fail(request, None, error)
            return
        try:
            follower = await self._open(request, session)
            if follower is None:
                await self._refuse_resumption(request)
            else:
                await self._write(request, session, follower)
        except StoreError as error:
            # Only opening raises it, and nothing has been sent then.
            await self._fail(request, None, error)
        finally:
            self._stored.release(session)

    async def _open(self, request: HttpRequest, session: ClusterSession) -> Follower | None:
        """The connection for a stream, which begins to be its only one; None if it is unknown."""
        reply, logs = Reply(request.transmit), self._stored.logs
        last_event_id = request.headers.get(LAST_EVENT_ID)
        stream, position = GENERAL, 0
        if last_event_id is not None:
            stream, _, number = last_event_id.decode("latin-1").rpartition("_")
            if not (number.isdecimal() and number.isascii() and len(number) < 20):
                return None
            position = int(number)
        start: Position | None = None
        previous: str | None = None
        if last_event_id is not None:
            start = await logs.find(session.name, stream, position)
        is_gap = stream == GENERAL and start is None and last_event_id is not None
        if stream == GENERAL:
            start = start or await logs.begin_general(session.name)
            previous = session.listener if last_event_id is not None else None
        if start is None:
            return None
        follower = Follower(logs, session.name, stream, start, reply)
        session.followers.add(follower)
        try:
            if stream == GENERAL:
                node = self._stored.processes.node
                await self._stored.change(session, {LISTENER: node.encode()})
            await self._stored.take(session, follower)
            async with asyncio.timeout(_TIMEOUT):
                await follower.claimed.wait()
        except BaseException as error:
            session.followers.discard(follower)
            if isinstance(error, TimeoutError):
                raise StoreError("messages of other processes are not received") from None
            raise
        if is_gap:
            session.look_again()
        elif previous not in (None, self._stored.processes.node):
            self._stored.start(self._stored.look_again_unless(session, str(previous)))
        assert session.session is not None
        if last_event_id is None and session.session.revision.priming_events:
            # http.sse.prime (2025-11-25 basic/transports)
            reply.raw(encode_sse(b"", id=f"{GENERAL}_{start.position}".encode()))
        return follower

    async def _write(
        self, request: HttpRequest, session: ClusterSession, follower: Follower
    ) -> None:
        """Write a stream until it ends or the client disconnects."""
        reply = follower.reply
        reply.open()
        watch = watch_for_disconnect(request.receive, reply.stop)
        following = asyncio.create_task(_run(follower))
        try:
            await reply.written()
        finally:
            watch.cancel()
            following.cancel()
            session.followers.discard(follower)
            if follower.is_general:
                session.linger()

    async def delete(self, request: HttpRequest, principal: Principal | None) -> None:
        """End a session."""
        try:
            session = await self._read(request.headers, principal)
            if isinstance(session, tuple):
                await self._refuse(request, *session)
                return
            try:
                await self._stored.end(session)
            finally:
                self._stored.release(session)
        except StoreError as error:
            await self._fail(request, None, error)
        else:
            await respond(request.transmit, 204)

    # -- the end --------------------------------------------------------------------------------

    @property
    def counts(self) -> HttpCounts:
        """Current number of sessions, calls and streams in this process."""
        followers = sum(len(each.followers) for each in self._own_sessions)
        return HttpCounts.total((super().counts, HttpCounts(streams=followers)))

    def close(self) -> None:
        """Leave all sessions to the other processes."""
        self._stored.close()


async def _run(follower: Follower) -> None:
    try:
        await follower.run()
    except StoreError as error:
        logger.warning("a stream ended: %s", error)
    finally:
        follower.reply.stop()


async def _share_before(
    answer: Coroutine[Any, Any, bytes | None], session: HttpSession
) -> bytes | None:
    """Store what a call has changed before its response is sent."""
    response = await answer
    assert isinstance(session, ClusterSession)
    # The call is done; a change that cannot be stored now is stored with the next one.
    with contextlib.suppress(StoreError):
        await session.share()
    return response

"""POST, GET and DELETE of legacy clients in a cluster: any process serves any session.

A process keeps copies of the sessions it has served. Changes are stored and sent to all processes
before the response, so the next request finds them wherever it arrives.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Coroutine, Sequence
from typing import Any

from dovetail.core.call import Call
from dovetail.core.principal import Principal, owner_of
from dovetail.errors import RpcError, StoreError
from dovetail.runtime.engine import Engine
from dovetail.stores.shared_stores import SharedStores
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
from dovetail.transports.streamable_http.legacy.cluster_messages import (
    LEFT,
    Left,
    Take,
    Taken,
    pack,
    take_topic,
    unpack,
)
from dovetail.transports.streamable_http.legacy.cluster_session import (
    GENERAL,
    NO_REQUESTS,
    Answer,
    ClusterSession,
)
from dovetail.transports.streamable_http.legacy.endpoint import (
    LAST_EVENT_ID,
    SESSION_ID,
    LegacyEndpoint,
)
from dovetail.transports.streamable_http.legacy.post_link import PostLink, SessionPostLink
from dovetail.transports.streamable_http.legacy.remote_streams import (
    Follower,
    Followers,
    RemoteReply,
    StreamId,
)
from dovetail.transports.streamable_http.legacy.session import HttpSession
from dovetail.transports.streamable_http.legacy.session_copies import SessionCopies
from dovetail.wire import codec
from dovetail.wire.messages import Incoming, Malformed, Request

__all__ = ["ClusterEndpoint"]

_numbers = itertools.count(1)


class ClusterEndpoint(LegacyEndpoint):
    """Serves the legacy sessions of all processes."""

    def __init__(
        self,
        engine: Engine,
        shared: SharedStores,
        *,
        max_sessions: int,
        session_lifetime: float,
    ) -> None:
        super().__init__(
            engine,
            max_sessions=max_sessions,
            session_lifetime=session_lifetime,
            stateless=False,
            streaming=True,
        )
        self._shared = shared
        # A process may have several applications; each has its own streams.
        number = f"{next(_numbers)}"
        self._copies = SessionCopies(
            engine,
            shared,
            self.sessions,
            limit=max_sessions,
            lifetime=session_lifetime,
            producer=f"{shared.cluster.node}.{number}",
        )
        self._followers = Followers(shared.cluster, shared.events)
        shared.cluster.on_message(LEFT, self._receive_left)
        shared.cluster.on_request(take_topic(number), self._give_stream)

    # -- POST ---------------------------------------------------------------------------------

    def begin(
        self, request: RequestView, message: Incoming, principal: Principal | None
    ) -> PendingResponse:
        """Return the response to a message or batch, or a coroutine that writes it."""
        if isinstance(message, Request) and message.method == "initialize":
            return super().begin(request, message, principal)
        session = self._copy_of(request.headers)
        if session is None or not session.is_current:
            return self._begin_after_loading(request, message, principal)
        self._copies.mark_used(session)
        response = super().begin(request, message, principal)
        # Taken now: the requests of a session run side by side.
        answers = session.take_answers()
        if isinstance(response, HttpResponse):
            if answers or session.has_unshared_changes:
                return self._respond_after_sharing(request, message, session, response, answers)
        elif answers:
            return self._answer_before(request, message, session, response, answers)
        return response

    async def _begin_after_loading(
        self, request: RequestView, message: Incoming, principal: Principal | None
    ) -> None:
        try:
            session = await self._load(request.headers)
        except StoreError as error:
            await self._fail(request, message, error)
            return
        response = super().begin(request, message, principal)
        answers = [] if session is None else session.take_answers()
        if isinstance(response, HttpResponse):
            await self._respond_after_sharing(request, message, session, response, answers)
        elif session is not None and answers:
            await self._answer_before(request, message, session, response, answers)
        else:
            await response

    async def _answer_before(
        self,
        request: RequestView,
        message: Incoming,
        session: ClusterSession,
        response: Coroutine[Any, Any, None],
        answers: Sequence[Answer],
    ) -> None:
        """Respond to a batch when the answers in it are stored."""
        try:
            await session.give(answers)
        except StoreError as error:
            response.close()
            await self._fail(request, message, error)
        else:
            await response

    async def _respond_after_sharing(
        self,
        request: RequestView,
        message: Incoming,
        session: ClusterSession | None,
        response: HttpResponse,
        answers: Sequence[Answer],
    ) -> None:
        """Respond when other processes can know what the message has changed or answered."""
        try:
            if session is not None:
                await session.give(answers)
                if session.has_unshared_changes:
                    await session.share()
        except StoreError as error:
            await self._fail(request, message, error)
        else:
            await respond(request.transmit, *response)

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

    # -- sessions -----------------------------------------------------------------------------

    def _new_session(self, principal: Principal | None) -> ClusterSession:
        return self._copies.new(principal)

    async def _keep(self, session: HttpSession, owner: str) -> None:
        assert isinstance(session, ClusterSession)
        await self._copies.keep(session, owner)

    def _end_expired(self) -> None:
        self._copies.leave_unused()

    def _copy_of(self, headers: dict[bytes, bytes]) -> ClusterSession | None:
        id = headers.get(SESSION_ID)
        return None if id is None else self._copies.find(id.decode("latin-1"))

    async def _load(self, headers: dict[bytes, bytes]) -> ClusterSession | None:
        id = headers.get(SESSION_ID)
        return None if id is None else await self._copies.load(id.decode("latin-1"))

    # -- streams that are read in another process -----------------------------------------------

    def _receive_left(self, _node: str, data: bytes) -> None:
        message = unpack(Left, data)
        session = self._copies.named(message.session)
        if session is not None:
            session.stop_remote(message.stream, message.token)

    async def _give_stream(self, node: str, data: bytes) -> bytes:
        take = unpack(Take, data)
        session = self._copies.named(take.session)
        seen = StreamId(take.last_event_id).seen
        reply = RemoteReply(self._shared.cluster, node, take.token, seen)
        is_known = session is not None and session.move_stream(
            take.stream, take.last_event_id, reply
        )
        return pack(Taken(is_known))

    # -- GET and DELETE -------------------------------------------------------------------------

    async def get(self, request: HttpRequest, principal: Principal | None) -> None:
        """Open the stream for unrelated messages, or resume a broken stream."""
        try:
            session = await self._ready_copy(request.headers)
            if session is None or session.owner != owner_of(principal):
                await super().get(request, principal)
                return
            self._copies.mark_used(session)
            last_event_id = request.headers.get(LAST_EVENT_ID)
            if last_event_id is None:
                await self._claim_general(session)
                await super().get(request, principal)
                return
            stream = StreamId(last_event_id)
            if stream.node == self._shared.cluster.node or not stream.endpoint:
                await super().get(request, principal)
                return
            await self._resume_elsewhere(request, session, stream)
        except StoreError as error:
            await self._fail(request, None, error)

    async def _ready_copy(self, headers: dict[bytes, bytes]) -> ClusterSession | None:
        session = self._copy_of(headers)
        if session is not None and session.is_current:
            return session
        return await self._load(headers)

    async def _claim_general(self, session: ClusterSession) -> None:
        """Make this process the one that sends messages which belong to no request."""
        node = self._shared.cluster.node
        if session.general_node != node:
            await session.share_fields({GENERAL: node.encode()})

    async def _resume_elsewhere(
        self, request: HttpRequest, session: ClusterSession, stream: StreamId
    ) -> None:
        reply = Reply(request.transmit)
        follower = Follower(session.name, stream, reply)
        is_known = await self._take(follower)
        if is_known is None:
            await self._resume_from_store(request, session, follower)
        elif not is_known:
            await self._refuse_resumption(request)
        else:
            watch = asyncio.create_task(self._followers.watch(follower))
            try:
                await self._serve(request, reply)
            finally:
                watch.cancel()
                self._followers.leave(follower)

    async def _take(self, follower: Follower) -> bool | None:
        """Continue a stream here: whether it is known, None if its process has ended."""
        try:
            return await self._followers.take(follower)
        except StoreError:
            if await self._shared.cluster.is_alive(follower.stream.node):
                raise
            return None

    async def _resume_from_store(
        self, request: HttpRequest, session: ClusterSession, follower: Follower
    ) -> None:
        stream, reply = follower.stream, follower.reply
        stored = await self._shared.events.read(session.name, stream.name, stream.seen)
        if stored is None:
            await self._refuse_resumption(request)
            return
        follower.send_rest(stored)
        if stored.is_complete or stored.requests != NO_REQUESTS:
            reply.open()
            reply.stop()
            await reply.written()
            return
        # The stream of a GET goes on in this process.
        await self._claim_general(session)
        general = session.open_general(reply)
        session.look_again()
        try:
            await self._serve(request, reply)
        finally:
            if general.reply is reply:
                general.reply = None

    async def _serve(self, request: HttpRequest, reply: Reply) -> None:
        """Write a stream until it ends or the client disconnects."""
        reply.open()
        watch = watch_for_disconnect(request.receive, reply.stop)
        try:
            await reply.written()
        finally:
            watch.cancel()

    async def delete(self, request: HttpRequest, principal: Principal | None) -> None:
        """End a session."""
        try:
            session = await self._ready_copy(request.headers)
            if session is not None and session.owner == owner_of(principal):
                await self._copies.end(session)
        except StoreError as error:
            await self._fail(request, None, error)
        else:
            await super().delete(request, principal)

    # -- the end --------------------------------------------------------------------------------

    def close(self) -> None:
        """Leave all sessions to the other processes."""
        self._copies.close()


async def _share_before(
    answer: Coroutine[Any, Any, bytes | None], session: HttpSession
) -> bytes | None:
    """Tell other processes what a call has changed before its response is sent."""
    response = await answer
    assert isinstance(session, ClusterSession)
    if session.has_unshared_changes:
        # The call is done; a change that cannot be shared now is shared with the next one.
        with contextlib.suppress(StoreError):
            await session.share()
    return response

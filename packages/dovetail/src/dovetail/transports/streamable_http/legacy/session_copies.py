"""The copies of legacy sessions in one process of a cluster, and how they stay current.

The store has all sessions. A process copies those that it serves; other processes tell it what
changes, and a copy whose news may have been lost is loaded again before it is used.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Sequence
from typing import Any
from weakref import WeakValueDictionary

from dovetail.core.principal import Principal
from dovetail.errors import LimitError, StoreError
from dovetail.runtime.engine import Engine
from dovetail.stores.sessions import MemorySessions, new_session_id
from dovetail.stores.shared_stores import SharedStores
from dovetail.transports.streamable_http.legacy.answers import Answers
from dovetail.transports.streamable_http.legacy.cluster_messages import (
    CHANGED,
    ENDED,
    RELAYED,
    UNRELATED,
    Changed,
    Ended,
    Relayed,
    pack,
    unpack,
)
from dovetail.transports.streamable_http.legacy.cluster_session import ClusterSession, name_of
from dovetail.transports.streamable_http.legacy.remote_streams import RemoteReply
from dovetail.transports.streamable_http.legacy.session import HttpSession
from dovetail.transports.streamable_http.legacy.stored_sessions import StoredSessions
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Response

__all__ = ["SessionCopies"]

# A used session is marked as used in the store this many times in its lifetime.
_TOUCHES = 4
_MAX_TOUCH_SECONDS = 60.0
# Seconds that processes have to store their sessions again after the store has lost its contents,
# and between two attempts.
_RESTORE_SECONDS = 2.0
_RETRY_SECONDS = 0.1


class SessionCopies:
    """The sessions that this process has served."""

    def __init__(
        self,
        engine: Engine,
        shared: SharedStores,
        sessions: MemorySessions[HttpSession],
        *,
        limit: int,
        lifetime: float,
        producer: str,
    ) -> None:
        """`sessions` holds the copies; `producer` begins the names of their streams."""
        self._engine = engine
        self._shared = shared
        self._sessions = sessions
        self._limit = limit
        self._lifetime = lifetime
        self._producer = producer
        self._touch_seconds = min(lifetime / _TOUCHES, _MAX_TOUCH_SECONDS)
        self._by_name: WeakValueDictionary[str, ClusterSession] = WeakValueDictionary()
        self._running: set[asyncio.Task[None]] = set()
        self._upkeep: asyncio.TimerHandle | None = None
        self._restoring: asyncio.Task[None] | None = None
        self._answers = Answers(
            engine.state, shared.cluster.node, self._open_questions, self._deliver
        )
        self._stored = StoredSessions(engine.state)
        self._following: asyncio.Task[None] | None = None
        # Until then, other processes may still store sessions again.
        self._restored_at = 0.0
        cluster = shared.cluster
        cluster.on_message(CHANGED, self._receive_changed)
        cluster.on_message(ENDED, self._receive_ended)
        cluster.on_message(RELAYED, self._receive_relayed)
        cluster.on_message(UNRELATED, self._receive_unrelated)
        cluster.on_reset(self._mark_stale)
        cluster.on_emptied(self._restore_all)

    def new(self, principal: Principal | None) -> ClusterSession:
        """A session before its handshake."""
        return ClusterSession(
            self._engine, principal, self._shared, self._producer, self._answers, self._stored
        )

    async def keep(self, session: ClusterSession, owner: str) -> None:
        """Store a session after its handshake; raises LimitError and StoreError."""
        assert session.session is not None
        session.identify(new_session_id(), owner, session.session)
        ended = await self._store(session)
        self._add(session)
        for name in ended:
            self.drop(name)
            self._shared.cluster.publish(ENDED, pack(Ended(name)))

    async def end(self, session: ClusterSession) -> None:
        """End a session in the store and in the other processes; raises StoreError."""
        await self._stored.remove(session.name)
        await self._shared.cluster.publish_and_wait(ENDED, pack(Ended(session.name)))

    async def _store(self, session: ClusterSession) -> Sequence[str]:
        return await self._stored.add(
            session.name,
            session.store_owner,
            session.fields(),
            limit=self._limit,
            lifetime=self._lifetime,
        )

    # -- copies -------------------------------------------------------------------------------

    def find(self, id: str) -> ClusterSession | None:
        """The copy of a session; the owner is not checked."""
        found = self._sessions.peek(id)
        assert found is None or isinstance(found, ClusterSession)
        return found

    def named(self, name: str) -> ClusterSession | None:
        """The copy of the session with this name."""
        return self._by_name.get(name)

    async def load(self, id: str) -> ClusterSession | None:
        """Load a session from the store, or refresh its copy; raises StoreError.

        Whether the caller may use it is checked afterwards.
        """
        if self._restoring is not None:
            await self._restoring
        fields = await self._stored.load(name_of(id))
        # Another request may have loaded it meanwhile.
        copy = self.find(id)
        if fields is None:
            # While messages are not received, nobody knows yet whether it has lost its contents.
            if self._shared.cluster.problem or time.monotonic() < self._restored_at:
                raise StoreError("it has lost its contents; sessions are being stored again")
            if copy is not None:
                self.drop(copy.name)
            return None
        copy = copy or self._make(id, fields)
        if copy is not None:
            copy.change(fields)
            copy.is_stale = False
        return copy

    def _make(self, id: str, fields: dict[str, bytes]) -> ClusterSession | None:
        session = self.new(None)
        if not session.restore(id, fields):
            return None
        try:
            self._add(session)
        except LimitError as error:
            raise StoreError(str(error)) from None
        return session

    def _add(self, session: ClusterSession) -> None:
        dropped = self._sessions.remove_idle()
        if dropped is not None:
            assert isinstance(dropped, ClusterSession)
            dropped.leave()
        session.touched = time.monotonic()
        self._sessions.add(session, session.store_owner, session.id)
        self._by_name[session.name] = session
        if self._upkeep is None:
            self._schedule_upkeep()
        if self._following is None:
            self._following = self._start(self._answers.follow())

    def _open_questions(self) -> set[tuple[str, bytes]]:
        return {
            (name, id)
            for name, copy in self._by_name.items()
            if copy.session is not None and copy.session.back_channel is not None
            for id in copy.session.back_channel.waiting
        }

    def _deliver(self, name: str, answer: Response) -> None:
        session = self._by_name.get(name)
        if session is not None:
            session.receive_relayed(answer)

    def drop(self, name: str) -> None:
        """End the copy of a session that has ended."""
        session = self._by_name.pop(name, None)
        if session is not None:
            self._sessions.remove(session.id)
            session.end()

    def leave_unused(self) -> None:
        """Forget copies that were not used for long; the store decides when a session ends."""
        for unused in self._sessions.expire():
            assert isinstance(unused, ClusterSession)
            unused.leave()

    def close(self) -> None:
        """Leave all sessions to the other processes."""
        if self._upkeep is not None:
            self._upkeep.cancel()
            self._upkeep = None
        for session in self._sessions:
            assert isinstance(session, ClusterSession)
            self._sessions.remove(session.id)
            session.leave()
        for task in self._running:
            task.cancel()
        self._following = None

    # -- use ----------------------------------------------------------------------------------

    def mark_used(self, session: ClusterSession) -> None:
        """Keep a session from expiring; in the store only now and then."""
        now = time.monotonic()
        if now - session.touched > self._touch_seconds:
            session.touched = now
            self._start(self._touch(session))

    async def _touch(self, session: ClusterSession) -> None:
        with contextlib.suppress(StoreError):
            if not await self._stored.touch(session.name, self._lifetime):
                # Loading it decides whether it has ended.
                session.is_stale = True

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def _schedule_upkeep(self) -> None:
        loop = asyncio.get_running_loop()
        self._upkeep = loop.call_later(self._touch_seconds, self._keep_up)

    def _keep_up(self) -> None:
        """Keep sessions with open streams, and notice processes that have ended."""
        for session in self._sessions:
            assert isinstance(session, ClusterSession)
            if session.is_busy:
                self.mark_used(session)
            for stream in session.remote_streams:
                assert isinstance(stream.reply, RemoteReply)
                self._start(self._detach_if_gone(session, stream.reply))
        self._schedule_upkeep()

    async def _detach_if_gone(self, session: ClusterSession, reply: RemoteReply) -> None:
        with contextlib.suppress(StoreError):
            if not await self._shared.cluster.is_alive(reply.node):
                for name in session.streams:
                    session.stop_remote(name, reply.token)

    # -- faults of the store ------------------------------------------------------------------

    def _mark_stale(self) -> None:
        for session in self._sessions:
            assert isinstance(session, ClusterSession)
            session.is_stale = True

    def _restore_all(self) -> None:
        """Store the sessions again that this process has copies of."""
        self._restored_at = time.monotonic() + _RESTORE_SECONDS
        self._restoring = self._start(self._restore())

    async def _restore(self) -> None:
        for session in self._sessions:
            assert isinstance(session, ClusterSession)
            while session.session is not None:
                try:
                    await self._store(session)
                except StoreError:
                    # It has answered, so it will soon do so again.
                    await asyncio.sleep(_RETRY_SECONDS)
                except LimitError:
                    break
                else:
                    break
        self._restoring = None

    # -- messages of other processes ----------------------------------------------------------

    def _receive_changed(self, _node: str, data: bytes) -> None:
        message = unpack(Changed, data)
        session = self._by_name.get(message.session)
        if session is not None:
            session.change(message.changes)

    def _receive_ended(self, _node: str, data: bytes) -> None:
        self.drop(unpack(Ended, data).session)

    def _receive_relayed(self, _node: str, data: bytes) -> None:
        message = unpack(Relayed, data)
        session = self._by_name.get(message.session)
        decoded = codec.decode(message.message)
        if session is not None and isinstance(decoded, Notification):
            session.receive_relayed(decoded)

    def _receive_unrelated(self, _node: str, data: bytes) -> None:
        message = unpack(Relayed, data)
        session = self._by_name.get(message.session)
        if session is not None and session.general is not None:
            session.general.send(message.message)

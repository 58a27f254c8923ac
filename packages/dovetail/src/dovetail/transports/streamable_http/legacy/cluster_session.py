"""The legacy sessions of several processes: what one process has of them.

A session is stored, and each request reads it. A process keeps an object only for what lives in
it: running calls, open questions and streams. Sessions are named by the hash of their id in the
store and in messages, because the id is a credential.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections import deque
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import msgspec
from msgspec import Struct

from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.core.principal import Principal
from dovetail.eras.select import (
    LegacySession,
    announce,
    read_session,
    refresh_session,
    session_fields,
)
from dovetail.errors import ShutdownError, StoreError
from dovetail.runtime.change_feed import ChangeFeed
from dovetail.runtime.engine import Engine
from dovetail.runtime.processes import DEAD_AFTER, Processes
from dovetail.transports.asgi.reply import Reply
from dovetail.transports.streamable_http.legacy.answers import Answers
from dovetail.transports.streamable_http.legacy.memory_sessions import new_session_id
from dovetail.transports.streamable_http.legacy.session import HttpSession
from dovetail.transports.streamable_http.legacy.stored_sessions import StoredSessions
from dovetail.transports.streamable_http.legacy.stream_logs import (
    GENERAL,
    Follower,
    LoggedStream,
    StreamLogs,
)
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Response

__all__ = ["LISTENER", "Answer", "ClusterSession", "ClusterSessions", "name_of"]

# Fields beside those of the legacy session: the process that announces changes to the client
# (empty: none does any more), the principal that owns the session, the owner whose sessions are
# counted, and when the session began.
LISTENER = "listener"
_PRINCIPAL = "principal"
_OWNER = "owner"
_BEGAN = "began"
# The topics of messages between processes.
_CHANGED = "session changed"
_ENDED = "session ended"
_RELAYED = "session relayed"
_TAKEN = "stream taken"

_LISTS = (ChangeKind.TOOLS, ChangeKind.PROMPTS, ChangeKind.RESOURCES)
# Seconds for which changes are announced to a client that has left its stream.
_LINGER = 600.0
# Seconds between two looks whether sessions with open streams still exist, in parts of their
# lifetime and at most.
_LOOKS = 4
_MAX_LOOK_SECONDS = 60.0
# What finished streams of one session may have stored, of those of this process.
_MAX_FINISHED = 32
_MAX_FINISHED_BYTES = 4 * 1024 * 1024
_RETRY = 0.25
_numbers = itertools.count(1)

# The process that has asked, and the answer.
Answer: TypeAlias = tuple[str, Response]


class _Relayed(Struct, array_like=True):
    session: str
    message: bytes


class _Taken(Struct, array_like=True):
    session: str
    stream: str
    token: str


def name_of(id: str) -> str:
    """The name of a session in the store and in messages."""
    return sha256(id.encode("utf-8", "surrogatepass")).hexdigest()


class ClusterSession(HttpSession):
    """What this process has of a session."""

    __slots__ = (
        "_sessions",
        "_unsent",
        "began",
        "followers",
        "listener",
        "listens_until",
        "name",
        "store_owner",
        "users",
    )

    def __init__(self, engine: Engine, principal: Principal | None, all: ClusterSessions) -> None:
        super().__init__(engine, principal)
        self._sessions = all
        # Answers for other processes in the message that is being handled.
        self._unsent: list[Answer] = []
        self.name = ""
        # The owner whose sessions are counted.
        self.store_owner = ""
        self.began = time.time()
        # The requests that use the object.
        self.users = 0
        # The connections of this process that continue streams.
        self.followers: set[Follower] = set()
        # The process that announces changes; None if the client has opened no stream for them.
        self.listener: str | None = None
        # When this process stops that if the client has no stream here.
        self.listens_until = 0.0

    def identify(self, id: str, owner: str, session: LegacySession) -> None:
        """Set the id and what `initialize` negotiated."""
        self.id = id
        self.name = name_of(id)
        self.store_owner = owner
        # A number, so that no two questions have the same id.
        asker = f"{self._sessions.processes.node}-{next(_numbers)}"
        self.handler.engine.eras.share_session(session, id, asker)
        self.handler.session = session
        self.handler.relay = self._relay

    def restore(self, id: str, fields: Mapping[str, bytes]) -> bool:
        """Become the session with these fields; False if this version cannot serve it."""
        session = read_session(fields)
        if session is None:
            return False
        self.owner = codec.decode_json(fields[_PRINCIPAL])
        self.began = float(fields[_BEGAN])
        self.identify(id, fields[_OWNER].decode("utf-8", "surrogatepass"), session)
        self.refresh(fields)
        return True

    def refresh(self, fields: Mapping[str, bytes]) -> None:
        """Take over what is stored."""
        assert self.session is not None
        refresh_session(self.session, fields)
        listener = fields.get(LISTENER)
        self.listener = None if listener is None else listener.decode()

    def fields(self) -> dict[str, bytes]:
        """The session as it is stored."""
        assert self.session is not None
        fields = session_fields(self.session)
        fields[_PRINCIPAL] = codec.encode(self.owner)
        fields[_OWNER] = self.store_owner.encode("utf-8", "surrogatepass")
        fields[_BEGAN] = repr(self.began).encode()
        return fields

    @property
    def has_connections(self) -> bool:
        """Whether the client is connected to this process, or a call of it runs here."""
        return super().is_busy or bool(self.followers)

    @property
    def is_busy(self) -> bool:
        """Whether this process has anything of the session."""
        return self.users > 0 or self.has_connections or self._feed is not None

    # -- messages -----------------------------------------------------------------------------

    async def share(self) -> None:
        """Store what has changed, and tell the other processes. Raises StoreError."""
        assert self.session is not None
        changes = dict(self.session.unshared or {})
        if changes:
            await self._sessions.change(self, changes)
            unshared = self.session.unshared or {}
            for field, value in changes.items():
                if unshared.get(field, b"") == value:
                    unshared.pop(field, None)

    def _relay(self, message: Notification | Response) -> None:
        """Pass on what another process waits for."""
        processes = self._sessions.processes
        if isinstance(message, Notification):
            # Only the process that runs the call knows its id.
            relayed = _Relayed(self.name, codec.encode_message(message))
            processes.publish(_RELAYED, msgspec.msgpack.encode(relayed))
            return
        # The id of a request contains the process that has sent it.
        node = (message.id or b"").strip(b'"').partition(b"-")[0].decode("latin-1")
        if node not in ("", processes.node):
            self._unsent.append((node, message))

    def take_answers(self) -> list[Answer]:
        """The answers for other processes in the message that was just handled."""
        answers, self._unsent = self._unsent, []
        return answers

    def receive_relayed(self, message: Notification | Response) -> None:
        """Take what a client has sent to another process."""
        # It is not passed on again if nobody waits for it here either.
        relay, self.handler.relay = self.handler.relay, None
        try:
            if isinstance(message, Notification):
                self.handler.notify(message)
            else:
                self.handler.resolve(message)
        finally:
            self.handler.relay = relay

    # -- streams ------------------------------------------------------------------------------

    def new_stream(self, reply: Reply, requests: Sequence[bytes] = ()) -> LoggedStream:
        """A new stream, whose events are stored."""
        stream = self._sessions.logs.new_stream(self.name, reply, requests)
        self.streams[stream.name] = stream
        stream.writer.add_done_callback(lambda _: self._end_stream(stream))
        return stream

    def _end_stream(self, stream: LoggedStream) -> None:
        """Forget a stream that has ended, and drop the logs of the oldest ones."""
        self.streams.pop(stream.name, None)
        self._sessions.note_finished(self.name, stream.log, stream.sent_bytes)
        self._sessions.forget_idle(self)

    def send_unrelated(self, message: Notification) -> None:
        """Send a notification that belongs to no request, if the client has a stream for it."""
        if self.listener is not None:
            self._sessions.logs.send_general(self.name, codec.encode_message(message))

    def listen(self) -> None:
        """Announce changes to the client from now on."""
        if self._feed is None:
            bus = self.handler.engine.bus
            self._feed = ChangeFeed(bus, self._wants, self._announce, self._uris)
        self.linger()

    def linger(self) -> None:
        """Announce changes for a while although the client has left its stream."""
        self.listens_until = asyncio.get_running_loop().time() + _LINGER

    def stop_listening(self) -> None:
        """Another process announces changes to the client, or none."""
        if self._feed is not None:
            self._feed.close()
            self._feed = None

    @property
    def is_listening(self) -> bool:
        """Whether this process announces changes to the client."""
        return self._feed is not None

    def look_again(self) -> None:
        """Announce everything that may have changed while nobody told the client."""
        session = self.session
        assert session is not None
        changes = [ChangeEvent(what) for what in _LISTS]
        changes += [ChangeEvent(ChangeKind.RESOURCE, uri) for uri in sorted(session.uris)]
        for change in changes:
            message = announce(change, session)
            if message is not None:
                self.send_unrelated(message)

    def take_stream(self, name: str, token: str) -> None:
        """A connection has been made for a stream, in this process or another one."""
        for each in self.followers:
            if each.stream == name:
                each.take(token)
        stream = self.streams.get(name)
        if isinstance(stream, LoggedStream):
            stream.hand_over()

    # -- the end ------------------------------------------------------------------------------

    def end_stream(self) -> None:
        """End the streams of clients that listen, or whose calls run in other processes."""
        for each in self.followers:
            if each.stream not in self.streams:
                each.reply.stop()

    def end(self) -> None:
        """End the session with its calls, streams and pending requests."""
        super().end()
        for each in self.followers:
            each.reply.stop()

    def leave(self) -> None:
        """Forget the session in this process; other processes go on serving it."""
        self.stop_listening()
        for in_flight in tuple(self.handler.in_flight.values()):
            in_flight.withdraw(ShutdownError())
        if self.session is not None and self.session.back_channel is not None:
            self.session.back_channel.close()
        for stream in self.streams.values():
            stream.detach()
        for each in self.followers:
            each.reply.stop()


class ClusterSessions:
    """Reads and changes stored sessions, and keeps what this process has of them."""

    def __init__(
        self, engine: Engine, processes: Processes, *, limit: int, lifetime: float
    ) -> None:
        self.processes = processes
        self.logs = StreamLogs(engine.state, processes)
        self._engine = engine
        self._limit = limit
        self._lifetime = lifetime
        self._stored = StoredSessions(engine.state)
        self._answers = Answers(engine.state, processes.node, self._open_questions, self._deliver)
        self._local: dict[str, ClusterSession] = {}
        # A session is read and changed by one request of this process at a time, so that nothing
        # older replaces what is newer.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._finished: dict[str, deque[tuple[str, int]]] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._is_started = False
        processes.on_message(_CHANGED, self._receive_changed, own=True)
        processes.on_message(_ENDED, self._receive_ended)
        processes.on_message(_RELAYED, self._receive_relayed)
        processes.on_message(_TAKEN, self._receive_taken, own=True)
        processes.on_lost(self._look_at_all)

    @property
    def local(self) -> Iterable[ClusterSession]:
        """The sessions of which this process has something."""
        return tuple(self._local.values())

    # -- stored sessions ------------------------------------------------------------------------

    def new(self, principal: Principal | None) -> ClusterSession:
        """A session before its handshake."""
        return ClusterSession(self._engine, principal, self)

    async def keep(self, session: ClusterSession, owner: str) -> None:
        """Store a session after its handshake; raises LimitError and StoreError."""
        assert session.session is not None
        session.identify(new_session_id(), owner, session.session)
        ended = await self._stored.add(
            session.name, owner, session.fields(), limit=self._limit, lifetime=self._lifetime
        )
        for name in ended:
            self._end_here(name)
            self.processes.publish(_ENDED, name.encode())

    async def read(self, id: str) -> ClusterSession | None:
        """The session as it is stored now; None if there is none. Raises StoreError.

        Callers call `release` when they have finished.
        """
        name = name_of(id)
        async with self._turn(name):
            fields = await self._stored.load(name, self._lifetime)
            if fields is None:
                self._end_here(name)
                return None
            session = self._local.get(name)
            if session is None:
                session = self.new(None)
                if not session.restore(id, fields):
                    return None
                self._local[name] = session
            else:
                session.refresh(fields)
            session.users += 1
            if not self._is_started:
                self._is_started = True
                self.start(self._answers.follow())
                self.start(self._keep_up())
            return session

    async def change(self, session: ClusterSession, changes: Mapping[str, bytes | None]) -> None:
        """Change fields, and tell the processes that have something of the session."""
        async with self._turn(session.name):
            await self._stored.change(session.name, changes)
        await self.processes.publish_now(_CHANGED, session.name.encode())

    async def end(self, session: ClusterSession) -> None:
        """End a session; raises StoreError."""
        await self._stored.remove(session.name)
        self.processes.publish(_ENDED, session.name.encode())
        assert session.session is not None
        # Its state and its duration, whichever process knew them.
        session.session.own_state(self._engine.session_states)
        session.handler.started = time.perf_counter() - max(0.0, time.time() - session.began)
        self._local.pop(session.name, None)
        session.end()

    def _turn(self, name: str) -> asyncio.Lock:
        turn = self._turns.get(name)
        if turn is None:
            turn = self._turns[name] = asyncio.Lock()
        return turn

    # -- in this process ------------------------------------------------------------------------

    def release(self, session: ClusterSession) -> None:
        """A request has ended that has read the session."""
        session.users -= 1
        self.forget_idle(session)

    def forget_idle(self, session: ClusterSession) -> None:
        """Forget a session of which this process has nothing any more."""
        if not session.is_busy and self._local.get(session.name) is session:
            del self._local[session.name]

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work until the server is closed."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def note_finished(self, session: str, log: str, size: int) -> None:
        """Bound what finished streams of a session have stored."""
        finished = self._finished.pop(session, deque())
        finished.append((log, min(size, _MAX_FINISHED_BYTES)))
        self._finished[session] = finished
        while len(finished) > _MAX_FINISHED or (
            len(finished) > 1 and sum(each for _, each in finished) > _MAX_FINISHED_BYTES
        ):
            self._engine.state.start(self._drop(finished.popleft()[0]))
        if len(self._finished) > self._limit:
            del self._finished[next(iter(self._finished))]

    async def _drop(self, log: str) -> None:
        # Otherwise it disappears later.
        with contextlib.suppress(StoreError):
            await self._engine.state.backend.drop(log)

    async def give(self, session: ClusterSession, answers: Sequence[Answer]) -> None:
        """Store answers where their questions find them; raises StoreError."""
        for node, response in answers:
            await self._answers.give(session.name, node, response)

    async def take(self, session: ClusterSession, follower: Follower) -> None:
        """Make a connection the one of its stream; raises StoreError."""
        taken = _Taken(session.name, follower.stream, follower.token)
        await self.processes.publish_now(_TAKEN, msgspec.msgpack.encode(taken))

    async def look_again_unless(self, session: ClusterSession, node: str) -> None:
        """Announce everything, unless this process has announced changes until a moment ago."""
        while True:
            try:
                if not node or not await self.processes.is_alive(node):
                    session.look_again()
                    return
                # By then, it is known to be dead if it was.
                await asyncio.sleep(DEAD_AFTER)
                if await self.processes.is_alive(node):
                    return
            except StoreError:
                await asyncio.sleep(_RETRY)

    def _open_questions(self) -> set[tuple[str, bytes]]:
        return {
            (name, id)
            for name, session in self._local.items()
            if session.session is not None and session.session.back_channel is not None
            for id in session.session.back_channel.waiting
        }

    def _deliver(self, name: str, answer: Response) -> None:
        session = self._local.get(name)
        if session is not None:
            session.receive_relayed(answer)

    def _end_here(self, name: str) -> None:
        session = self._local.pop(name, None)
        if session is not None:
            session.end()

    async def _keep_up(self) -> None:
        """Keep sessions that are used, and notice those that have ended."""
        pause = min(self._lifetime / _LOOKS, _MAX_LOOK_SECONDS)
        while True:
            await asyncio.sleep(pause)
            now = asyncio.get_running_loop().time()
            for session in self.local:
                if session.has_connections:
                    await self._look_at(session)
                elif session.is_listening and now > session.listens_until:
                    session.stop_listening()
                    with contextlib.suppress(StoreError):
                        await self.change(session, {LISTENER: b""})
                    self.forget_idle(session)

    async def _look_at(self, session: ClusterSession) -> None:
        with contextlib.suppress(StoreError):
            async with self._turn(session.name):
                fields = await self._stored.load(session.name, self._lifetime)
                if fields is None:
                    self._end_here(session.name)
                else:
                    session.refresh(fields)

    def _look_at_all(self) -> None:
        for session in self.local:
            self.start(self._look_at(session))

    def close(self) -> None:
        """Leave all sessions to the other processes."""
        for session in self.local:
            session.leave()
        self._local.clear()
        for task in self._running:
            task.cancel()
        self._is_started = False

    # -- messages of other processes ------------------------------------------------------------

    async def _receive_changed(self, node: str, data: bytes) -> None:
        # Awaited, so that changes that are announced later meet the new subscriptions.
        session = self._local.get(data.decode())
        if session is not None:
            await self._look_at(session)

    def _receive_ended(self, node: str, data: bytes) -> None:
        self._end_here(data.decode())

    def _receive_relayed(self, node: str, data: bytes) -> None:
        message = msgspec.msgpack.decode(data, type=_Relayed)
        session = self._local.get(message.session)
        decoded = codec.decode(message.message)
        if session is not None and isinstance(decoded, Notification):
            session.receive_relayed(decoded)

    def _receive_taken(self, node: str, data: bytes) -> None:
        message = msgspec.msgpack.decode(data, type=_Taken)
        session = self._local.get(message.session)
        if session is None:
            return
        if message.stream == GENERAL:
            # In the order of the log, so that each change is announced by one process.
            if node == self.processes.node:
                session.listen()
            else:
                session.stop_listening()
        session.take_stream(message.stream, message.token)
        self.forget_idle(session)

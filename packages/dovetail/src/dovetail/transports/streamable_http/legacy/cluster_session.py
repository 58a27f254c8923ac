"""A legacy session that several processes serve: this process has a copy of it.

Sessions are named by the hash of their id in the store and in messages, because the id is a
credential.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TypeAlias

from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.core.principal import Principal
from dovetail.eras.select import (
    LegacySession,
    announce,
    change_session,
    read_session,
    session_fields,
)
from dovetail.errors import ShutdownError, StoreError
from dovetail.runtime.engine import Engine
from dovetail.stores.events import EventLog
from dovetail.stores.shared_event_log import SharedEventLog
from dovetail.stores.shared_stores import SharedStores
from dovetail.transports.asgi.reply import Reply
from dovetail.transports.streamable_http.legacy.answers import Answers
from dovetail.transports.streamable_http.legacy.cluster_messages import (
    CHANGED,
    RELAYED,
    UNRELATED,
    Changed,
    Relayed,
    pack,
)
from dovetail.transports.streamable_http.legacy.remote_streams import RemoteReply
from dovetail.transports.streamable_http.legacy.session import MAX_STREAM_BYTES, HttpSession
from dovetail.transports.streamable_http.legacy.stored_sessions import StoredSessions
from dovetail.transports.streamable_http.legacy.streams import Stream
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Response

__all__ = ["GENERAL", "NO_REQUESTS", "Answer", "ClusterSession", "name_of"]

# Fields beside those of the legacy session: the process that has the stream of the last GET, the
# principal that owns the session, and the owner whose sessions are counted.
GENERAL = "general"
_PRINCIPAL = "principal"
_OWNER = "owner"
# What a stream of a GET answers.
NO_REQUESTS = b"[]"
# The process that has asked, and the answer.
Answer: TypeAlias = tuple[str, Response]
_LISTS = (ChangeKind.TOOLS, ChangeKind.PROMPTS, ChangeKind.RESOURCES)


def name_of(id: str) -> str:
    """The name of a session in the store and in messages."""
    return sha256(id.encode("utf-8", "surrogatepass")).hexdigest()


class ClusterSession(HttpSession):
    """The copy of a session in one process."""

    __slots__ = (
        "__weakref__",
        "_answers",
        "_producer",
        "_shared",
        "_stored",
        "_unsent",
        "general_node",
        "is_stale",
        "name",
        "store_owner",
        "touched",
    )

    def __init__(
        self,
        engine: Engine,
        principal: Principal | None,
        shared: SharedStores,
        producer: str,
        answers: Answers,
        stored: StoredSessions,
    ) -> None:
        """`producer` begins the names of the streams of this process."""
        super().__init__(engine, principal)
        self._answers = answers
        self._stored = stored
        # Answers for other processes in the message that is being handled.
        self._unsent: list[Answer] = []
        self._shared = shared
        self._producer = producer
        self.name = ""
        # The owner whose sessions are counted.
        self.store_owner = ""
        self.general_node: str | None = None
        # When the session was last marked as used in the store.
        self.touched = 0.0
        # Messages about the session may have been lost: load it again before it is used.
        self.is_stale = False

    def identify(self, id: str, owner: str, session: LegacySession) -> None:
        """Set the id and what `initialize` negotiated."""
        self.id = id
        self.name = name_of(id)
        self.store_owner = owner
        self.handler.engine.eras.share_session(session, id, self._shared.cluster.node)
        self.handler.session = session
        self.handler.relay = self._relay

    def restore(self, id: str, fields: Mapping[str, bytes]) -> bool:
        """Become the session with these fields; False if this version cannot serve it."""
        session = read_session(fields)
        if session is None:
            return False
        self.owner = codec.decode_json(fields[_PRINCIPAL])
        self.identify(id, fields[_OWNER].decode(), session)
        return True

    def fields(self) -> dict[str, bytes]:
        """The session as it is stored."""
        assert self.session is not None
        fields = session_fields(self.session)
        fields[_PRINCIPAL] = codec.encode(self.owner)
        fields[_OWNER] = self.store_owner.encode("utf-8", "surrogatepass")
        if self.general_node is not None:
            fields[GENERAL] = self.general_node.encode()
        return fields

    @property
    def is_current(self) -> bool:
        """Whether this copy can be used without asking the store."""
        session = self.session
        return session is not None and session.ready and not self.is_stale

    # -- fields -------------------------------------------------------------------------------

    @property
    def has_unshared_changes(self) -> bool:
        """Whether other processes must be told of changes."""
        return self.session is not None and bool(self.session.unshared)

    async def share(self) -> bool:
        """Tell all processes of changes; False if the session has ended. Raises StoreError."""
        session = self.session
        assert session is not None
        changes, session.unshared = session.unshared or {}, {}
        try:
            return await self.share_fields(changes)
        except StoreError:
            session.unshared = {**changes, **session.unshared}
            raise

    async def share_fields(self, changes: Mapping[str, bytes | None]) -> bool:
        """Tell all processes of these changes; False if the session has ended."""
        exists = await self._stored.change(self.name, changes)
        await self._shared.cluster.publish_and_wait(
            CHANGED, pack(Changed(self.name, dict(changes)))
        )
        return exists

    def change(self, changes: Mapping[str, bytes | None]) -> None:
        """Apply what another process has changed, or what the store has."""
        assert self.session is not None
        change_session(self.session, changes)
        if GENERAL in changes:
            self._set_general_node((changes[GENERAL] or b"").decode())

    # -- messages -----------------------------------------------------------------------------

    def _relay(self, message: Notification | Response) -> None:
        """Pass on what another process waits for."""
        cluster = self._shared.cluster
        if isinstance(message, Notification):
            # Only the process that runs the call knows its id.
            cluster.publish(RELAYED, pack(Relayed(self.name, codec.encode_message(message))))
            return
        # The id of a request contains the process that has sent it.
        node = (message.id or b"").strip(b'"').partition(b"-")[0].decode("latin-1")
        if node not in ("", cluster.node):
            self._unsent.append((node, message))

    def take_answers(self) -> list[Answer]:
        """The answers for other processes in the message that was just handled."""
        answers, self._unsent = self._unsent, []
        return answers

    async def give(self, answers: Sequence[Answer]) -> None:
        """Store answers where their questions find them; raises StoreError."""
        for node, response in answers:
            await self._answers.give(self.name, node, response)

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

    def send_unrelated(self, message: Notification) -> None:
        """Send a notification that belongs to no request, wherever its stream is."""
        cluster = self._shared.cluster
        if self.general_node in (None, cluster.node):
            super().send_unrelated(message)
        else:
            packed = pack(Relayed(self.name, codec.encode_message(message)))
            cluster.send(str(self.general_node), UNRELATED, packed)

    # -- streams ------------------------------------------------------------------------------

    def _new_log(self, number: int, requests: Sequence[bytes]) -> tuple[str, EventLog]:
        name = f"{self._producer}-{number}"
        ids = codec.encode_batch(list(requests))
        return name, SharedEventLog(self.name, name, MAX_STREAM_BYTES, self._shared.events, ids)

    def open_general(self, reply: Reply) -> Stream:
        """Open the stream of a GET in this process."""
        self.general_node = self._shared.cluster.node
        return super().open_general(reply)

    def _set_general_node(self, node: str) -> None:
        """The client has opened its stream in this process or another one."""
        self.general_node = node
        if node == self._shared.cluster.node:
            return
        if self.general is not None:
            self.general.finish()
            self.general = None
        if self._feed is not None:
            self._feed.close()
            self._feed = None

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

    def move_stream(self, name: str, last_event_id: bytes, reply: RemoteReply) -> bool:
        """Continue a stream in another process; False if it is unknown."""
        stream = self.streams.get(name)
        if stream is None or not stream.move_to(reply, last_event_id):
            return False
        if stream.finished:
            stream.detach()
        return True

    def stop_remote(self, name: str, token: str) -> None:
        """The client has left the connection in another process."""
        stream = self.streams.get(name)
        reply = None if stream is None else stream.reply
        if stream is not None and isinstance(reply, RemoteReply) and reply.token == token:
            stream.reply = None

    @property
    def remote_streams(self) -> list[Stream]:
        """The streams whose client is connected to another process."""
        return [each for each in self.streams.values() if isinstance(each.reply, RemoteReply)]

    # -- the end ------------------------------------------------------------------------------

    def leave(self) -> None:
        """Forget the session in this process; other processes go on serving it."""
        if self._feed is not None:
            self._feed.close()
        for in_flight in tuple(self.handler.in_flight.values()):
            in_flight.withdraw(ShutdownError())
        if self.session is not None and self.session.back_channel is not None:
            self.session.back_channel.close()
        for stream in self.streams.values():
            stream.detach()

"""A legacy session: the result of `initialize`, and the session states.

    (none) --initialize--> INITIALIZING --notifications/initialized--> READY

While INITIALIZING, the server responds to requests but sends no requests (except ping) and no
change notifications: lifecycle.init.no-early-requests. A session lasts as long as its stdio
process, in-memory connection or HTTP session.
"""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Any

from dovetail.core.call import Call, Peer
from dovetail.core.link import SessionStateStore
from dovetail.eras.legacy.back_channel import BackChannel
from dovetail.spec.models import ClientInfo
from dovetail.spec.revisions import Revision

__all__ = ["LegacySession", "session_of"]


class LegacySession:
    """One client after its handshake."""

    __slots__ = (
        "__weakref__",
        "_peer",
        "_state_owner",
        "_state_stores",
        "back_channel",
        "capabilities",
        "client",
        "declared",
        "is_kept",
        "log_rank",
        "ready",
        "revision",
        "tasks",
        "unshared",
        "uris",
    )

    def __init__(
        self,
        revision: Revision,
        client: ClientInfo | None,
        capabilities: dict[str, Any],
        log_rank: int | None,
    ) -> None:
        self.revision: Revision = revision
        self.client: ClientInfo | None = client
        self.capabilities: dict[str, Any] = capabilities
        self.log_rank = log_rank
        # Sends requests to the client; None if the transport cannot.
        self.back_channel: BackChannel | None = None
        self._peer: Peer | None = None
        self._state_owner: str | None = None
        # The stores that have values of this session: those of the server and of its mounts.
        self._state_stores: list[SessionStateStore] = []
        self.ready: bool = False
        # The capabilities that the server declared; changes of others are not announced.
        self.declared: frozenset[str] = frozenset()
        # False for the shared session of stateless requests, which must not be modified.
        self.is_kept: bool = True
        # Resources the client has subscribed to.
        self.uris: set[str] = set()
        # Tasks that the client created; it is notified of their changes.
        self.tasks: set[str] = set()
        # Changed fields that other processes do not know yet (see session_fields.py); None if no
        # other process serves the session.
        self.unshared: dict[str, bytes | None] | None = None

    # -- changes, which all processes that serve the session must know -------------------------

    def make_ready(self) -> None:
        """The client has sent `notifications/initialized`."""
        self.ready = True
        self._note("ready", b"")

    def set_log_rank(self, rank: int) -> None:
        """Send log messages of this level and above."""
        self.log_rank = rank
        self._note("log", b"%d" % rank)

    def subscribe(self, uri: str) -> None:
        """Notify the client when this resource changes."""
        self.uris.add(uri)
        self._note(f"uri {uri}", b"")

    def unsubscribe(self, uri: str) -> None:
        """Stop notifying the client of this resource."""
        self.uris.discard(uri)
        self._note(f"uri {uri}", None)

    def watch_task(self, id: str) -> None:
        """Notify the client when this task changes."""
        self.tasks.add(id)
        self._note(f"task {id}", b"")

    def _note(self, field: str, value: bytes | None) -> None:
        if self.unshared is not None:
            self.unshared[field] = value

    # -- the state of handlers ------------------------------------------------------------------

    def share(self, id: str) -> None:
        """Prepare for several processes, which know the session by this id."""
        self.unshared = {}
        # Derived, so that all processes find the same values; the id itself is a credential.
        self._state_owner = f"session:{sha256(id.encode()).hexdigest()}"

    def own_state(self, store: SessionStateStore) -> str | None:
        """The owner of the session's values in a store, None if the session is not kept."""
        if not self.is_kept:
            return None
        if self._state_owner is None:
            self._state_owner = f"session:{secrets.token_urlsafe(32)}"
        if store not in self._state_stores:
            self._state_stores.append(store)
        return self._state_owner

    def forget_state(self) -> None:
        """Remove the values of the session from all stores, because it has ended."""
        for store in self._state_stores:
            store.forget(self._state_owner or "")

    def peer(self) -> Peer:
        """The client, as calls see it."""
        if self._peer is None or self._peer.log_rank != self.log_rank:
            self._peer = Peer(self.client, self.capabilities, self.log_rank)
        return self._peer


def session_of(call: Call) -> LegacySession | None:
    """The session of a call; None before the handshake."""
    session = call.link.session
    assert session is None or isinstance(session, LegacySession)
    return session

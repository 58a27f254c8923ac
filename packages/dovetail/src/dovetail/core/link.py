"""`Link`: how a call reaches its client while it runs, and afterwards.

Every transport implements it completely; `runtime/link.py` has the implementations that need no
transport. Messages are typed and are encoded where they leave.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeAlias

from dovetail.core.changes import ChangeStream
from dovetail.spec.models import InitializeParams
from dovetail.spec.revisions import Revision
from dovetail.wire.messages import Notification, Request

__all__ = [
    "ALL_CHANNELS",
    "ClientChannels",
    "ClientSession",
    "Link",
    "Outgoing",
    "SessionStateStore",
]

# What a server sends besides responses: a request of its own (legacy), or a notification.
Outgoing: TypeAlias = Request | Notification


class ClientChannels(NamedTuple):
    """What a client can receive besides the response."""

    # Notifications of changes to tools, prompts and resources, when they happen.
    changes: bool = True
    # Messages that a handler sends before the response.
    messages: bool = True


ALL_CHANNELS = ClientChannels()


class SessionStateStore(Protocol):
    """Values by owner and key; an owner is a principal or a session."""

    async def get(self, owner: str, key: str) -> bytes | None:
        """The value, None if there is none."""

    async def set(
        self, owner: str, key: str, value: bytes, *, lifetime: float | None, max_bytes: int
    ) -> None:
        """Store a value; raises LimitError if the owner would have more than `max_bytes`.

        The values of an owner expire `lifetime` seconds after the last use of any of them; with
        None they are stored until `forget`.
        """

    async def delete(self, owner: str, key: str) -> None:
        """Remove a value, if it exists."""

    def forget(self, owner: str) -> None:
        """Remove all values of an owner whose session has ended; returns at once."""


class ClientSession(Protocol):
    """A client after its handshake. Only the legacy era knows more about it."""

    @property
    def revision(self) -> Revision:
        """The negotiated revision."""

    def own_state(self, store: SessionStateStore) -> str | None:
        """The owner of the session's values in a store, which it loses when the session ends.

        None if the session is not kept.
        """


class Link(Protocol):
    """The way from a call to its client."""

    @property
    def channels(self) -> ClientChannels:
        """What the client can receive besides the response."""

    @property
    def session(self) -> ClientSession | None:
        """The legacy session of the client, if there is one."""

    def send(self, message: Outgoing) -> None:
        """Send a message that belongs to the call, before its response; from any thread."""

    async def drain(self) -> None:
        """Wait until a slow client has read enough of what was sent."""

    def send_unrelated(self, message: Notification) -> None:
        """Send a notification that belongs to no request."""

    def disconnect(self, retry_ms: int) -> None:
        """Close the connection; the client fetches the rest later, if the transport can do that."""

    def start_session(self, revision: Revision, params: InitializeParams) -> None:
        """Keep what `initialize` negotiated."""

    def open_stream(self, stream: ChangeStream) -> None:
        """Deliver changes to a stream from now on."""

    def close_stream(self, stream: ChangeStream) -> None:
        """Deliver no more changes to a stream."""

    def after_response(self) -> Link:
        """The link for work that goes on after the response, such as a task."""

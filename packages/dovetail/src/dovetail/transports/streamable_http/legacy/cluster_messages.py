"""Messages between the processes that serve the same legacy sessions."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from dovetail.core.principal import Principal
from dovetail.errors import StoreError

__all__ = [
    "CHANGED",
    "ENDED",
    "EVENTS",
    "LEFT",
    "RELAYED",
    "UNRELATED",
    "Changed",
    "Ended",
    "Events",
    "Left",
    "Relayed",
    "SseMessage",
    "Take",
    "Taken",
    "pack",
    "take_topic",
    "unpack",
]

# The topics.
CHANGED = "session changed"
ENDED = "session ended"
RELAYED = "session relayed"
UNRELATED = "session unrelated"
EVENTS = "stream events"
LEFT = "stream left"

T = TypeVar("T")


def take_topic(endpoint: str) -> str:
    """The topic of `Take` requests to one endpoint of a process."""
    return f"stream take {endpoint}"


class Changed(Struct, array_like=True):
    """Fields of a session have changed; None removes one."""

    session: str
    changes: dict[str, bytes | None]


class Ended(Struct, array_like=True):
    """A session has ended."""

    session: str


class Relayed(Struct, array_like=True):
    """A notification of the client that another process waits for, or a message to the client."""

    session: str
    message: bytes


class Take(Struct, array_like=True):
    """Continue a stream in the process that asks, under this token."""

    session: str
    stream: str
    last_event_id: bytes
    token: str


class Taken(Struct, array_like=True):
    """The answer to `Take`."""

    is_known: bool


class Events(Struct, array_like=True):
    """An encoded event of a stream that was taken; `is_last`: nothing follows."""

    token: str
    # The number of the event in its stream; -1 if it has none.
    number: int = -1
    chunk: bytes = b""
    is_answer: bool = False
    is_last: bool = False


class Left(Struct, array_like=True):
    """The client has left the connection on which a stream was continued."""

    session: str
    stream: str
    token: str


class SseMessage(Struct, array_like=True):
    """A message for a stream of HTTP+SSE in another process, and its sender."""

    id: str
    body: bytes
    owner: str | None
    scopes: list[str]
    claims: dict[str, Any]
    trusted: bool

    @classmethod
    def of(cls, id: str, body: bytes, principal: Principal | None) -> SseMessage:
        """The message of this sender."""
        if principal is None:
            return cls(id, body, None, [], {}, False)
        scopes, claims = sorted(principal.scopes), dict(principal.claims)
        return cls(id, body, principal.id, scopes, claims, principal.trusted)

    def principal(self) -> Principal | None:
        """The sender."""
        if self.owner is None:
            return None
        return Principal(self.owner, self.scopes, self.claims, trusted=self.trusted)


def pack(message: Struct) -> bytes:
    """Encode a message."""
    return msgspec.msgpack.encode(message)


def unpack(kind: type[T], data: bytes) -> T:
    """Decode a message; raises StoreError if another version has sent it."""
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except msgspec.DecodeError as error:
        raise StoreError(f"a message of another process cannot be read: {error}") from None

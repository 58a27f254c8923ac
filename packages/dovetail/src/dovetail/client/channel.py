"""The interface between a client and whatever carries its messages.

A channel moves whole messages as bytes and knows nothing of what is in them. It
calls back on the event loop: once per message, and at most once when the other side
is gone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Protocol

from dovetail.errors import TransportError

__all__ = [
    "Channel",
    "Connectable",
    "Connected",
    "OnClosed",
    "OnMessage",
    "SessionEndedError",
    "UnreachableError",
]

OnMessage = Callable[[bytes], None]
OnClosed = Callable[[TransportError], None]


class UnreachableError(TransportError):
    """Nobody is there, or nobody is let in: trying another era would not help."""


class SessionEndedError(TransportError):
    """The server has forgotten the session; the message was not looked at.

    Given to `on_closed`, it says the same where nobody was asking: the server is still there.
    """


class Connected(Protocol):
    """The server's end of a channel inside one process."""

    def receive(self, data: bytes) -> None:
        """Take one message; never raises."""

    def close(self) -> Awaitable[None]:
        """End what is under way."""


class Connectable(Protocol):
    """A server in this process, as far as a client needs to know it."""

    def connect(self, send: Callable[[bytes], None]) -> Connected:
        """Open a connection whose answers go to `send`."""


class Channel(ABC):
    """Carries messages to one server and back."""

    @abstractmethod
    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Reach the server; raises TransportError where that is impossible."""

    @abstractmethod
    async def send(self, data: bytes) -> None:
        """Hand over one message; raises TransportError once the server is gone.

        Where each request has a response of its own (HTTP), this lasts until that response
        is over: cancelling it closes the response, and what goes wrong is raised here.
        Raises PeerError too, for a response that makes no sense.
        """

    @abstractmethod
    async def close(self) -> None:
        """Let go of the server; may be called twice, never raises for a server that is gone."""

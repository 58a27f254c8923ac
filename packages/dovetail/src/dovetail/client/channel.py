"""The interface between a client and its transport.

A channel sends and receives whole messages as bytes and does not look into them. It calls back on
the event loop: once per message, and at most once when the connection ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from dovetail.errors import TransportError
from dovetail.wire import codec
from dovetail.wire.messages import Incoming, Request

__all__ = [
    "Channel",
    "Connectable",
    "Connected",
    "OnClosed",
    "OnMessage",
    "SessionEndedError",
    "StreamLostError",
]

OnClosed = Callable[[TransportError], None]
"""Takes the error that ended the connection; called at most once."""


class OnMessage(Protocol):
    """Takes the messages of the server."""

    def __call__(self, data: bytes, message: Incoming | None = None, /) -> None:
        """Take one message, which the channel may have decoded already."""


class SessionEndedError(TransportError):
    """The session has expired on the server, which did not process the message.

    `on_closed` also receives it when no request is pending. The server can still be reached.
    """


class StreamLostError(TransportError):
    """The stream on which the server sends messages is lost; later requests can still be sent.

    With `carries_responses` (HTTP+SSE), pending requests are lost with it.
    """

    def __init__(self, text: str, *, carries_responses: bool = False) -> None:
        super().__init__(text)
        self.carries_responses = carries_responses


class Connected(Protocol):
    """The server's end of a channel inside one process."""

    def receive(self, data: bytes) -> None:
        """Handle one message; never raises."""

    def close(self) -> Awaitable[None]:
        """Cancel running requests and close."""


class Connectable(Protocol):
    """A server in this process."""

    def connect(self, send: Callable[[bytes], None]) -> Connected:
        """Open a connection that passes its messages to `send`."""


class Channel(ABC):
    """Exchanges messages with one server."""

    # For telemetry: "http", "stdio" or another name, and host and port if there are any.
    transport = ""
    address: tuple[str, int] | None = None
    # Whether `send` lasts until the response has arrived.
    waits_for_response = False

    @abstractmethod
    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Connect to the server; raises TransportError if that fails."""

    @abstractmethod
    async def send(self, data: bytes) -> None:
        """Send one message; raises TransportError if the connection is closed.

        Over HTTP, where each request has its own response, this returns when that response
        ends: cancelling it closes the response, and its errors are raised here. Raises PeerError
        for a response that breaks the protocol.
        """

    async def send_request(self, request: Request, params: Mapping[str, Any] | None) -> None:
        """Send a request; `params` are its params before they were encoded."""
        await self.send(codec.encode_message(request))

    @abstractmethod
    async def close(self) -> None:
        """Close the connection; may be called twice, never raises for a server that has ended."""

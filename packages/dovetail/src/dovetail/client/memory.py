"""A channel to a server object in the same process.

Messages are still encoded and decoded, so tests see the same bytes as over a network.
"""

from __future__ import annotations

from dovetail.client.channel import Channel, Connectable, Connected, OnClosed, OnMessage
from dovetail.errors import TransportError

__all__ = ["MemoryChannel"]


class MemoryChannel(Channel):
    """Uses `server.connect(...)`."""

    def __init__(self, server: Connectable) -> None:
        self._server = server
        self._connection: Connected | None = None

    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Connect. `on_closed` is not used: the server cannot disconnect."""
        self._connection = self._server.connect(on_message)

    async def send(self, data: bytes) -> None:
        """Pass one message to the server."""
        if self._connection is None:
            raise TransportError("The connection to the server is closed")
        self._connection.receive(data)

    async def close(self) -> None:
        """Close the server's connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

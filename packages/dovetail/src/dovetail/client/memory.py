"""A channel to a server object in the same process: no bytes leave it.

Messages are still encoded and decoded, so what a test sees is what the wire would see.
"""

from __future__ import annotations

from dovetail.client.channel import Channel, Connectable, Connected, OnClosed, OnMessage
from dovetail.errors import TransportError

__all__ = ["MemoryChannel"]


class MemoryChannel(Channel):
    """Talks to `server.connect(...)`."""

    def __init__(self, server: Connectable) -> None:
        self._server = server
        self._connection: Connected | None = None

    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Connect; a server in the same process cannot go away on its own."""
        self._connection = self._server.connect(on_message)

    async def send(self, data: bytes) -> None:
        """Give the server one message."""
        if self._connection is None:
            raise TransportError("The connection to the server is closed")
        self._connection.receive(data)

    async def close(self) -> None:
        """Close the server's end."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

"""How the HTTP server gets its connections: from a listening socket, or from another process."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Protocol, TypeAlias

__all__ = ["BACKLOG", "Acceptor", "ListenerAcceptor", "ProtocolFactory", "accept_waiting", "adopt"]

ProtocolFactory: TypeAlias = Callable[[], asyncio.BaseProtocol]

# Connections that wait until they are accepted.
BACKLOG = 2048


class Acceptor(Protocol):
    """Gives new connections to the HTTP server."""

    @property
    def port(self) -> int:
        """The port that clients connect to."""

    async def open(self, factory: ProtocolFactory, count: Callable[[], int]) -> None:
        """Serve new connections with the protocols that `factory` makes.

        `count` returns the number of open connections.
        """

    async def stop(self) -> None:
        """Stop accepting; connections that wait already are served."""

    def close(self) -> None:
        """Stop at once; may be called twice."""


class ListenerAcceptor:
    """Accepts from a listening socket of its own."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.port: int = listener.getsockname()[1]
        self._factory: ProtocolFactory | None = None
        self._server: asyncio.Server | None = None

    async def open(self, factory: ProtocolFactory, count: Callable[[], int]) -> None:
        """Serve new connections with the protocols that `factory` makes."""
        self._factory = factory
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(factory, sock=self._listener, backlog=BACKLOG)

    async def stop(self) -> None:
        """Stop accepting; connections that wait already are served."""
        if self._factory is None:
            # It was cancelled before it began.
            self.close()
            return
        # The system resets the connections in the queue of a listening socket that is closed. So
        # a copy of the socket is closed last, right after its queue was found empty.
        with self._listener.dup() as copy:
            copy.setblocking(False)
            self.close()
            # The event loop closes its socket in the next turn.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            waiting = accept_waiting(copy)
        for connection in waiting:
            await adopt(connection, self._factory)

    def close(self) -> None:
        """Stop at once; may be called twice."""
        if self._server is not None:
            self._server.close()
        self._listener.close()


def accept_waiting(listener: socket.socket) -> list[socket.socket]:
    """The connections in the queue of a listening socket that does not block."""
    found = []
    while True:
        try:
            found.append(listener.accept()[0])
        except OSError:
            return found


async def adopt(connection: socket.socket, factory: ProtocolFactory) -> None:
    """Serve a connection that was accepted elsewhere."""
    connection.setblocking(False)
    # The client may be gone already.
    with contextlib.suppress(OSError):
        # Without it, each event of a stream waits for the acknowledgement of the previous one.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().connect_accepted_socket(factory, connection)
        return
    connection.close()

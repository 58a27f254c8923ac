"""A listening socket that is closed loses no connection that waits in its queue."""

from __future__ import annotations

import asyncio
import socket

import pytest

from dovetail.transports.http_server import Acceptor, bind
from tests.patience import CAP


class Echo(asyncio.Protocol):
    """Sends back what it gets."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)


def talk(connection: socket.socket) -> bytes:
    connection.settimeout(CAP)
    with connection:
        connection.sendall(b"hello")
        return connection.recv(5)


def test_connections_that_wait_are_served_and_later_ones_refused() -> None:
    async def run() -> None:
        acceptor = Acceptor(bind("127.0.0.1", 0))
        address = ("127.0.0.1", acceptor.port)
        await acceptor.open(Echo)
        # The event loop has no turn to accept them before it stops.
        waiting = [socket.create_connection(address) for _ in range(5)]
        await acceptor.stop()
        acceptor.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
        answers = await asyncio.gather(*(asyncio.to_thread(talk, each) for each in waiting))
        assert answers == [b"hello"] * 5

    asyncio.run(run())


def test_an_acceptor_that_was_never_opened_can_be_stopped() -> None:
    acceptor = Acceptor(bind("127.0.0.1", 0))
    asyncio.run(acceptor.stop())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", acceptor.port))

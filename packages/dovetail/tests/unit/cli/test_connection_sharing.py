"""The supervisor passes each connection to the worker that has the fewest."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dovetail.cli import connection_sharing
from dovetail.cli.connection_sharing import ConnectionSharer, SharedAcceptor
from dovetail.transports.http_server import bind
from tests.patience import CAP


class Worker:
    """A worker in this process; its answers are its name."""

    def __init__(self, name: str, sharer: ConnectionSharer, listener: socket.socket) -> None:
        self.name = name
        self.open = 0
        self.channel, other = socket.socketpair()
        self._sharer = sharer
        self.acceptor = SharedAcceptor(other, listener.getsockname()[1])

    async def start(self) -> None:
        await self.acceptor.open(lambda: _Named(self), lambda: self.open)
        self._sharer.add(self.channel)

    def end(self) -> None:
        self._sharer.remove(self.channel)
        self.acceptor.close()
        self.channel.close()


class _Named(asyncio.Protocol):
    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._worker.open += 1
        transport.write(self._worker.name.encode())

    def connection_lost(self, error: Exception | None) -> None:
        self._worker.open -= 1


class Client:
    """A connection, and the name of the worker that has it."""

    def __init__(self, name: str, writer: asyncio.StreamWriter) -> None:
        self.name = name
        self._writer = writer

    @classmethod
    async def connect(cls, listener: socket.socket) -> Client:
        async with asyncio.timeout(CAP):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            return cls((await reader.readexactly(1)).decode(), writer)

    def close(self) -> None:
        self._writer.close()


@contextmanager
def sharing() -> Iterator[tuple[ConnectionSharer, socket.socket]]:
    with bind("127.0.0.1", 0) as listener:
        yield ConnectionSharer(listener), listener


def test_connections_are_shared_evenly_also_after_some_have_ended() -> None:
    async def run() -> None:
        with sharing() as (sharer, listener):
            workers = [Worker(name, sharer, listener) for name in "ab"]
            for worker in workers:
                await worker.start()
            clients = await asyncio.gather(*(Client.connect(listener) for _ in range(8)))
            assert sorted(client.name for client in clients) == [*"aaaabbbb"]
            for client in clients:
                if client.name == "a":
                    client.close()
            while workers[0].open or sharer._peers[workers[0].channel].load:
                await asyncio.sleep(0)
            more = [await Client.connect(listener) for _ in range(4)]
            assert [client.name for client in more] == [*"aaaa"]
            for client in (*clients, *more):
                client.close()
            for worker in workers:
                worker.end()
            sharer.close()

    asyncio.run(run())


def test_workers_take_turns_with_connections_that_end_at_once() -> None:
    async def run() -> None:
        with sharing() as (sharer, listener):
            workers = [Worker(name, sharer, listener) for name in "ab"]
            for worker in workers:
                await worker.start()
            names = []
            for _ in range(4):
                client = await Client.connect(listener)
                names.append(client.name)
                client.close()
                while any(sharer._peers[worker.channel].load for worker in workers):
                    await asyncio.sleep(0)
            assert names in ([*"abab"], [*"baba"])
            for worker in workers:
                worker.end()
            sharer.close()

    asyncio.run(run())


def test_connections_wait_while_there_is_no_worker() -> None:
    async def run() -> None:
        with sharing() as (sharer, listener):
            waiting = [asyncio.create_task(Client.connect(listener)) for _ in range(3)]
            worker = Worker("a", sharer, listener)
            await worker.start()
            for client in await asyncio.gather(*waiting):
                client.close()
            worker.end()
            late = asyncio.create_task(Client.connect(listener))
            other = Worker("b", sharer, listener)
            await other.start()
            client = await late
            assert client.name == "b"
            client.close()
            other.end()
            address = listener.getsockname()
            sharer.close()
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection(*address)

    asyncio.run(run())


def test_a_worker_that_stops_serves_what_it_was_sent() -> None:
    async def run() -> None:
        with sharing() as (sharer, listener):
            worker = Worker("a", sharer, listener)
            await worker.start()
            # The event loop has no turn in which the worker could take it.
            with socket.create_connection(listener.getsockname()) as client:
                sharer._pass_on()
                sharer.remove(worker.channel)
                await worker.acceptor.stop()
                assert worker.open == 1
                client.settimeout(CAP)
                assert await asyncio.to_thread(client.recv, 1) == b"a"
            worker.end()
            sharer.close()

    asyncio.run(run())


def test_a_worker_that_has_ended_gets_no_connections() -> None:
    async def run() -> None:
        with sharing() as (sharer, listener):
            workers = [Worker(name, sharer, listener) for name in "ab"]
            for worker in workers:
                await worker.start()
            workers[0].acceptor.close()
            clients = [await Client.connect(listener) for _ in range(4)]
            assert {client.name for client in clients} == {"b"}
            for client in clients:
                client.close()
            for worker in workers:
                worker.end()
            sharer.close()

    asyncio.run(run())


def test_a_blocked_worker_gets_connections_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_sharing, "_BLOCKED_SECONDS", -1.0)

    async def run() -> None:
        with sharing() as (sharer, listener):
            # Nobody reads the connections of the first worker.
            blocked, unread = socket.socketpair()
            sharer.add(blocked)
            with socket.create_connection(listener.getsockname()):
                sharer._pass_on()
            worker = Worker("b", sharer, listener)
            await worker.start()
            clients = [await Client.connect(listener) for _ in range(4)]
            assert {client.name for client in clients} == {"b"}
            for client in clients:
                client.close()
            sharer.remove(blocked)
            blocked.close()
            unread.close()
            worker.end()
            sharer.close()

    asyncio.run(run())


def test_connections_that_no_worker_can_take_are_offered_again() -> None:
    async def run() -> None:
        with sharing() as (sharer, listener):
            full, unread = socket.socketpair()
            sharer.add(full)
            with pytest.raises(BlockingIOError):
                while True:
                    full.send(b"." * 65536)
            waiting = asyncio.create_task(Client.connect(listener))
            while not sharer._held:
                await asyncio.sleep(0)
            worker = Worker("b", sharer, listener)
            await worker.start()
            client = await waiting
            assert client.name == "b"
            client.close()
            sharer.remove(full)
            worker.end()
            sharer.close()
            full.close()
            unread.close()

    asyncio.run(run())

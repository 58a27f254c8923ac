"""A balancer in the event loop of a test: each HTTP request goes to a process of its own choice.

    async with balancing(seed=1) as balancer:
        balancer.add(8001)
        balancer.add(8002)
        async with Client(balancer.url) as client: ...
        balancer.choose = lambda request_line: 1      # from now on, all to the second one

A connection carries one request: the balancer adds `Connection: close`, so no client and no server
sticks to anything. Bytes are passed on as they come, so streams are not buffered, and when one side
goes away, so does the other.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

__all__ = ["Balancer", "balancing"]

_CHUNK = 65536


class Balancer:
    """Forwards requests to ports of this machine."""

    def __init__(self, seed: int) -> None:
        self.ports: list[int] = []
        # How many requests each port has got.
        self.counts: dict[int, int] = {}
        # The index of the port for a request, which is given as its first line.
        chance = random.Random(seed)
        self.choose: Callable[[str], int] = lambda _: chance.randrange(len(self.ports))
        self.port = 0

    def add(self, port: int) -> None:
        """Forward requests to this port as well."""
        self.ports.append(port)
        self.counts[port] = 0

    @property
    def url(self) -> str:
        """The URL of the endpoint."""
        return f"http://127.0.0.1:{self.port}/mcp"

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a client."""
        backend: asyncio.StreamWriter | None = None
        try:
            line = await reader.readuntil(b"\r\n")
            port = self.ports[self.choose(line.decode("latin-1").strip())]
            self.counts[port] += 1
            answers, backend = await asyncio.open_connection("127.0.0.1", port)
            backend.write(line + b"Connection: close\r\n")
            await _until_first(_pump(reader, backend), _pump(answers, writer))
        except (OSError, asyncio.IncompleteReadError):
            # The client sees that its connection ends.
            pass
        finally:
            for each in (writer, backend):
                if each is not None:
                    each.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()


async def _until_first(*pumps: Coroutine[Any, Any, None]) -> None:
    tasks = [asyncio.create_task(pump) for pump in pumps]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


@asynccontextmanager
async def balancing(seed: int = 0) -> AsyncIterator[Balancer]:
    """A balancer on a free port."""
    balancer = Balancer(seed)
    open_connections: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(balancer.forward(reader, writer))
        open_connections.add(task)
        task.add_done_callback(open_connections.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, backlog=2048)
    balancer.port = server.sockets[0].getsockname()[1]
    try:
        yield balancer
    finally:
        server.close()
        for task in list(open_connections):
            task.cancel()
        if open_connections:
            await asyncio.wait(open_connections)

"""A raw socket server that tests script byte by byte."""

from __future__ import annotations

import asyncio
import gc
import ssl
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from dovetail_check.connections.base import Recorder
from dovetail_check.connections.http_connection import HttpConnection
from dovetail_check.frames import Frame
from dovetail_check.recording import Recording
from tests.patience import CAP

__all__ = ["OK", "STREAM", "Peer", "Serve", "drive", "event"]

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
# Without a length: the stream lasts as long as the connection.
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


class Peer:
    """The server side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.head = b""
        self.body = b""

    async def read_head(self) -> bool:
        """Read a request up to its body; False if the client closed without one."""
        try:
            self.head = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return False
        return True

    async def read_body(self) -> bytes:
        """Read the body."""
        for line in self.head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                self.body = await self._reader.readexactly(int(line.partition(b":")[2]))
        return self.body

    async def say(self, data: bytes) -> None:
        """Send bytes."""
        self._writer.write(data)
        await self._writer.drain()

    async def wait_until_gone(self) -> None:
        """Wait until the client closes."""
        while await self._reader.read(65536):
            pass


Serve: TypeAlias = Callable[[Peer], Awaitable[None]]


def event(data: bytes, head: bytes = b"") -> bytes:
    return head + b"data: " + data + b"\n\n"


def drive(
    serve: Serve,
    work: Callable[[HttpConnection], Awaitable[None]],
    *,
    make: type[HttpConnection] = HttpConnection,
    context: ssl.SSLContext | None = None,
) -> list[Frame]:
    """Serve with one function, use the connection with another, and return the frames."""
    recording = Recording()

    async def main() -> None:
        tasks: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            peer = Peer(reader, writer)
            try:
                if await peer.read_head():
                    await serve(peer)
            except (ConnectionError, asyncio.CancelledError):
                pass
            finally:
                writer.close()

        listener = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
        port = listener.sockets[0].getsockname()[1]
        scheme = "http" if context is None else "https"
        connection = make(
            Recorder(recording, "http test", "main"), f"{scheme}://127.0.0.1:{port}/mcp"
        )
        try:
            async with asyncio.timeout(CAP):
                await connection.open()
                try:
                    await work(connection)
                finally:
                    await connection.close()
        finally:
            listener.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())
    # A transport that was left open says so when it is collected.
    gc.collect()
    return recording.frames

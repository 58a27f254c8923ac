"""The transports that transcripts run over: the client's end of each."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO, Protocol

from dovetail.spec.revisions import Revision
from dovetail.transports.http_server import HttpParser
from tests.patience import CAP
from tests.transcripts.forking import start_server
from tests.transcripts.handle_wire import HandleWire
from tests.transcripts.http_wire import open_http, open_sse
from tests.transcripts.server import PRINCIPALS, make_server

__all__ = ["Wire", "open_wire"]

# Longer than any line a fixture sends.
_LINE_LIMIT = 1024 * 1024


class Wire(Protocol):
    """The client's end."""

    async def send(self, line: bytes) -> None: ...

    async def receive(self) -> bytes | None:
        """The next line, or None when the server has closed its end."""

    async def close(self) -> None:
        """Say that nothing more will be sent."""


class _MemoryWire:
    def __init__(self, variant: str) -> None:
        self._server = make_server(variant)
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        principal = PRINCIPALS.get(variant)
        self._connection = self._server.connect(self._lines.put_nowait, principal=principal)
        self._is_open = True

    async def send(self, line: bytes) -> None:
        self._connection.receive(line)

    async def receive(self) -> bytes | None:
        return await self._lines.get()

    async def close(self) -> None:
        if self._is_open:
            self._is_open = False
            await self._connection.close()
            await self._server.close()
            self._lines.put_nowait(None)


class _StdioWire:
    def __init__(
        self, stdin: asyncio.WriteTransport, stdout: asyncio.StreamReader, log: IO[bytes]
    ) -> None:
        self._log = log
        self._stdin = stdin
        self._stdout = stdout

    async def send(self, line: bytes) -> None:
        self._stdin.write(line + b"\n")

    async def receive(self) -> bytes | None:
        return (await self._stdout.readline()) or None

    async def close(self) -> None:
        self._stdin.close()

    async def wait(self) -> None:
        """Wait until the server has closed its end."""
        self._stdin.close()
        async with asyncio.timeout(CAP):
            await self._stdout.read()

    def stderr(self) -> str:
        """What the process has written to stderr so far."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")


@asynccontextmanager
async def open_wire(transport: str, variant: str, revision: Revision) -> AsyncIterator[Wire]:
    """A new server of this variant at the other end."""
    if transport in ("http", "http-h11"):
        parser: HttpParser = "h11" if transport == "http-h11" else "httptools"
        async with open_http(variant, parser, revision) as over_http:
            yield over_http
        return
    if transport == "sse":
        async with open_sse(variant) as over_sse:
            yield over_sse
        return
    if transport in ("memory", "handle"):
        wire: Wire = (
            _MemoryWire(variant) if transport == "memory" else HandleWire(variant, revision)
        )
        try:
            yield wire
        finally:
            await wire.close()
        return
    async with _open_stdio(variant) as over_stdio:
        yield over_stdio


@asynccontextmanager
async def _open_stdio(variant: str) -> AsyncIterator[_StdioWire]:
    """A server process at the other end of two pipes."""
    loop = asyncio.get_running_loop()
    their_input, our_output = os.pipe()
    our_input, their_output = os.pipe()
    with tempfile.TemporaryFile() as log:
        try:
            id = start_server([variant], their_input, their_output, log.fileno())
        finally:
            os.close(their_input)
            os.close(their_output)
        stdout = asyncio.StreamReader(_LINE_LIMIT)
        reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stdout), os.fdopen(our_input, "rb")
        )
        stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(our_output, "wb"))
        wire = _StdioWire(stdin, stdout, log)
        try:
            yield wire
        except BaseException as error:
            error.add_note(f"the server's stderr:\n{wire.stderr()}")
            raise
        finally:
            try:
                await wire.wait()
            except TimeoutError:
                os.kill(id, signal.SIGKILL)
                raise
            finally:
                reading.close()

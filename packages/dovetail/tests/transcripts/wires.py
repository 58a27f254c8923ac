"""Two ways to the same server: in this process, and in one of its own over pipes."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from tests.patience import CAP
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
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._stdin = process.stdin
        self._stdout = process.stdout

    async def send(self, line: bytes) -> None:
        self._stdin.write(line + b"\n")
        await self._stdin.drain()

    async def receive(self) -> bytes | None:
        return (await self._stdout.readline()) or None

    async def close(self) -> None:
        self._stdin.close()


@asynccontextmanager
async def open_wire(transport: str, variant: str) -> AsyncIterator[Wire]:
    """A new server of this variant at the other end."""
    if transport == "memory":
        wire = _MemoryWire(variant)
        try:
            yield wire
        finally:
            await wire.close()
        return
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.transcripts.server", variant),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            limit=_LINE_LIMIT,
        )
        try:
            yield _StdioWire(process)
        except BaseException as error:
            log.seek(0)
            error.add_note(f"the server's stderr:\n{log.read().decode(errors='replace')}")
            raise
        finally:
            await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(CAP):
            await process.stdout.read()
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    finally:
        process._transport.close()  # type: ignore[attr-defined]

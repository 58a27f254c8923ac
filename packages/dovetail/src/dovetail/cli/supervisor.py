"""Worker processes that share one listening socket: several, or one that is restarted.

The supervisor keeps the socket open, so clients wait while a worker is replaced. A worker writes
a report to a pipe when it is ready; if the pipe closes without one, the worker could not start.
All workers get the same random key for sealed state. Workers run in their own process sessions, so
that Ctrl-C reaches only the supervisor, and exit when their stdin is closed, which happens when the
supervisor ends.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from dovetail.cli.file_watcher import take_snapshot, wait_for_change
from dovetail.wire import codec

__all__ = [
    "SHARED_FOLDER",
    "STATE_KEY",
    "EndpointReport",
    "Supervisor",
    "WorkerReport",
    "read_all",
    "stop_process",
]

# Seconds before a restart, and from the end of the grace period until a worker is killed.
_RESTART_DELAY = 0.5
_STOP_SECONDS = 5.0
# The environment variables with the key, in hex, and with a folder for what workers share.
STATE_KEY = "DOVETAIL_STATE_KEY"
SHARED_FOLDER = "DOVETAIL_SHARED_FOLDER"


class EndpointReport(Struct):
    """An endpoint that is ready, for the messages to the user."""

    name: str
    path: str = "/mcp"
    requires_auth: bool = False
    has_sessions: bool = True


class WorkerReport(Struct):
    """What a worker reports when it is ready."""

    endpoints: list[EndpointReport]
    grace: float
    warnings: list[str] = []


class Supervisor:
    """Starts and stops workers."""

    def __init__(
        self,
        command: Sequence[str],
        listener: socket.socket,
        *,
        log: Callable[[str], None],
        announce: Callable[[WorkerReport], None],
    ) -> None:
        """`announce` is called once, with the report of the first worker.

        The listener is closed when the supervisor stops.
        """
        self._command = command
        self._listener = listener
        self._log = log
        self._announce = announce
        self._running: set[Process] = set()
        self._grace = 0.0
        self._is_announced = False
        self._folder = tempfile.TemporaryDirectory(prefix="dovetail-")
        self._environment = {
            **os.environ,
            STATE_KEY: secrets.token_hex(32),
            SHARED_FOLDER: self._folder.name,
        }

    async def keep(self, count: int) -> int:
        """Keep `count` workers running; returns the exit code of a worker that cannot start."""
        slots: list[asyncio.Future[int]] = []
        try:
            first, is_ready = await self._start()
            if not is_ready:
                return await first.wait() or 1
            slots += [asyncio.ensure_future(self._keep_one(first))]
            slots += [asyncio.ensure_future(self._keep_one(None)) for _ in range(count - 1)]
            done, _ = await asyncio.wait(slots, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            # Cancel these first, because they start new workers.
            for slot in slots:
                slot.cancel()
            await self._shut_down()

    async def _keep_one(self, process: Process | None) -> int:
        while True:
            if process is None:
                process, is_ready = await self._start()
                if not is_ready:
                    return await process.wait() or 1
            code = await process.wait()
            self._running.discard(process)
            self._log(f"Worker {process.pid} exited with code {code}; starting another one")
            await asyncio.sleep(_RESTART_DELAY)
            process = None

    async def reload(self, folder: Path) -> int:
        """Keep one worker, and restart it whenever a Python file in the folder changes."""
        try:
            while True:
                before = take_snapshot(folder)
                process, is_ready = await self._start()
                change = asyncio.ensure_future(wait_for_change(folder, before))
                end = asyncio.ensure_future(process.wait())
                if is_ready:
                    await asyncio.wait([change, end], return_when=asyncio.FIRST_COMPLETED)
                if not change.done():
                    self._log("The server has exited; it restarts when a file changes")
                self._log(f"{await change} changed; restarting")
                await self._stop(process)
                await end
        finally:
            await self._shut_down()

    async def _start(self) -> tuple[Process, bool]:
        """Start a worker; returns it, and whether it is ready or failed to start."""
        reading, writing = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                f"--worker={self._listener.fileno()},{writing}",
                stdin=PIPE,
                env=self._environment,
                pass_fds=(self._listener.fileno(), writing),
                start_new_session=True,
            )
        finally:
            os.close(writing)
        self._running.add(process)
        data = await read_all(reading)
        if not data:
            return process, False
        report = codec.decode_as(WorkerReport, data)
        self._grace = report.grace
        if not self._is_announced:
            self._is_announced = True
            self._announce(report)
        return process, True

    async def _stop(self, process: Process) -> None:
        await stop_process(process, self._grace)
        self._running.discard(process)

    async def _shut_down(self) -> None:
        # Otherwise clients could still connect, and nobody would answer them.
        self._listener.close()
        await asyncio.gather(*map(self._stop, list(self._running)))
        self._folder.cleanup()


async def stop_process(process: Process, grace: float) -> None:
    """Terminate a process; kill it some time after its grace period."""
    if process.returncode is None:
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), grace + _STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


async def read_all(descriptor: int) -> bytes:
    """Everything that is written to a pipe until it is closed."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    try:
        return await reader.read()
    finally:
        transport.close()

"""Worker processes on one address: several, or one that is restarted.

Each worker listens on a socket of its own (SO_REUSEPORT), and the system chooses one for each
connection by a hash of its addresses. The supervisor binds the sockets and keeps them open, so a
worker that is restarted leaves its socket, with the connections that wait, to the next one. The
socket of a worker that died is closed, so that new connections reach the others.

A worker writes a report to a pipe when it is ready; if the pipe closes without one, the worker
could not start. SIGHUP replaces the workers one after the other, without losing a request.
All workers get the same random key for sealed state. Workers run in their own process sessions, so
that Ctrl-C reaches only the supervisor, and exit when their stdin is closed, which happens when the
supervisor ends.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from dovetail.cli import WORKER
from dovetail.cli.failure_page import serve_failure
from dovetail.cli.log_format import chosen_log_format, chosen_log_level
from dovetail.cli.process import take_snapshot, wait_for_change
from dovetail.cli.settings import HttpSettings, WorkerSettings
from dovetail.wire import codec

__all__ = [
    "EndpointReport",
    "Supervisor",
    "WorkerReport",
]

# Seconds before a restart, and from the end of the grace period until a worker is killed.
_RESTART_DELAY = 0.5
_STOP_SECONDS = 5.0


class EndpointReport(Struct):
    """An endpoint that is ready, for the messages to the user."""

    name: str
    path: str = "/mcp"
    requires_auth: bool = False


class WorkerReport(Struct):
    """What a worker reports when it is ready."""

    endpoints: list[EndpointReport]
    grace: float
    warnings: list[str] = []
    # Whether the console is on.
    console: bool = False
    # Why the worker cannot start; it has printed that too.
    error: str = ""


class _StartError(Exception):
    """A worker could not start; it has printed why."""

    def __init__(self, code: int, reason: str = "") -> None:
        self.code = code or 1
        self.reason = reason or f"it exited with code {code}, see its output"


class _Worker(NamedTuple):
    """A running worker, and the socket that it listens on."""

    process: Process
    listener: socket.socket


class _Slot:
    """The place of a worker that is replaced when it ends."""

    def __init__(self, worker: _Worker) -> None:
        self.worker = worker
        # Held while the worker is replaced.
        self.replacing = asyncio.Lock()


class Supervisor:
    """Starts, replaces and stops workers."""

    def __init__(
        self,
        command: Sequence[str],
        settings: HttpSettings,
        open_listener: Callable[[], socket.socket],
        *,
        log: Callable[[str], None],
        announce: Callable[[WorkerReport], None],
    ) -> None:
        """`open_listener` returns another socket on the address, for a worker to listen on.

        `announce` is called once, with the report of the first worker.
        """
        self._command = command
        self._settings = settings
        self._open_listener = open_listener
        self._log = log
        self._announce = announce
        self._running: set[_Worker] = set()
        self._grace = 0.0
        self._is_announced = False
        self._restart_wanted = asyncio.Event()
        self._folder = tempfile.TemporaryDirectory(prefix="dovetail-")
        self._state_key = secrets.token_hex(32)

    async def run_workers(self, count: int) -> int:
        """Keep `count` workers running; returns the exit code of a worker that cannot start."""
        slots: list[_Slot] = []
        tasks: list[asyncio.Future[Any]] = []
        try:
            # The others start at the same time once the first shows that the server can start.
            slots.append(_Slot(await self._start()))
            starting = [asyncio.ensure_future(self._start()) for _ in range(count - 1)]
            tasks += starting
            slots += map(_Slot, await asyncio.gather(*starting))
            tasks += [asyncio.ensure_future(self._run_slot(slot)) for slot in slots]
            tasks.append(asyncio.ensure_future(self._restart_on_demand(slots)))
            await asyncio.gather(*tasks)
        except _StartError as error:
            return error.code
        finally:
            # Cancel these first, because they start new workers.
            for task in tasks:
                task.cancel()
            await self._shut_down()
        return 0

    async def _run_slot(self, slot: _Slot) -> None:
        while True:
            worker = slot.worker
            code = await worker.process.wait()
            async with slot.replacing:
                if slot.worker is worker:
                    self._running.discard(worker)
                    if self._running:
                        # The others get the connections that would wait here.
                        worker.listener.close()
                    self._log(
                        f"Worker {worker.process.pid} exited with code {code}; starting another one"
                    )
                    slot.worker = await self._start_again(worker.listener)

    async def _start_again(self, listener: socket.socket) -> _Worker:
        """Start a worker in place of one that has ended; raises _StartError if it was the last."""
        while True:
            await asyncio.sleep(_RESTART_DELAY)
            try:
                return await self._start(listener if listener.fileno() >= 0 else None)
            except _StartError:
                if not self._running:
                    raise
                self._log("The worker could not start; trying again, the others go on")

    def restart(self) -> None:
        """Replace all workers, one after the other, while the others serve."""
        self._restart_wanted.set()

    async def _restart_on_demand(self, slots: Sequence[_Slot]) -> None:
        while True:
            await self._restart_wanted.wait()
            self._restart_wanted.clear()
            self._log(f"Restarting {len(slots)} workers, one after the other")
            try:
                for slot in slots:
                    async with slot.replacing:
                        old, slot.worker = slot.worker, await self._start(slot.worker.listener)
                        await self._stop(old)
            except _StartError:
                self._log("The new worker could not start; the old workers go on")
            else:
                self._log("All workers have been restarted")

    async def reload(self, folder: Path) -> int:
        """Keep one worker, and replace it whenever a Python file in the folder changes.

        The old worker serves until the new one is ready. If there is none, requests get the reason.
        """
        listener = self._open_listener()
        listener.listen()
        worker: _Worker | None = None
        try:
            while True:
                change = asyncio.ensure_future(wait_for_change(folder, take_snapshot(folder)))
                reason = ""
                try:
                    new = await self._start(listener)
                except _StartError as error:
                    reason = error.reason
                    if worker is not None and worker.process.returncode is None:
                        self._log("The old server goes on; it is replaced when a file changes")
                else:
                    old, worker = worker, new
                    if old is not None:
                        # Not SIGTERM: a developer does not wait for idle connections.
                        await self._stop(old, signal.SIGINT)
                if worker is not None:
                    end = asyncio.ensure_future(worker.process.wait())
                    await asyncio.wait([change, end], return_when=asyncio.FIRST_COMPLETED)
                    if end.done():
                        reason = reason or f"it exited with code {end.result()}, see its output"
                        self._running.discard(worker)
                        worker = None
                    else:
                        end.cancel()
                if worker is None and not change.done():
                    await self._report_failure(listener, reason, change)
                self._log(f"{await change} changed; restarting")
        finally:
            listener.close()
            await self._shut_down()

    async def _report_failure(
        self, listener: socket.socket, reason: str, change: asyncio.Future[str]
    ) -> None:
        """Answer requests with the reason until a file has changed."""
        host = f"[{self._settings.host}]" if ":" in self._settings.host else self._settings.host
        self._log(
            "The server has exited; it restarts when a file changes, until then "
            f"http://{host}:{self._settings.port} answers 503 with the reason"
        )
        async with serve_failure(listener, reason):
            await change

    async def _start(self, listener: socket.socket | None = None) -> _Worker:
        """Start a worker, on a socket of its own unless there is one, and wait until it is ready.

        Raises _StartError.
        """
        own = self._open_listener() if listener is None else listener
        reading, writing = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=PIPE,
                env={**os.environ, WORKER: self._settings_for(own.fileno(), writing)},
                pass_fds=(own.fileno(), writing),
                start_new_session=True,
            )
        finally:
            os.close(writing)
        worker = _Worker(process, own)
        self._running.add(worker)
        data = await _read_all(reading)
        report = codec.decode_as(WorkerReport, data) if data else None
        if report is None or report.error:
            code = await process.wait()
            self._running.discard(worker)
            if listener is None:
                own.close()
            raise _StartError(code, report.error if report is not None else "")
        self._grace = report.grace
        if not self._is_announced:
            self._is_announced = True
            self._announce(report)
        return worker

    def _settings_for(self, listener: int, report: int) -> str:
        worker = WorkerSettings(
            listener=listener,
            report=report,
            state_key=self._state_key,
            folder=self._folder.name,
            log_format=chosen_log_format(),
            log_level=chosen_log_level(),
        )
        return codec.encode(replace(self._settings, worker=worker)).decode()

    async def _stop(self, worker: _Worker, number: signal.Signals = signal.SIGTERM) -> None:
        await _stop_process(worker.process, self._grace, number)
        self._running.discard(worker)

    async def _shut_down(self) -> None:
        # Before the workers end: nobody would answer the connections that wait here.
        for worker in self._running:
            worker.listener.close()
        await asyncio.gather(*map(self._stop, list(self._running)))
        self._folder.cleanup()


async def _stop_process(
    process: Process, grace: float, number: signal.Signals = signal.SIGTERM
) -> None:
    """Terminate a process; kill it some time after its grace period."""
    if process.returncode is None:
        process.send_signal(number)
    try:
        await asyncio.wait_for(process.wait(), grace + _STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


async def _read_all(descriptor: int) -> bytes:
    """Everything that is written to a pipe until it is closed."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    try:
        return await reader.read()
    finally:
        transport.close()

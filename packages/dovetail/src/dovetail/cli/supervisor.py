"""Processes that share one listening socket: several workers, or one that is started anew.

The socket stays open in the supervisor, so while a worker is replaced clients wait instead
of being refused. A worker says its server's name through a pipe once it answers; a pipe that
ends without a name is a worker that could not start. Workers are in sessions of their own, so
that Ctrl-C reaches the supervisor only, and end when their stdin does: with the supervisor.
"""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["Supervisor", "take_snapshot"]

# Seconds between two looks at a folder, until a worker is killed, and before another is tried.
_LOOK = 0.25
_PATIENCE = 10.0
_PAUSE = 0.5
_IGNORED = frozenset({"__pycache__", "node_modules", "site-packages"})


class Supervisor:
    """Starts workers and ends them."""

    def __init__(
        self,
        command: Sequence[str],
        listener: int,
        *,
        say: Callable[[str], None],
        announce: Callable[[str], None],
    ) -> None:
        """`announce` is called once, with the name that the first worker reports."""
        self._command = command
        self._listener = listener
        self._say = say
        self._announce = announce
        self._living: set[Process] = set()
        self._is_announced = False

    async def keep(self, count: int) -> int:
        """Keep so many workers running; returns the exit code of one that cannot start."""
        slots: list[asyncio.Future[int]] = []
        try:
            first, name = await self._start()
            if not name:
                return await first.wait() or 1
            slots += [asyncio.ensure_future(self._keep_one(first))]
            slots += [asyncio.ensure_future(self._keep_one(None)) for _ in range(count - 1)]
            done, _ = await asyncio.wait(slots, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            # First those who would start others.
            for slot in slots:
                slot.cancel()
            await self._end_all()

    async def _keep_one(self, process: Process | None) -> int:
        while True:
            if process is None:
                process, name = await self._start()
                if not name:
                    return await process.wait() or 1
            code = await process.wait()
            self._living.discard(process)
            self._say(f"Worker {process.pid} ended with {code}; another one is started")
            await asyncio.sleep(_PAUSE)
            process = None

    async def reload(self, folder: Path) -> int:
        """Keep one worker, and start it anew whenever a Python file in the folder changes."""
        try:
            while True:
                before = take_snapshot(folder)
                process, name = await self._start()
                change = asyncio.ensure_future(_wait_for_change(folder, before))
                end = asyncio.ensure_future(process.wait())
                if name:
                    await asyncio.wait([change, end], return_when=asyncio.FIRST_COMPLETED)
                if not change.done():
                    self._say("The server has ended; a change of its files starts it again")
                self._say(f"{await change} has changed; starting again")
                await self._end(process)
                await end
        finally:
            await self._end_all()

    async def _start(self) -> tuple[Process, str]:
        """A worker that answers and its name; without a name it has not come that far."""
        reading, writing = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                f"--worker={self._listener},{writing}",
                stdin=PIPE,
                pass_fds=(self._listener, writing),
                start_new_session=True,
            )
        finally:
            os.close(writing)
        self._living.add(process)
        name = await _read_all(reading)
        if name and not self._is_announced:
            self._is_announced = True
            self._announce(name)
        return process, name

    async def _end(self, process: Process) -> None:
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _PATIENCE)
        except TimeoutError:
            process.kill()
            await process.wait()
        self._living.discard(process)

    async def _end_all(self) -> None:
        await asyncio.gather(*map(self._end, list(self._living)))


async def _read_all(descriptor: int) -> str:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    try:
        return (await reader.read()).decode("utf-8")
    finally:
        transport.close()


async def _wait_for_change(folder: Path, before: dict[str, int]) -> str:
    # Polling: a watcher of the system's would be one more dependency for a developer's loop.
    while (now := take_snapshot(folder)) == before:
        await asyncio.sleep(_LOOK)
    return min(name for name, _ in now.items() ^ before.items())


def take_snapshot(folder: Path) -> dict[str, int]:
    """Every Python file below a folder and when it was written; hidden folders are left out."""
    found: dict[str, int] = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if name not in _IGNORED
            and not name.startswith(".")
            # An environment, whatever it is called, is not what a developer edits.
            and not os.path.exists(os.path.join(place, name, "pyvenv.cfg"))
        ]
        for name in files:
            if name.endswith(".py"):
                path = os.path.join(place, name)
                try:
                    found[path] = os.stat(path).st_mtime_ns
                except FileNotFoundError:
                    continue  # gone since it was listed
    return found

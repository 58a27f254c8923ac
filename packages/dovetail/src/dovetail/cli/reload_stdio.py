"""`dovetail run FILE --reload` on stdio: the client keeps its connection while the server restarts.

This process passes lines between the client and a child process that runs the server. When a file
changes, a new child loads it. If that succeeds, the old child finishes its calls within its grace
period, the new one gets what it must know about the client (`reload_record.py`), and the client is
told that the lists have changed. Messages that arrive meanwhile wait. If loading fails, the old
child goes on.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from pathlib import Path

from dovetail.cli.file_watcher import take_snapshot, wait_for_change
from dovetail.cli.guard_options import GuardOptions
from dovetail.cli.loading import split_spec
from dovetail.cli.log_format import log_format_arguments, write_line
from dovetail.cli.reload_relay import Child, Relay
from dovetail.cli.supervisor import WorkerReport, read_all, stop_process
from dovetail.transports.stdio_streams import LineReader, LineWriter
from dovetail.wire import codec
from dovetail.wire.framing import LineBuffer, Oversized

__all__ = ["reload_stdio"]

# Bytes of one line in either direction; the server has a lower limit of its own.
_MAX_LINE = 256 * 1024 * 1024
_CHUNK = 64 * 1024
# Seconds for the last messages to be written, and for a child to end after its grace period.
_FLUSH_SECONDS = 0.3
_END_SECONDS = 5.0


def reload_stdio(file: str, guard: GuardOptions) -> int:
    """Serve until stdin is closed or a signal arrives; returns the exit code."""
    parts = split_spec(file)
    if parts is None or not parts[0].is_file():
        write_line(f"dovetail: There is no file {file!r}; expected FILE.py or FILE.py:NAME")
        return 2
    if sys.stdin.isatty():
        write_line(f"{file}: serving on stdio, waiting for a client; press Ctrl-C to stop")
    command = [sys.executable, "-m", "dovetail", "run", file, *guard.to_arguments()]
    command += log_format_arguments()
    return asyncio.run(_run(command, parts[0].resolve().parent))


async def _run(command: Sequence[str], folder: Path) -> int:
    # Created here, because it needs the running event loop.
    return await _Reloader(command, folder).run()


class _Reloader:
    """Starts, replaces and ends the children."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._command = command
        self._folder = folder
        # Set when the client has left.
        self._left = asyncio.Event()
        self._writer = LineWriter(1, self._left)
        self._relay = Relay(self._writer.send)
        # Held while a child is started and replaces another one.
        self._replacing = asyncio.Lock()
        self._grace = 0.0
        self._exit_code = 0

    async def run(self) -> int:
        """Serve until the client leaves or a signal arrives; returns the exit code."""
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        reader = LineReader(0, self._relay, self._writer, _MAX_LINE, self._left)
        reader.start()
        tasks = [asyncio.create_task(work) for work in (self._watch(), self._leave(), stop.wait())]
        done, running = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        reader.stop()
        for task in running:
            task.cancel()
        await asyncio.wait(tasks)
        if self._relay.child is not None:
            await self._stop(self._relay.child)
        await self._writer.flush(_FLUSH_SECONDS)
        for task in done:
            task.result()
        return self._exit_code

    async def _watch(self) -> None:
        before = take_snapshot(self._folder)
        await self._replace()
        while True:
            changed = await wait_for_change(self._folder, before)
            # Before the child reads the files: later changes cause another reload.
            before = take_snapshot(self._folder)
            write_line(f"{changed} changed; reloading")
            await self._replace()

    async def _leave(self) -> None:
        """Wait until the client leaves, then end the child as the client would."""
        await self._left.wait()
        async with self._replacing:
            child = self._relay.child
            if child is not None and child.process.stdin is not None:
                child.process.stdin.close()
                assert child.reading is not None
                await asyncio.wait([child.reading], timeout=self._grace + _END_SECONDS)
                if child.process.returncode is not None:
                    self._exit_code = child.process.returncode

    async def _replace(self) -> None:
        """Start a child; if it loads the file, it replaces the current one."""
        async with self._replacing:
            new, old = await self._start(), self._relay.child
            if new is not None:
                self._relay.hold()
                if old is not None:
                    old.is_replaced = True
                    await self._stop(old)
                self._relay.resume(new)
            elif old is not None:
                write_line("The server could not be loaded; the previous version goes on")
            else:
                write_line("The server could not be loaded; it restarts when a file changes")
                self._relay.resume(None)

    async def _start(self) -> Child | None:
        """A child that has loaded the file, None if it failed."""
        reading, writing = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                f"--report={writing}",
                stdin=PIPE,
                stdout=PIPE,
                pass_fds=(writing,),
                # Ctrl-C reaches this process only.
                start_new_session=True,
            )
        finally:
            os.close(writing)
        try:
            report = await read_all(reading)
        except asyncio.CancelledError:
            await stop_process(process, 0.0)
            raise
        if not report:
            self._exit_code = await process.wait() or 1
            return None
        self._exit_code = 0
        self._grace = codec.decode_as(WorkerReport, report).grace
        child = Child(process)
        child.reading = asyncio.create_task(self._read(child))
        return child

    async def _stop(self, child: Child) -> None:
        """Terminate a child, and wait until everything that it has sent is passed on."""
        await stop_process(child.process, self._grace)
        assert child.reading is not None
        await child.reading

    async def _read(self, child: Child) -> None:
        assert child.process.stdout is not None
        lines = LineBuffer(_MAX_LINE)
        while data := await child.process.stdout.read(_CHUNK):
            for line in lines.feed(data):
                if not isinstance(line, Oversized):
                    self._relay.take(child, line)
            await self._writer.drain()
        was_serving = self._relay.child is child and not child.is_replaced
        self._relay.drop(child)
        if was_serving and not self._left.is_set():
            write_line("The server has exited; it restarts when a file changes")

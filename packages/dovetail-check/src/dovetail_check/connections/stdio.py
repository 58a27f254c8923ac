"""stdio: a process that reads messages from stdin and writes them to stdout, one per line.

All of stdout and stderr is recorded, from start to exit. Child processes end with the process,
unless they left its process group.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dovetail_check.budget import FloodError
from dovetail_check.connections.base import Connection, Outgoing, Recorder, UnreachableError
from dovetail_check.connections.pending import Pending, PendingList
from dovetail_check.environment import minimal_environment
from dovetail_check.exchanges import NO_JSON, Exchange, parse

__all__ = ["EXIT_TIMEOUT", "StdioConnection"]

# Seconds that the process has to exit after its stdin is closed.
EXIT_TIMEOUT = 5.0
# Seconds to wait after each signal, and for the last output.
_SIGNAL_TIMEOUT = 2.0
# Lines and bytes of a message that is spread over several lines.
_MAX_PARTS = 2000
_MAX_SPREAD = 1024 * 1024
# Of stderr, so many bytes are kept from the start and from the end of each process. Longer lines
# are cut, and a process that writes more in total is killed.
_STDERR_KEPT = 64 * 1024
_MAX_STDERR_LINE = 8 * 1024
_MAX_STDERR = 256 * 1024 * 1024
_STDIN, _STDOUT, _STDERR = range(3)


class StdioConnection(Connection):
    """A process that runs as long as the connection."""

    def __init__(
        self,
        recorder: Recorder,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        exit_timeout: float = EXIT_TIMEOUT,
    ) -> None:
        super().__init__(recorder)
        self._exit_timeout = exit_timeout
        self._command = list(command)
        self._env = {**minimal_environment(), **(env or {})}
        self._cwd = cwd
        self._transport: asyncio.SubprocessTransport | None = None
        self._events: _ProcessEvents | None = None
        self._pending = PendingList()
        self._stderr = _StderrLog(lambda line: self.recorder.add("stderr", line))
        # The lines so far of a message that is spread over several.
        self._spread: list[bytes] = []

    async def open(self) -> None:
        """Start the process."""
        loop = asyncio.get_running_loop()
        try:
            self._transport, self._events = await loop.subprocess_exec(
                lambda: _ProcessEvents(self._on_data, self._finish),
                *self._command,
                env=self._env,
                cwd=self._cwd,
                # A process group of its own, so that its children can be ended with it.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise UnreachableError(f"{self._command[0]!r} did not start: {reason}") from None
        self.recorder.add("started", " ".join(self._command).encode())
        if self._events.finished.is_set():
            self._finish()

    @property
    def is_open(self) -> bool:
        """Whether the process runs and its pipes are open."""
        stdin, events = self._stdin, self._events
        return (
            stdin is not None
            and not stdin.is_closing()
            and events is not None
            and not events.is_stdout_closed
            and not events.exited.is_set()
            and not self.is_flooded
        )

    @property
    def _stdin(self) -> asyncio.WriteTransport | None:
        pipe = None if self._transport is None else self._transport.get_pipe_transport(_STDIN)
        return pipe if isinstance(pipe, asyncio.WriteTransport) else None

    async def send(self, outgoing: Outgoing) -> Exchange:
        """Write one line and wait for the expected responses."""
        exchange = Exchange(self.recorder.add("sent", outgoing.data, tag=outgoing.tag))
        pending = self._pending.add(exchange, outgoing.ids, keep_open=outgoing.keep_open)
        if not self._write(outgoing.data):
            self._pending.drop(pending)
            self._give_up(pending, "the process has exited")
            return exchange
        if outgoing.ids == ():
            return exchange
        if not await self.wait(pending.done, outgoing) and not exchange.incoming:
            silence = self.recorder.add("silence", tag=outgoing.tag, of=exchange.sent.n)
            exchange.replies.append(silence)
        if not outgoing.keep_open:
            self._pending.drop(pending)
        return exchange

    def _write(self, data: bytes) -> bool:
        stdin = self._stdin
        if not self.is_open or stdin is None:
            return False
        stdin.write(data + b"\n")
        return True

    # -- shutdown -----------------------------------------------------------------------------

    async def close_stdin(self) -> bool:
        """Close stdin; returns whether the process exited in time."""
        stdin, events = self._stdin, self._events
        if stdin is None or events is None or events.exited.is_set():
            return True
        if stdin.is_closing():
            return await _wait_for(events.exited, self._exit_timeout)
        closed = self.recorder.add("closed", b"stdin")
        stdin.close()
        if await _wait_for(events.exited, self._exit_timeout):
            return True
        text = f"the process still runs after {self._exit_timeout:g} s"
        self.recorder.add("silence", text.encode(), of=closed.n)
        return False

    async def close(self) -> None:
        """End the process as the specification describes: close stdin, SIGTERM, SIGKILL."""
        transport, events = self._transport, self._events
        if transport is None or events is None:
            return
        if self.is_flooded or self.recorder.recording.stopped:
            # How it ends shows nothing.
            self.recorder.add("stopped", b"the process is killed")
            await self._signal(signal.SIGKILL)
        elif not await self.close_stdin():
            await self._signal(signal.SIGTERM)
            if not events.exited.is_set():
                await self._signal(signal.SIGKILL)
        # Its last output is evidence too. A child that holds the pipes open is killed.
        if not await _wait_for(events.finished, _SIGNAL_TIMEOUT / 2):
            await self._signal(signal.SIGKILL)
            await _wait_for(events.finished, _SIGNAL_TIMEOUT / 2)
        self._finish()
        transport.close()
        await _wait_for(events.gone, _SIGNAL_TIMEOUT)

    async def _signal(self, number: signal.Signals) -> None:
        assert self._events is not None
        self._kill(number)
        await _wait_for(self._events.exited, _SIGNAL_TIMEOUT)

    def _kill(self, number: signal.Signals) -> None:
        assert self._transport is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._transport.get_pid(), number)

    # -- output -------------------------------------------------------------------------------

    def _on_data(self, data: bytes, lines: list[bytes], *, is_stderr: bool) -> None:
        """Take a part of the output, and the lines that it completes."""
        if self.is_flooded:
            return
        try:
            if is_stderr:
                self._stderr.add(len(data), lines)
                return
            self.budget.take_bytes(data)
            for line in lines:
                self.budget.take_message(line)
                self._on_line(line)
        except FloodError as error:
            self.stop(error)
            self._kill(signal.SIGKILL)

    def _on_line(self, line: bytes) -> None:
        value = parse(line)
        if self._spread or (value is NO_JSON and line.lstrip().startswith((b"{", b"["))):
            if _is_start(value):
                self._spread.clear()
            else:
                self._on_part(line)
                return
        self._on_message(line, value)

    def _on_part(self, line: bytes) -> None:
        """Record a line of a message that is spread over several, and the message at its end."""
        self._spread.append(line)
        self.recorder.add("received", line)
        is_end = line.rstrip().endswith((b"}", b"]"))
        whole = b"\n".join(self._spread) if is_end else b""
        value = parse(whole) if is_end else NO_JSON
        size = sum(map(len, self._spread))
        if value is not NO_JSON or len(self._spread) > _MAX_PARTS or size > _MAX_SPREAD:
            self._spread.clear()
        if value is not NO_JSON:
            self._on_message(whole, value)

    def _on_message(self, line: bytes, value: Any) -> None:
        pending = self._pending.find(value)
        if pending is not None:
            exchange = pending.exchange
            frame = self.recorder.add("received", line, of=exchange.sent.n, tag=exchange.tag)
            exchange.replies.append(frame)
            self._pending.take(pending, value)
            return
        self.recorder.add("received", line)
        if isinstance(value, dict) and "method" in value and "id" in value and self.on_request:
            answer = self.on_request(value)
            if answer is not None and self._write(answer):
                self.recorder.add("sent", answer, tag="answer")

    def _finish(self) -> None:
        """Record the exit of the process and fail the pending requests."""
        events = self._events
        if events is None or events.is_recorded or self._transport is None:
            return
        events.is_recorded = True
        code = self._transport.get_returncode()
        self._stderr.finish()
        self.recorder.add("ended", status=code)
        for pending in self._pending.drain():
            self._give_up(pending, f"the process exited with status {code}")

    def _give_up(self, pending: Pending, text: str) -> None:
        more = {"tag": pending.exchange.tag, "of": pending.exchange.sent.n}
        pending.exchange.replies.append(self.recorder.add("failed", text.encode(), **more))
        pending.done.set()


class _ProcessEvents(asyncio.SubprocessProtocol):
    """Callbacks of the event loop for the process."""

    def __init__(
        self,
        on_data: Callable[..., None],
        finish: Callable[[], None],
    ) -> None:
        self._splitters = {_STDOUT: _LineSplitter(), _STDERR: _LineSplitter(_MAX_STDERR_LINE)}
        self._on_data = on_data
        self._finish = finish
        # exited: the process exited; finished: stdout is read too; gone: all pipes are closed.
        self.exited = asyncio.Event()
        self.finished = asyncio.Event()
        self.gone = asyncio.Event()
        self.is_recorded = False
        self.is_stdout_closed = False

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._on_data(data, self._splitters[fd].feed(data), is_stderr=fd == _STDERR)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd in self._splitters:
            self._on_data(b"", self._splitters[fd].finish(), is_stderr=fd == _STDERR)
        if fd == _STDOUT:
            self.is_stdout_closed = True
            self._check_finished()

    def process_exited(self) -> None:
        self.exited.set()
        self._check_finished()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()

    def _check_finished(self) -> None:
        if self.is_stdout_closed and self.exited.is_set() and not self.finished.is_set():
            self.finished.set()
            self._finish()


class _LineSplitter:
    """Splits a stream into lines, including blank ones."""

    def __init__(self, limit: int | None = None) -> None:
        """Lines longer than `limit` are split."""
        self._limit = limit
        self._held = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that are complete."""
        first, *others = data.split(b"\n")
        self._held += first
        lines = []
        for other in others:
            lines.append(bytes(self._held))
            self._held = bytearray(other)
        if self._limit is not None and len(self._held) > self._limit:
            lines += self.finish()
        return lines

    def finish(self) -> list[bytes]:
        """Return the rest after the last newline as a line."""
        rest, self._held = bytes(self._held), bytearray()
        return [rest] if rest else []


class _StderrLog:
    """Records the start of stderr as it comes, and its end when the process ends."""

    def __init__(self, record: Callable[[bytes], object]) -> None:
        self._record = record
        self._seen = self._head = self._left_out = 0
        self._tail: deque[bytes] = deque()
        self._tail_size = 0

    def add(self, size: int, lines: list[bytes]) -> None:
        """Keep or drop lines; raises FloodError."""
        self._seen += size
        for line in lines:
            text = line.removesuffix(b"\r")[:_MAX_STDERR_LINE]
            self._left_out += max(len(line) - _MAX_STDERR_LINE, 0)
            if self._head < _STDERR_KEPT:
                self._head += len(text) + 1
                self._record(text)
                continue
            self._tail.append(text)
            self._tail_size += len(text) + 1
            while self._tail_size > _STDERR_KEPT:
                dropped = len(self._tail.popleft()) + 1
                self._tail_size -= dropped
                self._left_out += dropped
        if self._seen > _MAX_STDERR:
            seen = f"{self._seen:,} bytes to stderr"
            raise FloodError(f"the server wrote {seen}, more than the checker keeps")

    def finish(self) -> None:
        """Record the end."""
        if self._left_out:
            self._record(b"(%d bytes of stderr are left out)" % self._left_out)
        for text in self._tail:
            self._record(text)
        self._tail.clear()


def _is_start(value: Any) -> bool:
    """Whether a line is a message of its own."""
    return isinstance(value, dict) and "jsonrpc" in value


async def _wait_for(event: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()

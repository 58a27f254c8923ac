"""A line to a process: lines of stdin and stdout, and its stderr beside them.

Every byte of stdout is kept, from the start of the process to its end. Whatever the process
started ends with it, unless it left the process group.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence

from dovetail_check.environment import plain_environment
from dovetail_check.exchanges import Exchange, parse
from dovetail_check.lines.line import Line, LineError, Outgoing, Place
from dovetail_check.lines.pending import Pending, PendingList

__all__ = ["PATIENCE", "ProcessLine"]

# Seconds that a process has to end by itself once its stdin is closed.
PATIENCE = 5.0
# ... and after each signal, and until the last of its output is there.
_SOON = 2.0
# The longest line that is kept whole, and all that is taken of one process.
_LONGEST = 64 * 1024 * 1024
_MOST = 512 * 1024 * 1024
_STDIN, _STDOUT, _STDERR = range(3)


class ProcessLine(Line):
    """A process that is started for this line and ended with it."""

    def __init__(
        self,
        place: Place,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(place)
        self._patience = patience
        self._command = list(command)
        self._env = {**plain_environment(), **(env or {})}
        self._cwd = cwd
        self._transport: asyncio.SubprocessTransport | None = None
        self._events: _Events | None = None
        self._pending = PendingList()

    async def open(self) -> None:
        """Start the process."""
        loop = asyncio.get_running_loop()
        try:
            self._transport, self._events = await loop.subprocess_exec(
                lambda: _Events(self._take, self._take_stderr, self._finish),
                *self._command,
                env=self._env,
                cwd=self._cwd,
                # A group of its own, so that its children can be ended with it.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            raise LineError(f"{self._command[0]!r} did not start: {said}") from None
        self.place.add("started", " ".join(self._command).encode())
        if self._events.finished.is_set():
            self._finish()

    @property
    def is_open(self) -> bool:
        """Whether the process reads, and its answers can be heard."""
        stdin, events = self._stdin, self._events
        return (
            stdin is not None
            and not stdin.is_closing()
            and events is not None
            and not events.is_stdout_over
            and not events.exited.is_set()
        )

    @property
    def _stdin(self) -> asyncio.WriteTransport | None:
        pipe = None if self._transport is None else self._transport.get_pipe_transport(_STDIN)
        return pipe if isinstance(pipe, asyncio.WriteTransport) else None

    async def send(self, outgoing: Outgoing) -> Exchange:
        """Write one line, and wait for the answers that are due."""
        exchange = Exchange(self.place.add("sent", outgoing.data, tag=outgoing.tag))
        pending = self._pending.add(exchange, outgoing.ids, holds=outgoing.holds)
        if not self._write(outgoing.data):
            self._pending.drop(pending)
            self._give_up(pending, "the process has ended")
            return exchange
        if outgoing.ids == ():
            return exchange
        if not await self.wait(pending.done, outgoing) and not exchange.heard:
            silence = self.place.add("silence", tag=outgoing.tag, of=exchange.sent.n)
            exchange.replies.append(silence)
        if not outgoing.holds:
            self._pending.drop(pending)
        return exchange

    def _write(self, data: bytes) -> bool:
        stdin = self._stdin
        if not self.is_open or stdin is None:
            return False
        stdin.write(data + b"\n")
        return True

    # -- the end ------------------------------------------------------------------------------

    async def close_stdin(self) -> bool:
        """Close its stdin; whether the process ended in time, which the frames tell as well."""
        stdin, events = self._stdin, self._events
        if stdin is None or events is None or events.exited.is_set():
            return True
        if stdin.is_closing():
            return await _happens(events.exited, self._patience)
        closed = self.place.add("closed", b"stdin")
        stdin.close()
        if await _happens(events.exited, self._patience):
            return True
        text = f"it still runs after {self._patience:g} s"
        self.place.add("silence", text.encode(), of=closed.n)
        return False

    async def close(self) -> None:
        """End the process the way the specification tells clients to."""
        transport, events = self._transport, self._events
        if transport is None or events is None:
            return
        if not await self.close_stdin():
            await self._signal(signal.SIGTERM)
            if not events.exited.is_set():
                await self._signal(signal.SIGKILL)
        # What it still said is evidence too. If a child of it keeps the pipes, the child is next.
        if not await _happens(events.finished, _SOON / 2):
            await self._signal(signal.SIGKILL)
            await _happens(events.finished, _SOON / 2)
        self._finish()
        transport.close()
        await _happens(events.gone, _SOON)

    async def _signal(self, number: signal.Signals) -> None:
        assert self._transport is not None
        assert self._events is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._transport.get_pid(), number)
        await _happens(self._events.exited, _SOON)

    # -- what comes ---------------------------------------------------------------------------

    def _take(self, line: bytes) -> None:
        value = parse(line)
        pending = self._pending.find(value)
        if pending is not None:
            exchange = pending.exchange
            frame = self.place.add("received", line, of=exchange.sent.n, tag=exchange.tag)
            exchange.replies.append(frame)
            self._pending.take(pending, value)
            return
        self.place.add("received", line)
        if isinstance(value, dict) and "method" in value and "id" in value and self.asked:
            answer = self.asked(value)
            if answer is not None and self._write(answer):
                self.place.add("sent", answer, tag="answer")

    def _take_stderr(self, line: bytes) -> None:
        self.place.add("stderr", line.removesuffix(b"\r"))

    def _finish(self) -> None:
        """Nothing more will come: the process is over and its output read."""
        events = self._events
        if events is None or events.is_told or self._transport is None:
            return
        events.is_told = True
        code = self._transport.get_returncode()
        self.place.add("ended", status=code)
        for pending in self._pending.drain():
            self._give_up(pending, f"the process ended with status {code}")

    def _give_up(self, pending: Pending, text: str) -> None:
        more = {"tag": pending.exchange.tag, "of": pending.exchange.sent.n}
        pending.exchange.replies.append(self.place.add("failed", text.encode(), **more))
        pending.done.set()


class _Events(asyncio.SubprocessProtocol):
    """What the event loop tells of the process."""

    def __init__(
        self,
        take: Callable[[bytes], None],
        take_stderr: Callable[[bytes], None],
        finish: Callable[[], None],
    ) -> None:
        self._cutters = {_STDOUT: _Cutter(take), _STDERR: _Cutter(take_stderr)}
        self._finish = finish
        self._transport: asyncio.SubprocessTransport | None = None
        # The process is over; its stdout is as well; everything is closed.
        self.exited = asyncio.Event()
        self.finished = asyncio.Event()
        self.gone = asyncio.Event()
        self.is_told = False
        self.is_stdout_over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        cutter = self._cutters[fd]
        cutter.feed(data)
        if cutter.seen > _MOST and self._transport is not None:
            # It writes without end; what there is says enough.
            self._transport.kill()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd in self._cutters:
            self._cutters[fd].finish()
        if fd == _STDOUT:
            self.is_stdout_over = True
            self._look()

    def process_exited(self) -> None:
        self.exited.set()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()

    def _look(self) -> None:
        if self.is_stdout_over and self.exited.is_set() and not self.finished.is_set():
            self.finished.set()
            self._finish()


class _Cutter:
    """Cuts a stream into lines, blank ones as well."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._held = bytearray()
        self.seen = 0

    def feed(self, data: bytes) -> None:
        self.seen += len(data)
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._take(bytes(self._held) + line)
            self._held.clear()
        self._held += rest
        if len(self._held) > _LONGEST:
            # No message is that long; it is kept in pieces, which are no messages either.
            self.finish()

    def finish(self) -> None:
        """What stands behind the last newline is a line too."""
        if self._held:
            self._take(bytes(self._held))
            self._held.clear()


async def _happens(event: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()

"""stdio: one message a line on the standard streams (basic/transports/stdio).

Theory of operation. The process's own stdin and stdout are taken away first: file
descriptor 0 becomes /dev/null and 1 becomes stderr, so a stray `print`, a C library or a
child process can neither put a byte between two messages nor eat one. Messages move on
private copies of the two descriptors.

Reading follows readiness: the loop says that there are bytes, one `read` takes what is
there, and every whole line is handed to the connection at once; no thread, no hop per
line. Writing is a list of lines that one `writev` sends; what a full pipe does not take
waits for readiness, and while too much of that waits, reading pauses: a client that does
not read is not listened to. Files have no readiness, they are read and written straight.

The end of input is the end: calls in flight get a short grace, then they are cancelled,
and the process may exit. SIGTERM and SIGINT end it the same way.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import stat
import sys
from collections import deque
from collections.abc import Iterator
from types import FrameType

from dovetail.core.principal import Principal
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.runtime.connection import Connection
from dovetail.runtime.message_handler import too_long
from dovetail.server import Server
from dovetail.wire.framing import LineBuffer, Oversized

__all__ = ["serve_stdio"]

logger = logging.getLogger("dovetail")

# As much as a pipe holds. A larger buffer is mapped, faulted in and unmapped for every read.
_CHUNK = 64 * 1024
# Bytes that may wait for a slow client before its input is left alone, and before handlers
# that await their progress are held back. 64 KiB is what a Linux pipe takes by itself.
_HIGH_WATER = 1024 * 1024
_LOW_WATER = 64 * 1024
# POSIX guarantees 16 buffers for writev, Linux has 1024.
_MOST_BUFFERS = 512


# Whoever starts a process owns it: nothing in it can be kept from them.
_OWNER = Principal("local", trusted=True)


async def serve_stdio(server: Server, *, guard: AuthBackend | None = None) -> None:
    """Serve the client on the standard streams until it is gone or a signal comes.

    Without a `guard` that says otherwise, the client is whoever started the process, and may
    use everything.
    """
    # auth.stdio-none (2025-11-25 basic/authorization): credentials come from the environment
    principal = _OWNER if guard is None else guard.local(os.environ)
    with _private_streams() as (incoming, outgoing):
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        with _signals(loop, stop):
            await server.start()
            writer = _Writer(outgoing, stop)
            connection = server.connect(
                writer.send,
                send_now=writer.send_now,
                drain=writer.drain,
                principal=principal,
                guard=guard,
            )
            reader = _Reader(incoming, connection, writer, server.options.max_message_bytes, stop)
            reader.start()
            await stop.wait()
            reader.stop()
            await connection.close(server.options.grace)
            await writer.flush(server.options.grace)
            await server.close()


@contextlib.contextmanager
def _private_streams() -> Iterator[tuple[int, int]]:
    """Descriptors that nobody else writes to or reads from; the public ones put back after."""
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    # A process may come without a stderr; then 2 is any descriptor, the event loop's say.
    os.dup2(2 if sys.stderr is not None else nothing, 1)
    os.close(nothing)
    public = sys.stdout
    if sys.stderr is not None:
        sys.stdout = sys.stderr
    try:
        yield incoming, outgoing
    finally:
        sys.stdout.flush()
        sys.stdout = public
        os.dup2(incoming, 0)
        os.dup2(outgoing, 1)
        os.close(incoming)
        os.close(outgoing)


@contextlib.contextmanager
def _signals(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> Iterator[None]:
    """End on SIGTERM and SIGINT; a second SIGINT ends the process at once."""

    def again(number: int, frame: FrameType | None) -> None:
        os._exit(128 + number)

    def end(number: int) -> None:
        stop.set()
        signal.signal(number, again)

    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, end, number)
    except (RuntimeError, ValueError):  # not the main thread: signals are not ours to handle
        yield
        return
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _is_file(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISREG(mode) or stat.S_ISBLK(mode) or _is_null_device(descriptor)


def _is_null_device(descriptor: int) -> bool:
    # epoll takes neither files nor /dev/null
    return os.fstat(descriptor).st_rdev == os.stat(os.devnull).st_rdev


class _Writer:
    """Whole lines, in order, never more than the client takes."""

    def __init__(self, descriptor: int, ended: asyncio.Event) -> None:
        self._descriptor = descriptor
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[bytes | memoryview] = deque()
        self._waiting_bytes = 0
        self._scheduled = False
        self._blocked = False
        self._broken = False
        self._drained = asyncio.Event()
        self._drained.set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._blocking = _is_file(descriptor) or os.isatty(descriptor)
        if not self._blocking:
            # Not for terminals: the flag is shared with whoever else has the terminal open.
            os.set_blocking(descriptor, False)

    @property
    def is_full(self) -> bool:
        """Whether more waits than a client should leave unread."""
        return self._waiting_bytes > _HIGH_WATER

    def send(self, message: bytes) -> None:
        """Queue one message; it leaves with others of the same turn of the loop."""
        if self._broken:
            return
        self._waiting.append(message)
        self._waiting.append(b"\n")
        self._waiting_bytes += len(message) + 1
        if not self._scheduled and not self._blocked:
            self._scheduled = True
            self._empty.clear()
            self._loop.call_soon(self._write)
        if self._waiting_bytes > _HIGH_WATER:
            self._drained.clear()

    def send_now(self, message: bytes) -> None:
        """Write one message that no other is about to follow, unless others are in line."""
        if self._waiting or self._broken:
            self.send(message)
            return
        self._waiting.append(message)
        self._waiting.append(b"\n")
        self._waiting_bytes = len(message) + 1
        self._empty.clear()
        self._write()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """What is sent meanwhile leaves at once when it is over, in as few writes as can be."""
        if self._scheduled or self._blocked:
            yield
            return
        self._scheduled = True
        yield
        if self._waiting:
            self._empty.clear()
            self._write()
        else:
            self._scheduled = False

    async def drain(self) -> None:
        """Wait until a slow client has read most of what waits."""
        await self._drained.wait()

    async def flush(self, patience: float) -> None:
        """Wait until everything is written, or `patience` seconds have passed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(patience, 0.1)):
                await self._empty.wait()
        if self._blocked:
            self._loop.remove_writer(self._descriptor)
        os.set_blocking(self._descriptor, True)

    def _write(self) -> None:
        self._scheduled = False
        while self._waiting:
            batch = [self._waiting[i] for i in range(min(len(self._waiting), _MOST_BUFFERS))]
            try:
                written = os.writev(self._descriptor, batch)
            except BlockingIOError:
                written = 0
            except OSError as error:
                self._give_up(error)
                return
            self._forget(written)
            if written < sum(map(len, batch)) and not self._blocking:
                self._wait_for_room()
                return
        self._settle()

    def _forget(self, written: int) -> None:
        self._waiting_bytes -= written
        while written:
            first = self._waiting.popleft()
            if len(first) > written:
                self._waiting.appendleft(memoryview(first)[written:])
                return
            written -= len(first)

    def _wait_for_room(self) -> None:
        if not self._blocked:
            self._blocked = True
            self._loop.add_writer(self._descriptor, self._write)
        if self._waiting_bytes <= _LOW_WATER:
            self._drained.set()

    def _settle(self) -> None:
        if self._blocked:
            self._blocked = False
            self._loop.remove_writer(self._descriptor)
        self._drained.set()
        self._empty.set()

    def _give_up(self, error: OSError) -> None:
        # The client has closed its end: there is nobody to tell, so there is nothing to do.
        logger.debug("cannot write to the client: %s", error)
        self._broken = True
        self._ended.set()
        self._waiting.clear()
        self._waiting_bytes = 0
        self._settle()


class _Reader:
    """Lines to the connection, as they come."""

    def __init__(
        self,
        descriptor: int,
        connection: Connection,
        writer: _Writer,
        limit: int,
        ended: asyncio.Event,
    ) -> None:
        self._descriptor = descriptor
        self._connection = connection
        self._writer = writer
        self._lines = LineBuffer(limit)
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._is_file = _is_file(descriptor)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to read."""
        if self._is_file:
            self._task = self._loop.create_task(self._read_file())
        else:
            self._loop.add_reader(self._descriptor, self._read)

    def stop(self) -> None:
        """Read no more."""
        if self._task is not None:
            self._task.cancel()
        if not self._is_file:
            self._loop.remove_reader(self._descriptor)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            logger.debug("cannot read from the client: %s", error)
            data = b""
        with self._writer.together():
            self._feed(data)
        if not data:
            self._loop.remove_reader(self._descriptor)
            self._ended.set()
        elif self._writer.is_full:
            self._loop.remove_reader(self._descriptor)
            self._task = self._loop.create_task(self._resume())

    async def _resume(self) -> None:
        await self._writer.drain()
        self._loop.add_reader(self._descriptor, self._read)

    async def _read_file(self) -> None:
        while True:
            data = os.read(self._descriptor, _CHUNK)
            self._feed(data)
            if not data:
                break
            await asyncio.sleep(0)
            await self._writer.drain()
        self._ended.set()

    def _feed(self, data: bytes) -> None:
        lines: list[bytes | Oversized] = self._lines.feed(data)
        if not data:
            last = self._lines.finish()
            if last is not None:
                lines = [*lines, last]
        for line in lines:
            if isinstance(line, Oversized):
                self._connection.refuse(too_long(line.limit))
            else:
                self._connection.receive(line)

"""The stdio transport: one message per line on stdin and stdout (basic/transports/stdio).

The transport first duplicates stdin and stdout and uses the private copies for messages. File
descriptor 0 then becomes /dev/null and 1 becomes stderr, so a stray `print`, a C library or a
child process can neither corrupt the output nor consume input.

At the end of input, calls in flight get a short grace period and are then cancelled. SIGTERM and
SIGINT shut the server down in the same way.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Protocol

from dovetail.core.principal import Principal
from dovetail.errors import RpcError, ShutdownError
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.runtime.message_handler import too_long
from dovetail.server import Server
from dovetail.wire.framing import LineBuffer, Oversized, encode_line

__all__ = [
    "LineReader",
    "LineReceiver",
    "LineWriter",
    "serve_stdio",
]

logger: logging.Logger = logging.getLogger("dovetail")

# The capacity of a pipe. A larger buffer is mapped, faulted in and unmapped for every read.
_CHUNK = 64 * 1024
# Queued bytes at which reading pauses and handlers that await a message wait, and at which they
# continue. 64 KiB is the capacity of a Linux pipe.
_HIGH_WATER = 1024 * 1024
_LOW_WATER = 64 * 1024
# Buffers per writev: Linux allows 1024, POSIX guarantees 16.
_MAX_BUFFERS = 512


class LineReceiver(Protocol):
    """Takes the lines of a `LineReader`."""

    def receive(self, data: bytes) -> None:
        """Take one line."""

    def refuse(self, error: RpcError) -> None:
        """Answer a line over the limit."""


def _is_file(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISREG(mode) or stat.S_ISBLK(mode) or _is_null_device(descriptor)


def _is_null_device(descriptor: int) -> bool:
    # epoll supports neither files nor /dev/null
    return os.fstat(descriptor).st_rdev == os.stat(os.devnull).st_rdev


class LineWriter:
    """Writes complete lines in order, with back-pressure."""

    def __init__(self, descriptor: int, ended: asyncio.Event) -> None:
        self._descriptor = descriptor
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._queue: deque[bytes | memoryview] = deque()
        self._queued_bytes = 0
        self._scheduled = False
        self._blocked = False
        self._broken = False
        self._drained = asyncio.Event()
        self._drained.set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._blocking = _is_file(descriptor) or os.isatty(descriptor)
        if not self._blocking:
            # Not for terminals: the flag is shared with other processes on the terminal.
            os.set_blocking(descriptor, False)

    @property
    def is_full(self) -> bool:
        """Whether the queue is above the high-water mark."""
        return self._queued_bytes > _HIGH_WATER

    def send(self, message: bytes) -> None:
        """Queue one message; it is written together with others of the same loop iteration."""
        if self._broken:
            return
        line = encode_line(message)
        self._queue.append(line)
        self._queued_bytes += len(line)
        if not self._scheduled and not self._blocked:
            self._scheduled = True
            self._empty.clear()
            self._loop.call_soon(self._write)
        if self._queued_bytes > _HIGH_WATER:
            self._drained.clear()

    def send_now(self, message: bytes) -> None:
        """Write one message at once, or queue it if others are queued."""
        if self._queue or self._broken:
            self.send(message)
            return
        line = encode_line(message)
        self._queue.append(line)
        self._queued_bytes = len(line)
        self._empty.clear()
        self._write()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Collect the messages sent inside the block and write them together at its end."""
        if self._scheduled or self._blocked:
            yield
            return
        self._scheduled = True
        yield
        if self._queue:
            self._empty.clear()
            self._write()
        else:
            self._scheduled = False

    async def drain(self) -> None:
        """Wait until a slow client has read most of the queue."""
        await self._drained.wait()

    async def flush(self, timeout: float) -> None:
        """Wait until everything is written, at most `timeout` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(timeout, 0.1)):
                await self._empty.wait()
        if self._blocked:
            self._loop.remove_writer(self._descriptor)
        os.set_blocking(self._descriptor, True)

    def _write(self) -> None:
        self._scheduled = False
        while self._queue:
            batch = [self._queue[i] for i in range(min(len(self._queue), _MAX_BUFFERS))]
            try:
                written = os.writev(self._descriptor, batch)
            except BlockingIOError:
                written = 0
            except OSError as error:
                self._abort(error)
                return
            self._remove_written(written)
            if written < sum(map(len, batch)) and not self._blocking:
                self._wait_until_writable()
                return
        self._mark_empty()

    def _remove_written(self, written: int) -> None:
        self._queued_bytes -= written
        while written:
            first = self._queue.popleft()
            if len(first) > written:
                self._queue.appendleft(memoryview(first)[written:])
                return
            written -= len(first)

    def _wait_until_writable(self) -> None:
        if not self._blocked:
            self._blocked = True
            self._loop.add_writer(self._descriptor, self._write)
        if self._queued_bytes <= _LOW_WATER:
            self._drained.set()

    def _mark_empty(self) -> None:
        if self._blocked:
            self._blocked = False
            self._loop.remove_writer(self._descriptor)
        self._drained.set()
        self._empty.set()

    def _abort(self, error: OSError) -> None:
        # The client has closed its end, so the rest of the output is dropped.
        logger.debug("cannot write to the client: %s", error)
        self._broken = True
        self._ended.set()
        self._queue.clear()
        self._queued_bytes = 0
        self._mark_empty()


class LineReader:
    """Passes lines to a receiver as they arrive."""

    def __init__(
        self,
        descriptor: int,
        receiver: LineReceiver,
        writer: LineWriter,
        limit: int,
        ended: asyncio.Event,
    ) -> None:
        self._descriptor = descriptor
        self._receiver = receiver
        self._writer = writer
        self._lines = LineBuffer(limit)
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._is_file = _is_file(descriptor)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start reading."""
        if self._is_file:
            self._task = self._loop.create_task(self._read_file())
        else:
            self._loop.add_reader(self._descriptor, self._read)

    def stop(self) -> None:
        """Stop reading."""
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
                self._receiver.refuse(too_long(line.limit))
            else:
                self._receiver.receive(line)


# Seconds for the last messages to be written to a client that does not read, if calls have used
# up the grace period.
_FLUSH_SECONDS = 0.3

# The user who starts the process has full access to it.
_OWNER = Principal("local", trusted=True)


async def serve_stdio(
    server: Server,
    *,
    guard: AuthBackend | None = None,
    on_stop: Callable[[], None] | None = None,
) -> None:
    """Serve the client on stdin and stdout until it disconnects or a signal arrives.

    `guard` replaces that of the server. Without one, the client is the user who started the
    process and may use everything.
    `on_stop` is called when the shutdown begins.
    """
    # auth.stdio-none (2025-11-25 basic/authorization): credentials come from the environment
    guard = guard or server.guard
    principal = _OWNER if guard is None else guard.local(os.environ)
    with _private_streams() as (incoming, outgoing):
        stop = asyncio.Event()
        # Calls that outlast a signal are answered; a client that has closed its end has left.
        error: RpcError | None = None

        def end() -> None:
            nonlocal error
            error = ShutdownError()
            stop.set()

        with _signals(asyncio.get_running_loop(), end, on_stop):
            await server.start()
            writer = LineWriter(outgoing, stop)
            connection = server.connect(
                writer.send,
                send_now=writer.send_now,
                drain=writer.drain,
                principal=principal,
                guard=guard,
            )
            reader = LineReader(
                incoming, connection, writer, server.options.max_message_bytes, stop
            )
            reader.start()
            await stop.wait()
            if on_stop is not None:
                on_stop()
            reader.stop()
            grace = server.options.grace
            server.engine.lifespan.begin_shutdown()
            deadline = asyncio.get_running_loop().time() + grace
            await connection.close(grace, error)
            left = deadline - asyncio.get_running_loop().time()
            await writer.flush(max(left, _FLUSH_SECONDS))
            await server.close()


@contextlib.contextmanager
def _private_streams() -> Iterator[tuple[int, int]]:
    """Private copies of stdin and stdout; the originals are restored afterwards."""
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    # Without a stderr, descriptor 2 may be something else, such as the event loop's.
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
def _signals(
    loop: asyncio.AbstractEventLoop,
    shut_down: Callable[[], None],
    on_stop: Callable[[], None] | None = None,
) -> Iterator[None]:
    """Shut down on SIGTERM and SIGINT; a repeated signal exits the process at once.

    `shut_down` is called in the event loop, `on_stop` in the signal handler.
    """

    def again(number: int, frame: FrameType | None) -> None:
        os._exit(128 + number)

    # Not `loop.add_signal_handler`: a handler that blocks the loop would block that as well.
    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, again)
        if on_stop is not None:
            on_stop()
        loop.call_soon_threadsafe(shut_down)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

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
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from dovetail.core.principal import Principal
from dovetail.errors import RpcError, ShutdownError
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.server import Server
from dovetail.transports.stdio_streams import LineReader, LineWriter

__all__ = ["serve_stdio"]

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

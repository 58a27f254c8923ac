"""A channel to a server that runs as a child process and uses its standard streams.

The child gets its own process group, so that launchers such as `npx` or `uv` are stopped together
with the processes they start, and Ctrl-C in a terminal reaches the client first. The last lines of
stderr are stored, because they explain why a server exited.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dovetail.client.channel import Channel, OnClosed, OnMessage
from dovetail.errors import InternalError, TransportError
from dovetail.wire import codec
from dovetail.wire.framing import LineBuffer, Oversized, encode_line

__all__ = ["Command", "StdioChannel", "kill_servers"]

_CHUNK = 65536
_MAX_STDERR_LINES = 20
# A screenshot in base64 is a few MiB; a longer line is an error.
_MAX_LINE = 64 * 1024 * 1024
# The official SDKs wait this long after closing stdin and after SIGTERM.
_GRACE_SECONDS = 2.0
# How long to wait for the exit code of a server that closed its output.
_EXIT_SECONDS = 0.5
# A killed process ends at once, except on a very busy machine or when its disk does not respond.
_KILL_SECONDS = 10.0
# Seconds between SIGTERM and SIGKILL if the closing is cancelled, because this process ends.
_LAST_SECONDS = 0.15
# The process groups that were started and not closed.
_groups: set[int] = set()


def kill_servers() -> None:
    """Kill every server that was started and not closed; for a process that ends at once."""
    for group in tuple(_groups):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Command:
    """The command that starts a server."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | os.PathLike[str] | None = None

    def __str__(self) -> str:
        return " ".join(self.argv)


class StdioChannel(Channel):
    """One message per line, over stdin and stdout of a child process."""

    transport = "stdio"

    def __init__(
        self, command: Command, *, grace: float = _GRACE_SECONDS, echo_stderr: bool = False
    ) -> None:
        self._command = command
        self._grace = grace
        self._echo_stderr = echo_stderr
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._stderr: deque[str] = deque(maxlen=_MAX_STDERR_LINES)
        self._closing = False

    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Start the process and read its output."""
        command = self._command
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command.argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, **command.env},
                cwd=command.cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise TransportError(f"Could not start {str(command)!r}: {_why(error)}") from None
        _groups.add(self._process.pid)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        stderr = asyncio.create_task(self._read_stderr(self._process.stderr))
        stdout = asyncio.create_task(
            self._read_stdout(self._process.stdout, stderr, on_message, on_closed)
        )
        self._readers = [stderr, stdout]

    async def send(self, data: bytes) -> None:
        """Write one line."""
        process = self._process
        if process is None or process.stdin is None or self._closing:
            raise TransportError("The connection to the server is closed")
        try:
            process.stdin.write(encode_line(data))
            await process.stdin.drain()
        except ConnectionError:
            # Wait for the reader, which knows the exit code.
            await asyncio.wait(self._readers, timeout=self._grace)
            raise TransportError(self._describe_end(process)) from None

    async def close(self) -> None:
        """Shut the process down: close stdin, wait, SIGTERM, wait, SIGKILL.

        If it is cancelled, the signals follow each other quickly, so that no process stays.
        """
        process, self._process = self._process, None
        self._closing = True
        if process is None:
            return
        # lifecycle.shutdown.stdin-eof (2026-07-28 basic/transports/stdio): servers exit on EOF.
        if process.stdin is not None:
            process.stdin.close()
        try:
            for signal_number in (signal.SIGTERM, signal.SIGKILL):
                if await self._has_ended(process, self._grace):
                    break
                _signal_group(process, signal_number)
        except asyncio.CancelledError:
            _signal_group(process, signal.SIGTERM)
            await self._has_ended(process, _LAST_SECONDS)
            raise
        finally:
            if process.returncode is None:
                _signal_group(process, signal.SIGKILL)
            _groups.discard(process.pid)
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        transport = process._transport  # type: ignore[attr-defined]
        # Still open if a process outside of the group holds them.
        for stream in range(3):
            transport.get_pipe_transport(stream).close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_KILL_SECONDS):
                await process.wait()
        transport.close()

    async def _has_ended(self, process: asyncio.subprocess.Process, seconds: float) -> bool:
        """Whether the process, and every process that inherited its pipes, has ended."""
        exit = asyncio.create_task(process.wait())
        _, unfinished = await asyncio.wait([*self._readers, exit], timeout=seconds)
        exit.cancel()
        return not unfinished

    async def _read_stdout(
        self,
        stdout: asyncio.StreamReader,
        stderr: asyncio.Task[None],
        on_message: OnMessage,
        on_closed: OnClosed,
    ) -> None:
        lines = LineBuffer(_MAX_LINE)
        while chunk := await stdout.read(_CHUNK):
            for line in lines.feed(chunk):
                on_message(_refuse(line) if isinstance(line, Oversized) else line)
        process = self._process
        if process is not None and not self._closing:
            exit = asyncio.create_task(process.wait())
            await asyncio.wait([stderr, exit], timeout=_EXIT_SECONDS)
            exit.cancel()
            if not self._closing:
                on_closed(TransportError(self._describe_end(process)))

    async def _read_stderr(self, stderr: asyncio.StreamReader) -> None:
        unfinished = b""
        while chunk := await stderr.read(_CHUNK):
            if self._echo_stderr:
                sys.stderr.write(chunk.decode(errors="replace"))
                sys.stderr.flush()
            *complete, unfinished = (unfinished + chunk).split(b"\n")
            unfinished = unfinished[-_CHUNK:]
            self._stderr.extend(line.decode(errors="replace").rstrip() for line in complete)
        if unfinished:
            self._stderr.append(unfinished.decode(errors="replace"))

    def _describe_end(self, process: asyncio.subprocess.Process) -> str:
        code = process.returncode
        if code is None:
            text = f"The server {str(self._command)!r} closed its output"
        elif code < 0:
            text = f"The server {str(self._command)!r} was killed by {_signal_name(-code)}"
        else:
            text = f"The server {str(self._command)!r} exited with code {code}"
        last_lines = [line for line in self._stderr if line]
        if last_lines:
            text += "; last lines of stderr:\n" + "\n".join(last_lines)
        return text


def _refuse(line: Oversized) -> bytes:
    """An error in place of a dropped line; without an id, since that was dropped too."""
    error = InternalError(f"The server sent a message of more than {line.limit:,} bytes")
    return codec.encode_error(None, error)


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{error.filename!r} does not exist or is not on the PATH"
    if isinstance(error, PermissionError):
        return f"{error.filename!r} is not executable"
    return str(error)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _signal_group(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)

"""The part of the API whose work depends on what callers send, in processes that can be killed.

A worker process reads a body, works on it, and returns the response. The system ends it when it
has used its processor time or memory, so that the server neither waits for it nor shares its fate.
A caller has one piece of work at a time; the pieces of several callers run in turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import IO, Any, TypeVar

import msgspec
from msgspec import Struct

from dovetail_console.requests import RefusedError

__all__ = [
    "JOBS",
    "TOO_MUCH",
    "Answer",
    "Job",
    "ServerFacts",
    "Task",
    "Workers",
    "measure",
    "read_frame",
    "write_frame",
]

T = TypeVar("T")
# What is served here, by its name in the API.
JOBS = frozenset({"copy", "evidence", "form", "headers", "outline", "test", "uri"})
# Seconds until work is ended that has not used its processor time.
_SECONDS = 60.0
_MAX_WORKERS = 2
# Requests of one caller that wait for each other.
_MAX_WAITING = 8
TOO_MUCH = "This is too large, or takes too long to work out here"
_LENGTH = 8


class ServerFacts(Struct):
    """What a worker knows of a server on the page."""

    name: str
    # Its URL; what to pass to `dovetail call`; its file and the command that starts it, if known.
    url: str
    target: str
    file: str | None = None
    command: Sequence[str] = ()
    # Whether it takes API keys, and whether it is not served here but at `url`.
    has_keys: bool = False
    is_remote: bool = False


class Job(Struct):
    """A request for a worker."""

    body: Any
    servers: list[ServerFacts] = []

    @property
    def server(self) -> ServerFacts:
        """The server that the body names; raises RefusedError."""
        name = self.body.get("server")
        for server in self.servers:
            if server.name == name:
                return server
        known = ", ".join(repr(each.name) for each in self.servers)
        raise RefusedError(400, f"There is no server {name!r}; expected one of {known}")

    def read(self, to: type[T], expected: str) -> T:
        """The body as an object of this type; raises RefusedError."""
        try:
            return msgspec.convert(self.body, to)
        except msgspec.ValidationError as error:
            raise RefusedError(400, f"Expected {expected}: {error}") from None


class Answer(Struct):
    """The response of a worker."""

    body: bytes
    content_type: str = "application/json"
    # The name under which a browser saves it.
    file: str = ""
    status: int = 200


class Task(Struct):
    """What is sent to a worker."""

    name: str
    servers: list[ServerFacts]
    body: bytes


def measure(value: Any, most: int) -> tuple[int, int]:
    """The number of parts of a value, and how deep it is; stops at `most` parts."""
    count = depth = 0
    level = [value]
    while level and count < most:
        count += len(level)
        depth += 1
        level = [part for each in level for part in _parts(each)]
    return count + len(level), depth


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


class Workers:
    """The worker processes, which are started when there is work for them."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._places = asyncio.Semaphore(_MAX_WORKERS)
        # Caller -> the requests of the caller that are under way.
        self._turns: dict[str, _Turn] = {}

    @contextlib.asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """Wait until no other request of the caller is under way; raises RefusedError."""
        turn = self._turns.setdefault(caller, _Turn())
        if turn.count >= _MAX_WAITING:
            raise RefusedError(429, "Too many requests of yours are under way here; try again")
        turn.count += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.count -= 1
            if not turn.count:
                del self._turns[caller]

    async def run(self, name: str, servers: list[ServerFacts], body: bytes) -> Answer:
        """The answer to a request; raises RefusedError. If it is cancelled, so is the work."""
        task = msgspec.msgpack.encode(Task(name, servers, body))
        async with self._places:
            worker = self._idle.pop() if self._idle else _Worker()
            try:
                data = await asyncio.to_thread(worker.ask, task)
            except BaseException:
                worker.kill()
                raise
            if data is None:
                worker.kill()
                raise RefusedError(413, TOO_MUCH)
            self._idle.append(worker)
        return msgspec.msgpack.decode(data, type=Answer)

    def close(self) -> None:
        """End the worker processes that have nothing to do."""
        while self._idle:
            self._idle.pop().kill()


class _Turn:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.count = 0


class _Worker:
    """A worker process."""

    def __init__(self) -> None:
        # The modules are found as here, but not in the current directory.
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from dovetail_console.work import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            # Ctrl-C is for the server, whose end closes the pipe.
            start_new_session=True,
        )
        self._end = weakref.finalize(self, _end, self._process)

    def ask(self, task: bytes) -> bytes | None:
        """The answer; None if the process has ended. Blocks."""
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        timer = threading.Timer(_SECONDS, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            with contextlib.suppress(OSError, ValueError):
                write_frame(pipe_in, task)
                return read_frame(pipe_out)
        finally:
            timer.cancel()
        return None

    def kill(self) -> None:
        """End the process; a thread that waits for its answer gets None."""
        self._process.kill()
        # Its pipes may be in use until then.
        self._process.wait()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            assert pipe is not None
            pipe.close()


def write_frame(pipe: IO[bytes], data: bytes) -> None:
    """Write data, with its length before it."""
    pipe.write(len(data).to_bytes(_LENGTH))
    pipe.write(data)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> bytes | None:
    """What was written with `write_frame`; None at the end of the pipe."""
    head = pipe.read(_LENGTH)
    size = int.from_bytes(head)
    data = pipe.read(size) if len(head) == _LENGTH else b""
    return data if len(head) == _LENGTH and len(data) == size else None

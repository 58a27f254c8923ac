"""Run functions in worker processes that may crash.

Native code that handles foreign input (YAML, images, PDF) can end its process or take all memory.
A worker bounds its own memory, and the pool ends a worker that takes too long; either way only
that call fails. Arguments and results are plain values, encoded as MessagePack: a worker cannot
make the server run code, as it could with pickle.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import struct
import subprocess
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from types import TracebackType
from typing import Any, TypeVar

import msgspec

__all__ = ["WorkerError", "WorkerPool"]

T = TypeVar("T")

_LENGTH = struct.Struct("<I")
_CHUNK = 1 << 16


class WorkerError(Exception):
    """A call failed in its worker process: it crashed, took too long, or needed too much memory."""


class WorkerPool:
    """Worker processes, started when they are needed and replaced when they end."""

    def __init__(
        self,
        name: str,
        *,
        size: int = 1,
        memory_mb: int = 1024,
        seconds: float = 30.0,
        errors: tuple[type[Exception], ...] = (),
    ) -> None:
        """`name` appears in error messages; `errors` are raised in the caller as they are."""
        self._name = name
        self._memory_mb = memory_mb
        self._seconds = seconds
        self._errors = {error.__name__: error for error in errors}
        self._slots = _FairSlots(size)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._is_closed = False

    def run(
        self,
        function: Callable[..., T],
        *args: Any,
        returns: Any = Any,
        owner: Hashable = None,
    ) -> T:
        """Call a module-level function in a worker; blocks, and may be used from any thread.

        `returns` is the type of the result, if it is not a plain value. While all workers are busy,
        owners take turns: one with many calls does not delay the others.
        """
        call = msgspec.msgpack.encode([function.__module__, function.__qualname__, args])
        with self._slots.held_by(owner):
            worker = self._take()
            try:
                reply = worker.exchange(call, self._seconds)
            finally:
                self._give_back(worker)
        if isinstance(reply, str):
            raise WorkerError(f"{self._name} {'is closed' if self._is_closed else reply}")
        kind, text, result = msgspec.msgpack.decode(reply, type=tuple[str, str, msgspec.Raw])
        if kind:
            raise self._error(kind, text)
        value: T = msgspec.msgpack.decode(result, type=returns)
        return value

    def _error(self, kind: str, text: str) -> Exception:
        if kind in self._errors:
            return self._errors[kind](text)
        if kind == MemoryError.__name__:
            return WorkerError(f"{self._name} needed more than {self._memory_mb} MB of memory")
        return WorkerError(f"{self._name} failed: {kind}: {text}")

    def _take(self) -> _Worker:
        with self._lock:
            if self._is_closed:
                raise WorkerError(f"{self._name} is closed")
            worker = self._idle.pop() if self._idle else _Worker(self._memory_mb)
            self._busy.add(worker)
            return worker

    def _give_back(self, worker: _Worker) -> None:
        with self._lock:
            self._busy.discard(worker)
            if worker.is_usable and not self._is_closed:
                self._idle.append(worker)
                return
        worker.close()

    def close(self) -> None:
        """End the workers; calls in progress fail."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            for worker in self._busy:
                worker.kill()
        for worker in idle:
            worker.close()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _FairSlots:
    """A semaphore for threads, for which owners take turns."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._lock = threading.Lock()
        # The owner whose turn it is comes first.
        self._waiting: OrderedDict[Hashable, deque[threading.Event]] = OrderedDict()

    @contextlib.contextmanager
    def held_by(self, owner: Hashable) -> Iterator[None]:
        """Wait for a slot and hold it."""
        turn = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                turn.set()
            else:
                self._waiting.setdefault(owner, deque()).append(turn)
        turn.wait()
        try:
            yield
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            owner, turns = self._waiting.popitem(last=False)
            turns.popleft().set()
            if turns:
                self._waiting[owner] = turns


class _Worker:
    """One process; it exits when its input ends, also if the server was killed."""

    def __init__(self, memory_mb: int) -> None:
        start = "from dovetail_serverkit.worker_process import main; main()"
        self._process = subprocess.Popen(
            # -P: nothing is imported from the current folder.
            [sys.executable, "-P", "-c", start, str(memory_mb)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        # Whether it waits for a call.
        self.is_usable = True

    def exchange(self, call: bytes, seconds: float) -> bytes | str:
        """The reply, or a text that says why there is none."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self.is_usable = False
        deadline = time.monotonic() + seconds
        data = memoryview(_LENGTH.pack(len(call)) + call)
        received = bytearray()
        pipes = {
            self._process.stdin: selectors.EVENT_WRITE,
            self._process.stdout: selectors.EVENT_READ,
        }
        with selectors.DefaultSelector() as selector:
            for pipe, event in pipes.items():
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, event)
            while not _is_complete(received):
                ready = selector.select(deadline - time.monotonic())
                if not ready:
                    return f"did not finish within {seconds:g} seconds"
                for key, event in ready:
                    if event == selectors.EVENT_READ:
                        chunk = os.read(key.fd, _CHUNK)
                        if not chunk:
                            return self._crashed()
                        received += chunk
                        continue
                    try:
                        data = data[os.write(key.fd, data) :]
                    except BrokenPipeError:
                        return self._crashed()
                    if not data:
                        selector.unregister(key.fileobj)
        self.is_usable = True
        return bytes(received[_LENGTH.size :])

    def _crashed(self) -> str:
        code = self._process.wait()
        return f"crashed (signal {-code})" if code < 0 else f"crashed (exit code {code})"

    def kill(self) -> None:
        """End the process; the call that it runs gets no reply."""
        self._process.kill()

    def close(self) -> None:
        """End the process and close its pipes."""
        self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


def _is_complete(received: bytearray) -> bool:
    if len(received) < _LENGTH.size:
        return False
    (size,) = _LENGTH.unpack_from(received)
    return len(received) - _LENGTH.size >= int(size)

"""Parse many notes in worker processes, so that the first pass over a vault uses all cores.

A worker parses the notes of a segment and returns what the index stores. It communicates over two
pipes; when the server ends, the worker reads the end of its input and exits. It does not use
`multiprocessing`, which would import the server's main module again.

A note that crashes its worker does not stop the others: the worker is replaced, the segment is
divided until the note is found, and the index stores it as crashed.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import queue
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from types import TracebackType
from typing import IO

import msgspec

from dovetail_vault.folders import Entry, Root
from dovetail_vault.parsed_notes import (
    SegmentBuilder,
    SegmentData,
    note_without_content,
    read_and_parse,
)

__all__ = ["NoteReaders", "build_segment", "main"]

logger = logging.getLogger("dovetail")

_MAX_WORKERS = 4
_LENGTH = struct.Struct("<I")
_START = f"from {__name__} import main; main()"


class NoteReaders:
    """Worker processes that parse ahead; results are returned in the order of the requests."""

    def __init__(self, root: Root) -> None:
        count = min(_MAX_WORKERS, len(os.sched_getaffinity(0)))
        self._command = [sys.executable, "-c", _START, str(root.path)]
        self._lock = threading.Lock()
        self._is_closed = False
        self._workers: set[subprocess.Popen[bytes]] = set()
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        for _ in range(count):
            self._idle.put(self._start_worker())
        # One thread per worker: a single thread that writes and reads in turn could deadlock with
        # a worker that waits for its output to be read.
        self._count = count
        self._pool = ThreadPoolExecutor(count, "vault-reader")

    def __enter__(self) -> NoteReaders:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._is_closed = True
            workers = list(self._workers)
        for worker in workers:
            worker.kill()
            worker.wait()
        self._pool.shutdown(cancel_futures=True)
        for worker in workers:
            _close_pipes(worker)

    def _start_worker(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_closed:
                raise OSError("the worker processes that parse notes are closed")
            worker = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._workers.add(worker)
            return worker

    def read(self, entries: Sequence[Entry], most: int) -> Iterator[SegmentData]:
        """Yield all notes in segments of at most `most`, distributed evenly over the workers."""
        count = self._count
        rounds = -(-len(entries) // (most * count))
        size = -(-len(entries) // (rounds * count))
        parts = (entries[start : start + size] for start in range(0, len(entries), size))
        # One more request than workers, so that none waits while the server stores a segment.
        asked = deque(self._pool.submit(self._ask, part) for part in islice(parts, count + 1))
        while asked:
            parts_read = deque(asked.popleft().result())
            while parts_read:
                # Keep no reference to the yielded segment: it takes megabytes.
                yield msgspec.msgpack.decode(parts_read.popleft(), type=SegmentData)
            asked.extend(self._pool.submit(self._ask, part) for part in islice(parts, 1))

    def _ask(self, entries: Sequence[Entry]) -> list[bytes]:
        """Return the segment of these notes; several if a note crashes its worker."""
        data = self._exchange(entries)
        if data is not None:
            return [data]
        if len(entries) > 1:
            middle = len(entries) // 2
            return [*self._ask(entries[:middle]), *self._ask(entries[middle:])]
        if self._exchange([]) is None:
            raise OSError("the worker processes that parse notes cannot run")
        [entry] = entries
        logger.warning("Reading %r crashed a worker process; its text is not indexed", entry.path)
        builder = SegmentBuilder()
        builder.add(note_without_content(entry, "crashed"))
        return [msgspec.msgpack.encode(builder.build())]

    def _exchange(self, entries: Sequence[Entry]) -> bytes | None:
        """Send a request to a worker; None if it crashed, and then it is replaced."""
        worker = self._idle.get()
        assert worker.stdin is not None and worker.stdout is not None
        data = None
        try:
            with contextlib.suppress(BrokenPipeError):
                _send(worker.stdin, msgspec.msgpack.encode(entries))
                data = _receive(worker.stdout)
        finally:
            if data is None:
                worker = self._replace(worker)
            self._idle.put(worker)
        return data

    def _replace(self, worker: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        with self._lock:
            if not self._is_closed:
                self._workers.discard(worker)
        worker.kill()
        worker.wait()
        fresh = self._start_worker()
        _close_pipes(worker)
        return fresh


def _close_pipes(worker: subprocess.Popen[bytes]) -> None:
    for pipe in (worker.stdin, worker.stdout):
        # Buffered input of a killed worker cannot be flushed.
        with contextlib.suppress(OSError):
            pipe.close()  # type: ignore[union-attr]


def _send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(head)
    data = pipe.read(size)
    return data if len(data) == size else None


def build_segment(root: Root, entries: Iterable[Entry]) -> SegmentData:
    """Parse notes and build a segment from them."""
    builder = SegmentBuilder()
    for entry in entries:
        note = read_and_parse(root, entry.path, entry)
        if note is not None:
            builder.add(note)
    return builder.build()


def main() -> None:
    """Run a worker: answer requests until the input ends."""
    root = Root(sys.argv[1])
    # There are no reference cycles here, and garbage collection would take a tenth of the time.
    gc.disable()
    while (data := _receive(sys.stdin.buffer)) is not None:
        entries = msgspec.msgpack.decode(data, type=list[Entry])
        _send(sys.stdout.buffer, msgspec.msgpack.encode(build_segment(root, entries)))

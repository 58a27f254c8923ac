"""Parse many notes in worker processes, so that the first pass over a vault uses all cores.

A worker parses the notes of a segment and returns what the index stores. It communicates over two
pipes; when the server ends, the worker reads the end of its input and exits. It does not use
`multiprocessing`, which would import the server's main module again.
"""

from __future__ import annotations

import contextlib
import gc
import os
import queue
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from types import TracebackType
from typing import IO

import msgspec

from dovetail_vault.folders import Entry, Root
from dovetail_vault.parsed_notes import SegmentBuilder, SegmentData, read_and_parse

__all__ = ["NoteReaders", "build_segment", "main"]

_MAX_WORKERS = 4
_LENGTH = struct.Struct("<I")


class NoteReaders:
    """Worker processes that parse ahead; results are returned in the order of the requests."""

    def __init__(self, root: Root) -> None:
        count = min(_MAX_WORKERS, len(os.sched_getaffinity(0)))
        start = f"from {__name__} import main; main()"
        words = [sys.executable, "-c", start, str(root.path)]
        self._workers = [
            subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for _ in range(count)
        ]
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        # One thread per worker: a single thread that writes and reads in turn could deadlock with
        # a worker that waits for its output to be read.
        self._pool = ThreadPoolExecutor(count, "vault-reader")

    def __enter__(self) -> NoteReaders:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            worker.kill()
            worker.wait()
        self._pool.shutdown(cancel_futures=True)
        for worker in self._workers:
            for pipe in (worker.stdin, worker.stdout):
                # Buffered input of a killed worker cannot be flushed.
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]

    def read(self, entries: Sequence[Entry], most: int) -> Iterator[SegmentData]:
        """Yield all notes in segments of at most `most`, distributed evenly over the workers."""
        count = len(self._workers)
        rounds = -(-len(entries) // (most * count))
        size = -(-len(entries) // (rounds * count))
        parts = (entries[start : start + size] for start in range(0, len(entries), size))
        # One more request than workers, so that none waits while the server stores a segment.
        asked = deque(self._pool.submit(self._ask, part) for part in islice(parts, count + 1))
        while asked:
            # Keep no reference to the yielded segment: it takes megabytes.
            yield msgspec.msgpack.decode(asked.popleft().result(), type=SegmentData)
            asked.extend(self._pool.submit(self._ask, part) for part in islice(parts, 1))

    def _ask(self, entries: Sequence[Entry]) -> bytes:
        worker = self._idle.get()
        assert worker.stdin is not None and worker.stdout is not None
        try:
            _send(worker.stdin, msgspec.msgpack.encode(entries))
            data = _receive(worker.stdout)
        finally:
            self._idle.put(worker)
        if data is None:
            raise OSError("a worker process that parses notes has exited")
        return data


def _send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(head)
    return pipe.read(size)


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

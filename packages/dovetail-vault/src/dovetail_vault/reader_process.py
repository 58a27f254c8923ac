"""Reading many notes in processes of their own: the first pass over a vault uses all cores.

A helper takes the notes of a segment apart and hands back what the index stores.
It lives on two pipes; when the server ends, however it ends, the helper reads the end of its
input and ends too. Not `multiprocessing`: that would import the server's main module again.
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
from dovetail_vault.preparing import Batch, Draft, prepare

__all__ = ["NoteReaders", "main", "make_draft"]

_MOST_HELPERS = 4
_LENGTH = struct.Struct("<I")


class NoteReaders:
    """Helpers that read ahead; drafts come back in the order they were asked for."""

    def __init__(self, root: Root) -> None:
        count = min(_MOST_HELPERS, len(os.sched_getaffinity(0)))
        start = f"from {__name__} import main; main()"
        words = [sys.executable, "-c", start, str(root.path)]
        self._helpers = [
            subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for _ in range(count)
        ]
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        for helper in self._helpers:
            self._idle.put(helper)
        # A thread waits for each helper: one that had to write and to read by turns could wait
        # for a helper that itself waits until it is read.
        self._pool = ThreadPoolExecutor(count, "vault-reader")

    def __enter__(self) -> NoteReaders:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for helper in self._helpers:
            helper.kill()
            helper.wait()
        self._pool.shutdown(cancel_futures=True)
        for helper in self._helpers:
            for pipe in (helper.stdin, helper.stdout):
                # What a dead helper did not take of its task cannot be flushed.
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]

    def read(self, entries: Sequence[Entry], most: int) -> Iterator[Draft]:
        """All these notes, in segments of no more than this, as many for each helper."""
        count = len(self._helpers)
        rounds = -(-len(entries) // (most * count))
        size = -(-len(entries) // (rounds * count))
        parts = (entries[start : start + size] for start in range(0, len(entries), size))
        # One more than are at work: a helper need not wait while the server stores.
        asked = deque(self._pool.submit(self._ask, part) for part in islice(parts, count + 1))
        while asked:
            # Nothing here keeps what has been handed over: it is megabytes.
            yield msgspec.msgpack.decode(asked.popleft().result(), type=Draft)
            asked.extend(self._pool.submit(self._ask, part) for part in islice(parts, 1))

    def _ask(self, entries: Sequence[Entry]) -> bytes:
        helper = self._idle.get()
        assert helper.stdin is not None and helper.stdout is not None
        try:
            _send(helper.stdin, msgspec.msgpack.encode(entries))
            data = _receive(helper.stdout)
        finally:
            self._idle.put(helper)
        if data is None:
            raise OSError("a process that reads notes has ended")
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


def make_draft(root: Root, entries: Iterable[Entry]) -> Draft:
    """What a helper answers."""
    batch = Batch()
    for entry in entries:
        note = prepare(root, entry.path, entry)
        if note is not None:
            batch.add(note)
    return batch.draft()


def main() -> None:
    """Answer requests until the input ends."""
    root = Root(sys.argv[1])
    # Nothing here has circles, and looking for them in what thousands of notes have would cost a
    # tenth of the time.
    gc.disable()
    while (data := _receive(sys.stdin.buffer)) is not None:
        entries = msgspec.msgpack.decode(data, type=list[Entry])
        _send(sys.stdout.buffer, msgspec.msgpack.encode(make_draft(root, entries)))

"""Parse many notes in worker processes, so that the first pass over a vault uses all cores.

A worker parses the notes of a segment and returns what the index stores. A note that crashes its
worker does not stop the others: the segment is divided until the note is found, and the index
stores it as crashed.
"""

from __future__ import annotations

import gc
import logging
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice
from types import TracebackType
from typing import Any

import msgspec

from dovetail_serverkit.worker_pool import WorkerError, WorkerPool
from dovetail_vault.folders import Entry, Root
from dovetail_vault.parsed_notes import (
    SegmentBuilder,
    SegmentData,
    note_without_content,
    read_and_parse,
)

__all__ = ["NoteReaders", "build_segment", "read_segment"]

logger = logging.getLogger("dovetail")

_MAX_WORKERS = 4
# For a segment of thousands of notes; it takes some seconds on an idle machine.
_MEMORY_MB = 2048
_SECONDS = 900.0


class NoteReaders:
    """Worker processes that parse ahead; results are returned in the order of the requests."""

    def __init__(self, root: Root) -> None:
        # As bytes, because not every path is text.
        self._folder = os.fsencode(root.path)
        self._count = min(_MAX_WORKERS, len(os.sched_getaffinity(0)))
        self._workers = WorkerPool(
            "The note parser", size=self._count, memory_mb=_MEMORY_MB, seconds=_SECONDS
        )
        self._threads = ThreadPoolExecutor(self._count, "vault-reader")

    def __enter__(self) -> NoteReaders:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._workers.close()
        self._threads.shutdown(cancel_futures=True)

    def read(self, entries: Sequence[Entry], most: int) -> Iterator[SegmentData]:
        """Yield all notes in segments of at most `most`, distributed evenly over the workers."""
        count = self._count
        rounds = -(-len(entries) // (most * count))
        size = -(-len(entries) // (rounds * count))
        parts = (entries[start : start + size] for start in range(0, len(entries), size))
        # One more request than workers, so that none waits while the server stores a segment.
        asked = deque(self._threads.submit(self._ask, part) for part in islice(parts, count + 1))
        while asked:
            parts_read = deque(asked.popleft().result())
            while parts_read:
                # Keep no reference to the yielded segment: it takes megabytes.
                yield msgspec.msgpack.decode(parts_read.popleft(), type=SegmentData)
            asked.extend(self._threads.submit(self._ask, part) for part in islice(parts, 1))

    def _ask(self, entries: Sequence[Entry]) -> list[bytes]:
        """Return the segment of these notes; several if a note crashes its worker."""
        try:
            return [self._parse(entries)]
        except WorkerError:
            if len(entries) > 1:
                middle = len(entries) // 2
                return [*self._ask(entries[:middle]), *self._ask(entries[middle:])]
        try:
            self._parse([])
        except WorkerError as error:
            raise OSError(f"the worker processes that parse notes cannot run: {error}") from None
        [entry] = entries
        logger.warning("Reading %r crashed a worker process; its text is not indexed", entry.path)
        builder = SegmentBuilder()
        builder.add(note_without_content(entry, "crashed"))
        return [msgspec.msgpack.encode(builder.build())]

    def _parse(self, entries: Sequence[Entry]) -> bytes:
        return self._workers.run(read_segment, self._folder, entries, returns=bytes)


def build_segment(root: Root, entries: Iterable[Entry]) -> SegmentData:
    """Parse notes and build a segment from them."""
    builder = SegmentBuilder()
    for entry in entries:
        note = read_and_parse(root, entry.path, entry)
        if note is not None:
            builder.add(note)
    return builder.build()


def read_segment(folder: bytes, entries: list[Any]) -> bytes:
    """Parse notes in a worker process; the result is decoded when it is stored, as it is large."""
    # There are no reference cycles here, and garbage collection would take a tenth of the time.
    gc.disable()
    segment = build_segment(_root(folder), msgspec.convert(entries, list[Entry]))
    return msgspec.msgpack.encode(segment)


@cache
def _root(folder: bytes) -> Root:
    return Root(os.fsdecode(folder))

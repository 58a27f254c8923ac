"""Reading many notes in processes of their own: the first pass over a vault uses all cores.

A helper takes stretches of notes, takes them apart, and hands back what the index stores, packed.
It lives on two pipes; when the server ends, however it ends, the helper reads the end of its
input and ends too. Not `multiprocessing`: that would import the server's main module again.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import IO

import msgspec

from dovetail.servers.vault.folders import Entry, Root
from dovetail.servers.vault.indexing import Batch, Prepared, prepare

__all__ = ["NoteReaders", "ReadStretch", "main"]

# Notes per request: enough to make the pipe cheap, few enough to keep all helpers busy.
_STRETCH = 256
_AHEAD = 2
_MOST_HELPERS = 4
_LENGTH = struct.Struct("<I")


class _Task(msgspec.Struct, array_like=True):
    entries: list[tuple[str, int, int, int]]
    # The place of the first note in its batch.
    base: int


class ReadStretch(msgspec.Struct, array_like=True):
    """Some notes, taken apart; None where one is gone. Their words are packed for the batch."""

    notes: list[
        tuple[list[str | int | bool], list[str], list[str], list[tuple[str, str, str, int]]]
    ]
    words: dict[str, bytes]
    is_whole: bool

    def prepared(self) -> Iterator[Prepared]:
        """The notes as the index takes them."""
        for row, tags, aliases, links in self.notes:
            yield Prepared(tuple(row), {}, tags, aliases, links)


class NoteReaders:
    """Helpers that read ahead; stretches come back in the order they were asked for."""

    def __init__(self, root: Root) -> None:
        count = max(1, min(_MOST_HELPERS, len(os.sched_getaffinity(0)) - 1))
        start = f"from {__name__} import main; main()"
        words = [sys.executable, "-c", start, str(root.path)]
        self._helpers = [
            subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for _ in range(count)
        ]

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
            for pipe in (helper.stdin, helper.stdout):
                if pipe is not None:
                    pipe.close()

    def read(
        self, entries: Sequence[Entry], batch: int
    ) -> Iterator[tuple[list[Entry], ReadStretch]]:
        """All these notes, in stretches that never span two batches of this size."""
        tasks = [
            (list(entries[start + low : start + min(low + _STRETCH, batch)]), low)
            for start in range(0, len(entries), batch)
            for low in range(0, min(batch, len(entries) - start), _STRETCH)
        ]
        sent = 0
        for place, (wanted, _) in enumerate(tasks):
            while sent < len(tasks) and sent < place + _AHEAD * len(self._helpers):
                ahead, base = tasks[sent]
                task = _Task([(e.path, e.size, e.mtime_ns, e.inode) for e in ahead], base)
                _send(self._pipe(sent, "stdin"), msgspec.msgpack.encode(task))
                sent += 1
            data = _receive(self._pipe(place, "stdout"))
            if data is None:
                raise OSError("a process that reads notes has ended")
            yield wanted, msgspec.msgpack.decode(data, type=ReadStretch)

    def _pipe(self, place: int, name: str) -> IO[bytes]:
        pipe: IO[bytes] = getattr(self._helpers[place % len(self._helpers)], name)
        return pipe


def _send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(head)
    return pipe.read(size)


def read_stretch(root: Root, entries: Sequence[Entry], base: int) -> ReadStretch:
    """What a helper answers."""
    batch = Batch(base)
    is_whole = True
    for entry in entries:
        note = prepare(root, entry.path, entry)
        if note is None:
            is_whole = False
        else:
            batch.add(note)
    notes = [(list(note.row), note.tags, note.aliases, list(note.links)) for note in batch.notes]
    words = {word: packed.tobytes() for word, packed in batch.by_word.items()}
    return ReadStretch(notes, words, is_whole)


def main() -> None:
    """Answer requests until the input ends."""
    root = Root(sys.argv[1])
    while (data := _receive(sys.stdin.buffer)) is not None:
        task = msgspec.msgpack.decode(data, type=_Task)
        found = read_stretch(root, [Entry(*entry) for entry in task.entries], task.base)
        _send(sys.stdout.buffer, msgspec.msgpack.encode(found))

"""A rotated log file: each line is one write.

A process that dies loses at most the line it was writing. Several processes may write to one file;
each notices when another one has rotated it.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from time import monotonic

__all__ = ["LineFile"]

_CHECK_EVERY = 1.0


class LineFile:
    """Appends lines to a file of at most `max_bytes`, and keeps `keep` older files."""

    def __init__(self, path: str | os.PathLike[str], max_bytes: int, keep: int) -> None:
        self.path: Path = Path(path)
        self._max_bytes = max_bytes
        self._keep = keep
        self._number = -1
        self._size = 0
        self._checked = 0.0
        self._open()

    def write(self, line: bytes) -> None:
        """Append a line, which must end with a newline; raises OSError."""
        now = monotonic()
        if now - self._checked >= _CHECK_EVERY:
            self._checked = now
            self._reopen_if_rotated()
        if self._size and self._size + len(line) > self._max_bytes:
            self._rotate()
        written = os.write(self._number, line)
        self._size += written
        if written != len(line):
            # The disk is full: end the partial line, so that the next one starts correctly.
            os.write(self._number, b"\n")
            raise OSError(f"only {written} of {len(line)} bytes were written to {self.path}")

    def close(self) -> None:
        """Close the file."""
        if self._number >= 0:
            os.close(self._number)
            self._number = -1

    def _open(self) -> None:
        flags = os.O_APPEND | os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
        self._number = os.open(self.path, flags, 0o600)
        self._size = os.fstat(self._number).st_size
        if self._size and os.pread(self._number, 1, self._size - 1) != b"\n":
            # The last writer did not finish its line.
            self._size += os.write(self._number, b"\n")

    def _reopen_if_rotated(self) -> None:
        """Reopen the file if another process rotated or moved it."""
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            there = None
        here = os.fstat(self._number)
        if there is None or (there.st_ino, there.st_dev) != (here.st_ino, here.st_dev):
            self.close()
            self._open()
        else:
            self._size = here.st_size

    def _rotate(self) -> None:
        lock = os.open(f"{self.path}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._reopen_if_rotated()
            if self._size:
                self._shift()
                self.close()
                self._open()
        finally:
            os.close(lock)

    def _shift(self) -> None:
        if self._keep == 0:
            self.path.unlink()
            return
        for number in range(self._keep - 1, 0, -1):
            older = Path(f"{self.path}.{number}")
            if older.exists():
                older.replace(f"{self.path}.{number + 1}")
        self.path.replace(f"{self.path}.1")

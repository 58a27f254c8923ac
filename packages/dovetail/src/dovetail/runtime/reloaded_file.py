"""A file that is read again when it has changed."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from dovetail.errors import UsageError

__all__ = ["ReloadedFile"]

logger: logging.Logger = logging.getLogger("dovetail")

T = TypeVar("T")


class ReloadedFile(Generic[T]):
    """The contents of a file, checked for changes at most every `look_every` seconds."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        read: Callable[[], T],
        *,
        look_every: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the file; raises what `read` raises."""
        self._path = os.fspath(path)
        self._read = read
        self._look_every = look_every
        self._clock = clock
        self._checked = clock()
        self._state = self._file_state()
        self._contents = read()

    def current(self) -> T:
        """The contents; the same object until the file changes."""
        now = self._clock()
        if now - self._checked >= self._look_every:
            self._checked = now
            state = self._file_state()
            if state != self._state:
                self._state = state
                self._read_again()
        return self._contents

    def _read_again(self) -> None:
        try:
            self._contents = self._read()
        except UsageError as error:
            # Keep the previous contents rather than stopping everyone.
            logger.error("%s was not reloaded: %s", self._path, error)

    def _file_state(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

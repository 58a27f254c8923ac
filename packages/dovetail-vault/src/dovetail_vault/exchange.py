"""Two things Linux can do that Python has no name for: swap two names, and lease a file.

The kernel grants a lease on a file that nobody else has open. While it lasts, whoever opens the
file waits, and we can see that somebody does. Where these are missing (another system, a network
disk, a file of another user) the caller is told so and does without.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import time

__all__ = ["Lease", "exchange_names", "rename_to_free_name"]

_RENAME_NOREPLACE, _RENAME_EXCHANGE = 1, 2
_F_SETLEASE, _F_GETLEASE, _F_SETSIG = 1024, 1025, 10
# How long another program may hold a note open before we go on without; editors close at once.
_PATIENCE = 0.5
_STEP = 0.002
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})

# None with another C library.
_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def exchange_names(folder: int, one: str, other: str) -> bool:
    """Swap what two names of a folder stand for, in one step; False where that cannot be done."""
    return _rename(folder, one, folder, other, _RENAME_EXCHANGE)


def rename_to_free_name(source_folder: int, source: str, folder: int, name: str) -> bool:
    """Rename, unless the new name is taken (FileExistsError); False where that cannot be done."""
    return _rename(source_folder, source, folder, name, _RENAME_NOREPLACE)


def _rename(source_folder: int, source: str, folder: int, name: str, flags: int) -> bool:
    if _renameat2 is None:
        return False
    if _renameat2(source_folder, os.fsencode(source), folder, os.fsencode(name), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number))


class Lease:
    """A file that nobody else can open for as long as this lasts, if the kernel agrees."""

    def __init__(self, folder: int, name: str) -> None:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        self.descriptor = os.open(name, flags, dir_fd=folder)

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_exc: object) -> None:
        os.close(self.descriptor)

    def acquire(self) -> bool:
        """Wait until nobody else has the file open; False where that takes too long."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                # Whoever opens the file makes the kernel tell us; unset, that would be SIGIO,
                # which ends a process. SIGURG does nothing.
                fcntl.fcntl(self.descriptor, _F_SETSIG, signal.SIGURG)
                fcntl.fcntl(self.descriptor, _F_SETLEASE, fcntl.F_WRLCK)
            except OSError as error:
                if error.errno != errno.EAGAIN or time.monotonic() > deadline:
                    return False
                time.sleep(_STEP)
            else:
                return True

    def has_writer_waiting(self) -> bool:
        """Whether somebody waits to write to this very file."""
        return fcntl.fcntl(self.descriptor, _F_GETLEASE) == fcntl.F_UNLCK

    def release(self) -> None:
        """Let the others in."""
        with contextlib.suppress(OSError):
            fcntl.fcntl(self.descriptor, _F_SETLEASE, fcntl.F_UNLCK)

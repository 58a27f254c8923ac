"""Linux system calls that Python does not wrap: atomic exchange of two names, and file leases.

The kernel grants a lease on a file that no other process has open. While the lease is held, a
process that opens the file waits, and the holder can see that. If these calls are not supported
(another system, a network file system, a file of another user), the functions return False.
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
# Seconds to wait for another program to close a note; editors close it at once.
_WAIT = 0.5
_STEP = 0.002
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})

# None if the C library does not have it.
_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def exchange_names(folder: int, one: str, other: str) -> bool:
    """Exchange two names of a folder in one step; return False if that is not supported."""
    return _rename(folder, one, folder, other, _RENAME_EXCHANGE)


def rename_to_free_name(source_folder: int, source: str, folder: int, name: str) -> bool:
    """Rename without replacing (FileExistsError); return False if that is not supported."""
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
    """A lease on a file: while it is held, other processes wait to open the file."""

    def __init__(self, folder: int, name: str) -> None:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        self.descriptor = os.open(name, flags, dir_fd=folder)

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_exc: object) -> None:
        os.close(self.descriptor)

    def acquire(self) -> bool:
        """Wait until no other process has the file open; return False on timeout."""
        deadline = time.monotonic() + _WAIT
        while True:
            try:
                # The kernel sends a signal when another process opens the file. The default is
                # SIGIO, which would end this process; SIGURG is ignored.
                fcntl.fcntl(self.descriptor, _F_SETSIG, signal.SIGURG)
                fcntl.fcntl(self.descriptor, _F_SETLEASE, fcntl.F_WRLCK)
            except OSError as error:
                if error.errno != errno.EAGAIN or time.monotonic() > deadline:
                    return False
                time.sleep(_STEP)
            else:
                return True

    def has_writer_waiting(self) -> bool:
        """Whether another process waits to write to this file."""
        return fcntl.fcntl(self.descriptor, _F_GETLEASE) == fcntl.F_UNLCK

    def release(self) -> None:
        """Release the lease."""
        with contextlib.suppress(OSError):
            fcntl.fcntl(self.descriptor, _F_SETLEASE, fcntl.F_UNLCK)

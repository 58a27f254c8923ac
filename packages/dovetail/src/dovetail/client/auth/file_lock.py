"""A lock file that one task of all processes holds at a time."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncIterator
from pathlib import Path

from dovetail.net.backoff import backoff
from dovetail.oauth.failures import AuthorizationError

__all__ = ["hold_file"]

# A refresh ends by its own timeout; a lock held for several of them is stuck.
_WAIT_SECONDS = 120.0
_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.1


@contextlib.asynccontextmanager
async def hold_file(path: Path) -> AsyncIterator[None]:
    """Hold the lock on a file; raises AuthorizationError if nobody releases it.

    The system releases the lock of a process that dies. Waiting is a poll, because a blocking
    call in a thread could not be cancelled.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                pauses = backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
                while not _try_lock(descriptor):
                    await asyncio.sleep(next(pauses))
        except TimeoutError:
            raise AuthorizationError(
                f"Another process has been renewing the same token for {_WAIT_SECONDS:g} s; "
                f"end it, or delete {path}"
            ) from None
        yield
    finally:
        # Closing the descriptor releases the lock. The file stays: deleting it would let two
        # processes hold locks on two files of the same name.
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

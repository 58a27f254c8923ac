"""Connects to the first of several addresses that accepts (Happy Eyeballs, RFC 8305).

With broken IPv6, connection attempts can hang without an error. So the next address is tried when
the previous attempt has failed or a short delay has passed, and the first connection wins.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from dovetail_browser.relay import Connection, EgressLimits

__all__ = ["connect_first", "describe_error"]

# Delay between two attempts, as RFC 8305 recommends.
_HEAD_START = 0.25


async def connect_first(
    addresses: Sequence[str], port: int, limits: EgressLimits
) -> Connection | str:
    """Return a connection to one of these addresses, or the reason why none succeeded."""
    waiting = list(addresses)
    attempts: set[asyncio.Task[Connection]] = set()
    why = "it has no address"
    try:
        async with asyncio.timeout(limits.connect_seconds):
            while waiting or attempts:
                if waiting:
                    attempts.add(asyncio.create_task(_connect(waiting.pop(0), port, limits)))
                patience = _HEAD_START if waiting else None
                done, attempts = await asyncio.wait(
                    attempts, timeout=patience, return_when=asyncio.FIRST_COMPLETED
                )
                for attempt in done:
                    error = attempt.exception()
                    if error is None:
                        attempts |= done - {attempt}
                        return attempt.result()
                    why = describe_error(error)
    except TimeoutError as error:
        why = describe_error(error)
    finally:
        await _drop(attempts)
    return why


def describe_error(error: BaseException) -> str:
    """Return the system's message for a connection error."""
    if isinstance(error, TimeoutError):
        return "timed out"
    if isinstance(error, OSError) and (error.errno or 0) > 0:
        # Event loops wrap the system's message in their own.
        return os.strerror(error.errno or 0)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


async def _connect(address: str, port: int, limits: EgressLimits) -> Connection:
    return Connection(*await asyncio.open_connection(address, port, limit=limits.head_bytes))


async def _drop(attempts: set[asyncio.Task[Connection]]) -> None:
    """Cancel the other attempts, and close those that have just succeeded."""
    for attempt in attempts:
        attempt.cancel()
    for result in await asyncio.gather(*attempts, return_exceptions=True):
        if isinstance(result, Connection):
            result.abort()

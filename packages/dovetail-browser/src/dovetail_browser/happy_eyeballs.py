"""Connecting to the first of several addresses that answers.

A network with broken IPv6 swallows attempts without a word. So the next address is tried when the
one before it has failed or has had its head start, and the first connection wins (RFC 8305).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from dovetail_browser.relaying import EgressLimits, Line

__all__ = ["connect_first", "describe_error"]

# The head start of an address before the next one, as RFC 8305 recommends.
_HEAD_START = 0.25


async def connect_first(addresses: Sequence[str], port: int, limits: EgressLimits) -> Line | str:
    """A connection to one of these addresses, or why there is none."""
    waiting = list(addresses)
    attempts: set[asyncio.Task[Line]] = set()
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
    """What the system says of it."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and (error.errno or 0) > 0:
        # Event loops write sentences of their own around it.
        return os.strerror(error.errno or 0)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


async def _connect(address: str, port: int, limits: EgressLimits) -> Line:
    return Line(*await asyncio.open_connection(address, port, limit=limits.head_bytes))


async def _drop(attempts: set[asyncio.Task[Line]]) -> None:
    """End attempts that were not needed, also those that have just succeeded."""
    for attempt in attempts:
        attempt.cancel()
    for result in await asyncio.gather(*attempts, return_exceptions=True):
        if isinstance(result, Line):
            result.abort()

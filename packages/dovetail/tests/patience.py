"""The cap on every wait in the tests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["CAP", "pass_time", "wait_until"]

T = TypeVar("T")

# Seconds. It ends a test that hangs, never one that runs on a slow machine: pass it wherever a
# wait needs a limit, unless the limit itself is what the test is about.
CAP = 300.0


def wait_until(condition: Callable[[], T]) -> T:
    """The first true value of the condition, which is asked again and again."""
    deadline = time.monotonic() + CAP
    while not (found := condition()):
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.01)
    return found


def pass_time(seconds: float) -> None:
    """Let time pass at once for the running event loop: what it was to do by then is due."""
    loop = asyncio.get_running_loop()
    clock = loop.time
    loop.time = lambda: clock() + seconds  # type: ignore[method-assign]

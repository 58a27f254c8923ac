"""Waits for a condition on a page."""

from __future__ import annotations

import asyncio
import fnmatch
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from dovetail_browser.page_errors import driver_errors, with_timeout
from dovetail_browser.tab import Tab
from dovetail_browser.targets import Target, count_matches

__all__ = ["WaitCondition", "wait_until"]

_LOOK_EVERY = 0.05
_LOOK_SECONDS = 8.0
_IDLE_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitCondition:
    """A condition; exactly one member is set."""

    text: str | None = None
    text_gone: str | None = None
    selector: str | None = None
    url: str | None = None
    network_idle: bool = False
    ms: int | None = None

    def describe(self) -> list[str]:
        """Describe the members that are set."""
        said = {
            "text": self.text,
            "textGone": self.text_gone,
            "selector": self.selector,
            "url": self.url,
            "ms": None if self.ms is None else str(self.ms),
        }
        words = [f"{key} {value[:150]!r}" for key, value in said.items() if value is not None]
        return [*words, "networkIdle"] if self.network_idle else words


async def wait_until(tab: Tab, condition: WaitCondition, timeout_ms: int) -> bool:
    """Wait for a condition; return whether it was met in time."""
    if condition.ms is not None:
        await asyncio.sleep(condition.ms / 1000)
        return True
    look = _look(tab, condition)
    deadline = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            if await with_timeout(look(), "waiting for a condition", _LOOK_SECONDS):
                return True
        except driver_errors() as error:
            # The page navigates; the next page may meet the condition.
            if not any(sign in str(error) for sign in ("destroyed", "detached", "navigat")):
                raise
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(_LOOK_EVERY)


def _look(tab: Tab, condition: WaitCondition) -> Callable[[], Coroutine[Any, Any, bool]]:
    async def has(target: Target) -> bool:
        return await count_matches(tab, target) > 0

    async def is_there() -> bool:
        return await has(Target(text=condition.text, selector=condition.selector))

    async def is_gone() -> bool:
        return not await has(Target(text=condition.text_gone))

    async def is_at() -> bool:
        wanted = condition.url or ""
        return wanted in tab.page.url or fnmatch.fnmatchcase(tab.page.url, wanted)

    since = time.monotonic()

    async def is_idle() -> bool:
        nonlocal since
        if tab.log.pending or tab.log.is_navigating:
            since = time.monotonic()
        return time.monotonic() - since >= _IDLE_SECONDS

    if condition.network_idle:
        return is_idle
    if condition.url is not None:
        return is_at
    return is_gone if condition.text_gone is not None else is_there

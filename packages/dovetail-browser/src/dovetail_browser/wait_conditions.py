"""Waiting for something on a page to come, or to go."""

from __future__ import annotations

import asyncio
import fnmatch
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from dovetail_browser.page_errors import ask, driver_errors
from dovetail_browser.tab import Tab
from dovetail_browser.targets import Target, count_matches

__all__ = ["Wish", "wait_until"]

_LOOK_EVERY = 0.05
_LOOK_SECONDS = 8.0
_IDLE_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is waited for; exactly one member is set."""

    text: str | None = None
    text_gone: str | None = None
    selector: str | None = None
    url: str | None = None
    network_idle: bool = False
    ms: int | None = None

    def describe(self) -> list[str]:
        """What was said, each in words."""
        said = {
            "text": self.text,
            "textGone": self.text_gone,
            "selector": self.selector,
            "url": self.url,
            "ms": None if self.ms is None else str(self.ms),
        }
        words = [f"{key} {value[:150]!r}" for key, value in said.items() if value is not None]
        return [*words, "networkIdle"] if self.network_idle else words


async def wait_until(tab: Tab, wish: Wish, timeout_ms: int) -> bool:
    """Wait; whether it came in time."""
    if wish.ms is not None:
        await asyncio.sleep(wish.ms / 1000)
        return True
    look = _look(tab, wish)
    deadline = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            if await ask(look(), "waiting for it", _LOOK_SECONDS):
                return True
        except driver_errors() as error:
            # It goes on to another page, and what we wait for may be there.
            if not any(sign in str(error) for sign in ("destroyed", "detached", "navigat")):
                raise
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(_LOOK_EVERY)


def _look(tab: Tab, wish: Wish) -> Callable[[], Coroutine[Any, Any, bool]]:
    async def has(target: Target) -> bool:
        return await count_matches(tab, target) > 0

    async def is_there() -> bool:
        return await has(Target(text=wish.text, selector=wish.selector))

    async def is_gone() -> bool:
        return not await has(Target(text=wish.text_gone))

    async def is_at() -> bool:
        wanted = wish.url or ""
        return wanted in tab.page.url or fnmatch.fnmatchcase(tab.page.url, wanted)

    since = time.monotonic()

    async def is_idle() -> bool:
        nonlocal since
        if tab.log.pending or tab.log.is_navigating:
            since = time.monotonic()
        return time.monotonic() - since >= _IDLE_SECONDS

    if wish.network_idle:
        return is_idle
    if wish.url is not None:
        return is_at
    return is_gone if wish.text_gone is not None else is_there

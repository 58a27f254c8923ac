"""Decides which text of a page a person can see, by comparing screenshots.

A word is visible if the pixels of its place change whenever its glyphs are drawn or not, and only
then. Each part of the page is captured with all glyphs, with none, and with those of a random half
of its texts; more often, if it is in doubt to which text some pixels belong. The part is scrolled
into the window, as a person would do, because elements with a fixed position may cover text.

Scripts of the page are paused meanwhile by the debugger: nothing of theirs is lost, but they cannot
notice or change what is compared. `visible_text.js` finds the words in a document and removes
glyphs, `pixel_compare.js` compares screenshots, in an empty page of another process.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import time
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dovetail_browser.isolated_world import Documents, World
from dovetail_browser.page_errors import driver_errors

if TYPE_CHECKING:
    from playwright.async_api import Browser, CDPSession, Page

__all__ = ["Sight", "looking"]

_CALL = 'given => window[Symbol.for("dovetail.page")].sight.{name}(...given)'
_REVEAL = """(given, owner) =>
  owner && window[Symbol.for("dovetail.page")].sight.reveal(owner, given.rect, given.part)"""
# Where to scroll a frame to, in parts of the height of the window.
_PART = 0.2
_Rect = dict[str, float]
# Left and top in the window, and the scale.
_Place = tuple[float, float, float]
# After so many comparisons, the memory of the screenshots is freed.
_CLEAN_EVERY = 16
_random = random.SystemRandom()


class _Comparer:
    """An empty page that compares screenshots; one reading at a time uses it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self._page: Page | None = None
        self._count = 0

    async def compare(self, browser: Browser, given: dict[str, Any]) -> dict[str, Any]:
        """Return which words are visible, and whether that is in doubt."""
        if self._page is None or self._page.is_closed():
            context = await browser.new_context()
            self._page = await context.new_page()
            self._page.on("crash", lambda page: asyncio.ensure_future(page.context.close()))
        answer: dict[str, Any] = await self._page.evaluate(_script("pixel_compare.js"), given)
        self._count += 1
        if self._count % _CLEAN_EVERY == 0:
            await self._page.request_gc()
        return answer


_comparers: WeakKeyDictionary[Browser, _Comparer] = WeakKeyDictionary()


@cache
def _script(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


class Sight:
    """Looks at the documents of one page while its scripts are paused."""

    def __init__(self, browser: Browser, documents: Documents, comparer: _Comparer) -> None:
        self._browser = browser
        self._documents = documents
        self._comparer = comparer
        self._session = documents.processes()[0][0]
        self._worlds: dict[str, World] = {}
        self._has_fixed = False

    async def find_visible(self, world: World, read: dict[str, Any], deadline: float) -> bool:
        """Decide about the texts that `page_source.js` has found in a document.

        Parent documents must come first. Returns False if there was not enough time.
        """
        self._worlds[world.frame] = world
        await self._documents.run_in(world, _script("visible_text.js"), {})
        await self._call(world, "begin")
        # Text behind an element with a fixed position is looked at in two places.
        self._has_fixed = self._has_fixed or read["hasFixed"]
        while True:
            if time.monotonic() > deadline:
                return False
            rect = await self._call(world, "next")
            if rect is None:
                return True
            await self._look(world, rect, read["movesInk"])

    async def end(self) -> None:
        """Undo all changes: scroll positions, styles, the selection."""
        for world in self._worlds.values():
            with contextlib.suppress(*driver_errors()):
                await self._call(world, "end")

    async def _call(self, world: World, name: str, *given: Any) -> Any:
        return await self._documents.run_in(world, _CALL.format(name=name), list(given))

    async def _look(self, world: World, rect: dict[str, float], is_doubtful: bool) -> None:
        """Decide about the words in the window."""
        (left, top, scale), clip = await self._reveal(world, rect)
        found = await self._call(world, "measure", clip)
        seen: list[bool] = []
        if found["rects"]:
            count = found["groups"]
            clip = await self._clip(found["bounds"], left, top, scale)
            given = {
                "rects": found["rects"],
                "short": found["short"],
                "width": clip["width"],
                "place": {"left": left - clip["left"], "top": top - clip["top"], "scale": scale},
            }
            half = [_random.random() < 0.5 for _ in range(count)]
            patterns = [[True] * count, [False] * count, half]
            shots = [await self._capture(world, clip, pattern) for pattern in patterns]
            answer = None if is_doubtful else await self._compare(given, shots, patterns)
            if answer is None or answer["isDoubtful"]:
                # Each text gets a pattern of its own.
                digits = max(3, count.bit_length() + 1)
                numbers = _random.sample(range(1 << digits), count)
                more = [
                    [bool(number >> digit & 1) for number in numbers] for digit in range(digits)
                ]
                shots += [await self._capture(world, clip, pattern) for pattern in more]
                answer = await self._compare(given, shots, patterns + more)
            seen = answer["seen"]
            await self._call(world, "draw", [True] * count)
        await self._call(world, "judge", seen, 2 if self._has_fixed else 1)

    async def _compare(
        self, given: dict[str, Any], shots: list[str], patterns: list[list[bool]]
    ) -> dict[str, Any]:
        given = {**given, "shots": shots, "patterns": patterns}
        return await self._comparer.compare(self._browser, given)

    async def _clip(self, bounds: _Rect, left: float, top: float, scale: float) -> _Rect:
        """Return the part of the window to capture: in pixels of the window and of the document."""
        view = (await self._session.send("Page.getLayoutMetrics"))["cssVisualViewport"]
        right = min(math.ceil(left + bounds["right"] * scale) + 1, view["clientWidth"])
        bottom = min(math.ceil(top + bounds["bottom"] * scale) + 1, view["clientHeight"])
        left = max(math.floor(left + bounds["left"] * scale) - 1, 0)
        top = max(math.floor(top + bounds["top"] * scale) - 1, 0)
        size = {"width": max(right - left, 1), "height": max(bottom - top, 1)}
        return {
            "left": left,
            "top": top,
            "x": view["pageX"] + left,
            "y": view["pageY"] + top,
            **size,
        }

    async def _capture(self, world: World, clip: _Rect, pattern: list[bool]) -> str:
        await self._call(world, "draw", pattern)
        given = {side: clip[side] for side in ("x", "y", "width", "height")}
        answer = await self._session.send(
            "Page.captureScreenshot",
            {"format": "png", "optimizeForSpeed": True, "clip": {**given, "scale": 1}},
        )
        return str(answer["data"])

    async def _reveal(self, world: World, rect: dict[str, float]) -> tuple[_Place, _Rect | None]:
        """Scroll the parents of a document; return its place in the window and its visible part."""
        left, top, scale = 0.0, 0.0, 1.0
        clip: _Rect | None = None
        frame = world.frame
        while frame != self._documents.main:
            parent = self._worlds[self._documents.parent_of(frame)]
            given = {"rect": rect, "part": _PART}
            found = await self._documents.run_in(parent, _REVEAL, given, [frame])
            if found is None:
                raise driver_errors()[0]("Frame was detached")
            inner = found["scale"]
            left, top = found["left"] + left * inner, found["top"] + top * inner
            scale, rect, frame = scale * inner, found["rect"], parent.frame
            seen = {
                side: (value - (left if side in ("left", "right") else top)) / scale
                for side, value in found["clip"].items()
            }
            clip = (
                seen
                if clip is None
                else {
                    side: (max if side in ("left", "top") else min)(value, clip[side])
                    for side, value in seen.items()
                }
            )
        return (left, top, scale), clip


@contextlib.asynccontextmanager
async def looking(page: Page, documents: Documents) -> AsyncIterator[Sight]:
    """Pause the scripts of a page, so that its text can be compared with screenshots."""
    browser = page.context.browser
    assert browser is not None
    comparer = _comparers.setdefault(browser, _Comparer())
    # Pages of one process are paused together.
    async with comparer.lock, contextlib.AsyncExitStack() as stack:
        for session, frame in documents.processes():
            await stack.enter_async_context(_paused(session, frame))
        sight = Sight(browser, documents, comparer)
        stack.push_async_callback(sight.end)
        yield sight


@contextlib.asynccontextmanager
async def _paused(session: CDPSession, frame: str) -> AsyncIterator[None]:
    """Stop all scripts of a process as a debugger does. Screenshots and DevTools still work."""
    is_paused = asyncio.Event()

    def note(_: object) -> None:
        is_paused.set()

    session.on("Debugger.paused", note)
    stop: asyncio.Future[Any] | None = None
    try:
        world = await session.send(
            "Page.createIsolatedWorld", {"frameId": frame, "worldName": "dovetail"}
        )
        await session.send("Debugger.enable")
        await session.send("Animation.enable")
        await session.send("Animation.setPlaybackRate", {"playbackRate": 0})
        given = {"expression": "debugger", "contextId": world["executionContextId"]}
        # Returns when the scripts go on.
        stop = asyncio.ensure_future(session.send("Runtime.evaluate", given))
        await is_paused.wait()
        yield
    finally:
        session.remove_listener("Debugger.paused", note)
        with contextlib.suppress(*driver_errors()):
            await session.send("Animation.setPlaybackRate", {"playbackRate": 1})
            await session.send("Animation.disable")
            await session.send("Debugger.disable")
        if stop is not None:
            stop.add_done_callback(lambda done: done.cancelled() or done.exception())

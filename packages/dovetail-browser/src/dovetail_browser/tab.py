"""One tab: a page, and what is known of it beside what it shows."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dovetail import ToolError
from dovetail_browser.dialogs import Dialogs
from dovetail_browser.page_errors import driver_errors, refuse
from dovetail_browser.page_log import PageLog

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

__all__ = ["Tab", "close_later", "host_of"]

# Pages after which a tab's process is told to let go of the earlier ones.
_CLEAN_EVERY = 16


def host_of(url: str) -> str:
    """The host name of a URL; empty if it has none."""
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


class Tab:
    """A page, and what is known of it beside what it shows."""

    def __init__(self, id: str, page: Page, on_end: Callable[[Tab, str], None]) -> None:
        self.id = id
        self.page = page
        self.log = PageLog(page)
        self.dialogs = Dialogs(page, self._flooded)
        self.used = time.monotonic()
        # The host that was asked for; it may have redirected.
        self.asked_host = ""
        # The last whole snapshot, to compare the next one with.
        self.snapshot: str | None = None
        self.opened_tabs: list[str] = []
        self.downloads: list[str] = []
        # The answer to the last request for a page.
        self.status: int | None = None
        # Windows that the page has opened and that are not here yet.
        self.expected_popups = 0
        self._devtools: CDPSession | None = None
        self._moves = 0
        self._lock = asyncio.Lock()
        self._on_end = on_end
        self._limit: asyncio.Timeout | None = None
        self._ended = ""
        page.on("crash", lambda _: self.end("its process crashed"))
        page.on("close", lambda _: self.end("it was closed, by its page or with the browser"))

    @property
    def host(self) -> str:
        """The host of the page it shows."""
        return host_of(self.page.url)

    @contextlib.asynccontextmanager
    async def using(self) -> AsyncIterator[None]:
        """One call at a time: others queue. When the tab ends, so does the call."""
        async with self._lock:
            self.used = time.monotonic()
            try:
                async with asyncio.timeout(None) as self._limit:
                    if self._ended:
                        raise TimeoutError
                    yield
            except TimeoutError:
                raise self._gone() if self._ended else TimeoutError from None
            except driver_errors():
                if not self._ended:
                    raise
                raise self._gone() from None
            finally:
                self._limit = None
                self.used = time.monotonic()

    def _gone(self) -> ToolError:
        return refuse(
            f"Tab {self.id} is gone: {self._ended}.",
            "fetch_webpage opens the page again",
            "manage_tabs with action=list shows what is open",
        )

    def end(self, reason: str) -> None:
        """The page is gone; whoever waits for it is told."""
        if self._ended:
            return
        self._ended = reason
        if self._limit is not None:
            self._limit.reschedule(asyncio.get_running_loop().time())
        self._on_end(self, reason)

    async def listen(self) -> None:
        """Hear of windows that the page opens before they are there."""
        with contextlib.suppress(*driver_errors()):
            session = await self.page.context.new_cdp_session(self.page)
            session.on("Page.windowOpen", self._opening)
            await session.send("Page.enable")
            self._devtools = session

    def has_moved(self) -> bool:
        """Count one more page; whether it is time to clean up after those before."""
        self._moves += 1
        return self._moves % _CLEAN_EVERY == 0

    async def clean_up(self) -> None:
        """Let go of earlier pages: left alone, a page's process keeps dozens of them."""
        if self._devtools is not None:
            with contextlib.suppress(TimeoutError, *driver_errors()):
                async with asyncio.timeout(5):
                    await self._devtools.send("HeapProfiler.collectGarbage")

    def _opening(self, _event: object) -> None:
        self.expected_popups += 1

    def _flooded(self) -> None:
        self.end("it opened dialog after dialog, so it was closed")
        close_later(self.page)


_closing: set[asyncio.Future[None]] = set()


def close_later(page: Page) -> None:
    """Close a page without waiting for it."""

    async def close() -> None:
        with contextlib.suppress(*driver_errors()):
            await page.close()

    task = asyncio.ensure_future(close())
    _closing.add(task)
    task.add_done_callback(_closing.discard)

"""One tab: a page with its logs, dialogs and state."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dovetail import ToolError
from dovetail_browser.dialogs import Dialogs
from dovetail_browser.page_errors import (
    UnresponsivePageError,
    abandon_after,
    driver_errors,
    tool_error,
)
from dovetail_browser.page_log import PageLog

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

__all__ = ["Tab", "close_later", "host_of"]

# After this many navigations, the tab's process is told to free earlier pages.
_CLEAN_EVERY = 16
_RESPONSE_SECONDS = 2.0
_CLOSE_SECONDS = 5.0


def host_of(url: str) -> str:
    """Return the host name of a URL; empty if it has none."""
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


class Tab:
    """A page with its logs, dialogs and state."""

    def __init__(self, id: str, page: Page, on_end: Callable[[Tab, str], None]) -> None:
        self.id = id
        self.page = page
        self.log = PageLog(page)
        self.dialogs = Dialogs(page, self._flooded)
        self.used = time.monotonic()
        # The requested host, which may have redirected.
        self.asked_host = ""
        # The last complete snapshot, for the next diff.
        self.snapshot: str | None = None
        self.opened_tabs: list[str] = []
        self.downloads: list[str] = []
        # The response to the last navigation.
        self.status: int | None = None
        # What the page was still busy with when the last call stopped waiting.
        self.pending: list[str] = []
        # Set if its document did not settle in time.
        self.is_restless = False
        # Number of opened windows that have not appeared yet.
        self.expected_popups = 0
        # Set if its scripts do not end, so that the page cannot be read or left.
        self.is_stuck = False
        self._devtools: CDPSession | None = None
        self._moves = 0
        # Calls that use the tab or wait for it.
        self.calls = 0
        self._lock = asyncio.Lock()
        self._on_end = on_end
        self._limit: asyncio.Timeout | None = None
        self._ended = ""
        page.on("crash", lambda _: self.end("its process crashed"))
        page.on("close", lambda _: self.end("it was closed, by its page or with the browser"))

    @property
    def host(self) -> str:
        """The host of the current page."""
        return host_of(self.page.url)

    @contextlib.asynccontextmanager
    async def using(self) -> AsyncIterator[None]:
        """Lock the tab for one call; other calls wait. If the tab is closed, the call fails."""
        self.calls += 1
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self._leave)
            await stack.enter_async_context(self._lock)
            self.used = time.monotonic()
            try:
                async with asyncio.timeout(None) as self._limit:
                    if self._ended:
                        raise TimeoutError
                    yield
            except TimeoutError:
                raise self._gone() if self._ended else TimeoutError from None
            except UnresponsivePageError:
                self.is_stuck = True
                raise
            except driver_errors():
                if not self._ended:
                    raise
                raise self._gone() from None
            finally:
                self._limit = None
                self.used = time.monotonic()

    def _leave(self) -> None:
        self.calls -= 1

    def _gone(self) -> ToolError:
        return tool_error(
            f"Tab {self.id} is closed: {self._ended}.",
            "fetch_webpage opens the page again",
            "manage_tabs with `action=list` lists the open tabs",
        )

    def end(self, reason: str) -> None:
        """Mark the tab as closed; waiting calls fail with the reason."""
        if self._ended:
            return
        self._ended = reason
        if self._limit is not None:
            self._limit.reschedule(asyncio.get_running_loop().time())
        self._on_end(self, reason)

    async def listen(self) -> None:
        """Subscribe to window-open events, which precede the new page."""
        with contextlib.suppress(*driver_errors()):
            session = await self.page.context.new_cdp_session(self.page)
            session.on("Page.windowOpen", self._opening)
            await session.send("Page.enable")
            self._devtools = session

    async def is_responding(self) -> bool:
        """Whether the page's scripts leave time for other work."""
        with contextlib.suppress(TimeoutError, *driver_errors()):
            await abandon_after(_RESPONSE_SECONDS, self.page.evaluate("1"))
            return True
        return False

    async def close(self, reason: str) -> None:
        """Close the page; neither the page nor its scripts can prevent it."""
        self.end(reason)
        if not await self.is_responding():
            with contextlib.suppress(TimeoutError, *driver_errors()):
                await abandon_after(_RESPONSE_SECONDS, self._crash())
        with contextlib.suppress(TimeoutError, *driver_errors()):
            await abandon_after(_CLOSE_SECONDS, self.page.close())

    async def _crash(self) -> None:
        """End the page's process: it can outlive the tab, and new tabs of the site may get it."""
        session = self._devtools or await self.page.context.new_cdp_session(self.page)
        # Not handled in the page's main thread, which is busy.
        await session.send("Page.crash")

    def has_moved(self) -> bool:
        """Count a navigation; return whether it is time to free earlier pages."""
        self.is_restless = False
        self._moves += 1
        return self._moves % _CLEAN_EVERY == 0

    async def clean_up(self) -> None:
        """Free earlier pages; otherwise the page's process keeps dozens of them."""
        if self._devtools is not None:
            with contextlib.suppress(TimeoutError, *driver_errors()):
                await abandon_after(5, self._devtools.send("HeapProfiler.collectGarbage"))

    def _opening(self, _event: object) -> None:
        self.expected_popups += 1

    def _flooded(self) -> None:
        self.end("it opened too many dialogs")
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

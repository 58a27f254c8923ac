"""The tabs of one session, including popups: one for each host, unless a new tab is requested.

A tab is selected by its id, by the host of a URL, or as the tab used last. Its host is that of its
current page, so it changes with a redirect; the requested host is stored as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from dovetail_browser.page_errors import abandon_after, driver_errors, join_names, tool_error
from dovetail_browser.saved_files import SavedFiles
from dovetail_browser.tab import Tab, close_later, host_of

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Download, Page

__all__ = ["Tabs"]

_MOST_TABS = 20
_MOST_REMEMBERED = 50
_DOWNLOAD_SECONDS = 120
_OPEN_SECONDS = 30


class Tabs:
    """The open tabs of a browser context."""

    def __init__(self, files: SavedFiles, on_change: Callable[[], None]) -> None:
        self._files = files
        self._on_change = on_change
        # Why the tabs of this client's last session were closed; empty if they were not.
        self.before = ""
        self._numbers = itertools.count(1)
        self._open: dict[str, Tab] = {}
        # Id -> why it was closed.
        self._gone: OrderedDict[str, str] = OrderedDict()
        self._context: BrowserContext | None = None
        self._at_work: set[asyncio.Future[None]] = set()

    def __iter__(self) -> itertools.chain[Tab]:
        return itertools.chain(list(self._open.values()))

    def __len__(self) -> int:
        return len(self._open)

    def attach(self, context: BrowserContext) -> None:
        """Track the pages of a new context."""
        self._context = context
        context.on("page", self._appeared)
        for page in context.pages:
            self._adopt(page)

    def lose_all(self, reason: str) -> None:
        """Mark all tabs as closed, because the context is closed or released."""
        if self._context is not None:
            self._context.remove_listener("page", self._appeared)
        self._context = None
        for tab in self:
            tab.end(reason)

    @property
    def current(self) -> Tab | None:
        """The tab used last."""
        return max(self, key=lambda tab: tab.used, default=None)

    def of_host(self, host: str) -> Tab | None:
        """Return the tab whose current or requested host this is; of several, the one used last."""
        newest = sorted(self, key=lambda tab: tab.used, reverse=True)
        showing = (tab for tab in newest if tab.host == host)
        asked = (tab for tab in newest if tab.asked_host == host)
        return next(itertools.chain(showing, asked), None)

    def find(self, id: str | None, url: str | None) -> Tab:
        """Return the tab with this id or URL, or else the current tab."""
        if id is not None:
            found = self._open.get(id)
            if found is None:
                raise self._missing(id)
            return found
        if url is not None:
            found = self.of_host(host_of(url))
            if found is None:
                raise tool_error(
                    f"No tab shows a page of {host_of(url) or url[:200]!r}; open tabs: "
                    f"{self.describe()}.",
                    "fetch_webpage with this `url` opens one",
                    "pass the id of an open tab as `tab`",
                )
            return found
        found = self.current
        if found is None:
            gone = [f"{id}: {reason}" for id, reason in self._gone.items()]
            raise tool_error(
                f"No tab is open. {self.before}"
                + (f"Closed before: {join_names(gone[::-1], 3)}." if gone else ""),
                "fetch_webpage with a `url` opens one",
            )
        return found

    async def open(self) -> Tab:
        """Open an empty tab."""
        if len(self) >= _MOST_TABS:
            raise tool_error(
                f"{_MOST_TABS} tabs are open, which is the limit: {self.describe()}.",
                "manage_tabs with `action=close` and `tab` closes one of them",
            )
        try:
            return await abandon_after(_OPEN_SECONDS, self._open_page())
        except TimeoutError:
            # The browser gave the page to a process that hangs or has just died.
            raise tool_error(
                f"The browser did not open a tab within {_OPEN_SECONDS} s.",
                "fetch_webpage tries again",
            ) from None

    async def _open_page(self) -> Tab:
        assert self._context is not None, "a session has a context before it opens tabs"
        tab = self._adopt(await self._context.new_page())
        await tab.listen()
        return tab

    async def close(self, tab: Tab) -> None:
        """Close a tab; the page cannot prevent it."""
        await tab.close("it was closed by a call")

    async def replace_stuck(self, tab: Tab) -> Tab | None:
        """Return a tab whose scripts did not end if it responds again; otherwise close it."""
        tab.is_stuck = not await tab.is_responding()
        if not tab.is_stuck:
            return tab
        await tab.close("its scripts did not end, and fetch_webpage replaced it")
        return None

    def describe(self) -> str:
        """Describe the open tabs for a message."""
        return join_names([f"{tab.id} ({tab.page.url[:80]})" for tab in self]) or "none"

    def _missing(self, id: str) -> Exception:
        reason = self._gone.get(id)
        gone = (
            f"Tab {id} is closed: {reason}"
            if reason
            else f"{self.before}There is no tab {id[:40]!r}"
        )
        return tool_error(
            f"{gone}; open tabs: {self.describe()}.",
            "fetch_webpage opens the page again",
            "manage_tabs with `action=list` lists the open tabs",
        )

    def _appeared(self, page: Page) -> None:
        if any(tab.page is page for tab in self):
            return
        opener = next((tab for tab in self if tab.expected_popups), None)
        if opener is not None:
            opener.expected_popups -= 1
        # Close windows beyond the limit.
        if len(self) >= _MOST_TABS:
            close_later(page)
            return
        tab = self._adopt(page)
        if opener is not None:
            # A popup does not become the current tab.
            tab.used = opener.used - 0.001
            opener.opened_tabs.append(tab.id)
            self._spawn(tab.listen())

    def _adopt(self, page: Page) -> Tab:
        known = next((tab for tab in self if tab.page is page), None)
        if known is not None:
            return known
        tab = Tab(f"t{next(self._numbers)}", page, self._end)
        self._open[tab.id] = tab
        page.on("download", lambda download: self._spawn(self._keep(tab, download)))
        page.on("framenavigated", lambda frame: self._moved(tab, frame is page.main_frame))
        self._on_change()
        return tab

    def _moved(self, tab: Tab, is_whole_page: bool) -> None:
        if not is_whole_page:
            return
        if tab.has_moved():
            self._spawn(tab.clean_up())
        self._on_change()

    def _end(self, tab: Tab, reason: str) -> None:
        if self._open.pop(tab.id, None) is None:
            return
        self._gone[tab.id] = reason
        while len(self._gone) > _MOST_REMEMBERED:
            self._gone.popitem(last=False)
        self._on_change()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)

    async def _keep(self, tab: Tab, download: Download) -> None:
        place = self._files.place_for(download.suggested_filename)
        with contextlib.suppress(TimeoutError, OSError, *driver_errors()):
            if place is None:
                tab.downloads.append(f"{download.suggested_filename[:100]} (refused: no --folder)")
                await download.cancel()
                return
            async with asyncio.timeout(_DOWNLOAD_SECONDS):
                await download.save_as(place)
            tab.downloads.append(place.name)

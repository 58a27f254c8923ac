"""State that all tools share: sessions, secrets, files; and how a call finds its tab."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from dovetail import Context
from dovetail_browser.dialogs import AnsweredDialog
from dovetail_browser.drivers import Drivers
from dovetail_browser.login import LoginOptions
from dovetail_browser.page_reader import ReadOptions, read_page, title_of
from dovetail_browser.result_types import DialogView
from dovetail_browser.saved_files import SavedFiles
from dovetail_browser.secret_values import Secrets
from dovetail_browser.sessions import BrowserSession, Sessions
from dovetail_browser.settling import SETTLE_SECONDS, settle
from dovetail_browser.tab import Tab
from dovetail_browser.tool_results import PageText

__all__ = ["Browsing", "Where", "view_dialog"]


@dataclass(frozen=True, slots=True)
class Where:
    """The arguments of a call that select its tab."""

    session: str | None = None
    tab: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Browsing:
    """Shared state of the tools."""

    drivers: Drivers
    sessions: Sessions
    secrets: Secrets
    files: SavedFiles
    login: LoginOptions = field(default_factory=LoginOptions)
    settle_seconds: float = SETTLE_SECONDS

    @contextlib.asynccontextmanager
    async def at(self, ctx: Context, where: Where) -> AsyncIterator[tuple[BrowserSession, Tab]]:
        """Yield the session and tab of a call; other calls on the tab wait."""
        async with self.sessions.using(ctx, where.session) as session:
            tab = session.tabs.find(where.tab, where.url)
            async with tab.using():
                yield session, tab

    async def settle(self, ctx: Context, tab: Tab, pause: int | None = None) -> None:
        """Wait until a page has settled, or exactly for `pause` milliseconds."""
        await settle(ctx, tab, pause, self.settle_seconds)

    async def read_after(
        self, ctx: Context, tab: Tab, pause: int | None, how: ReadOptions | None
    ) -> PageText | None:
        """Wait until a page has settled after an action, and read it if `how` is given."""
        await self.settle(ctx, tab, pause)
        return None if how is None else await read_page(tab, how, self.secrets)

    async def describe(self, session: BrowserSession, tab: Tab) -> dict[str, Any]:
        """Return the members that every result about a tab has."""
        opened, tab.opened_tabs = tab.opened_tabs, []
        downloads, tab.downloads = tab.downloads, []
        pending, tab.pending = tab.pending, []
        return {
            "tab_id": tab.id,
            "current_url": tab.page.url,
            "title": await title_of(tab) or None,
            "dialogs": [view_dialog(one) for one in tab.dialogs.take_new()] or None,
            "opened_tabs": opened or None,
            "downloads": downloads or None,
            "pending": pending or None,
            "session": session.handle if session.is_named else None,
        }


def view_dialog(dialog: AnsweredDialog) -> DialogView:
    """Convert a dialog to its form in results."""
    return DialogView(kind=dialog.kind, message=dialog.message, answer=dialog.answer)

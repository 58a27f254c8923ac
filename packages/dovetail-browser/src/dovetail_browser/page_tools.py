"""The tools fetch_webpage, get_current_html and close_tab."""

from __future__ import annotations

import asyncio
from typing import Annotated

from dovetail import Context, ToolResult
from dovetail_browser.browsing import Browsing, Where
from dovetail_browser.driver import Driver
from dovetail_browser.inputs import (
    MAX_CHARS,
    AfterPause,
    Clean,
    LoadTimeout,
    MainOnly,
    MaxChars,
    NewTab,
    Offset,
    PageFormat,
    Part,
    SaveTo,
    SessionHandle,
    TabId,
    TabUrl,
    Url,
)
from dovetail_browser.login import pass_login
from dovetail_browser.navigation import LOAD_MS, check_address, go_to, report_progress
from dovetail_browser.page_errors import tool_error
from dovetail_browser.page_reader import ReadOptions, read_page
from dovetail_browser.result_types import ClosedTabs, FetchedPage, PageRead
from dovetail_browser.sessions import BrowserSession
from dovetail_browser.tab import Tab, host_of
from dovetail_browser.tool_registrar import CLOSES, READS, SAVES, ToolRegistrar
from dovetail_browser.tool_results import PageText, make_page_result, make_result
from dovetail_browser.wait_conditions import WaitCondition, wait_until

__all__ = ["add_page_tools"]

_TO_ACT = ["interact and fill_form act on elements"]
_AT_LOGIN = [
    "fill_form with `secret` for the password logs in, if the operator has defined secrets",
    "ask the user to log in: dovetail serve browser --headed --profile DIR keeps the login",
    "fetch_webpage with the same `url` again after the login",
]


def add_page_tools(tools: ToolRegistrar, browsing: Browsing) -> None:
    """Register the tools."""
    _add_fetch(tools, browsing)
    _add_read(tools, browsing)
    _add_close(tools, browsing)


def _add_fetch(tools: ToolRegistrar, browsing: Browsing) -> None:
    secrets = browsing.secrets

    @tools.add(
        "fetch_webpage",
        "Load a page, run its scripts, wait until it settles, and return it. The tab stays open "
        "for the other tools; each host has one tab. Long pages are split (nextOffset).",
        SAVES,
        FetchedPage,
    )
    async def fetch_webpage(  # noqa: PLR0913 - the tool's own parameters, nearly all optional
        url: Url,
        ctx: Context,
        removeUnnecessaryHTML: Clean = True,
        postLoadWait: AfterPause = None,
        format: PageFormat = "html",
        selector: Part = None,
        mainContentOnly: MainOnly = False,
        maxChars: MaxChars = MAX_CHARS,
        offset: Offset = 0,
        newTab: NewTab = False,
        waitFor: Annotated[str | None, "CSS selector to wait for, at most `timeout`."] = None,
        timeout: LoadTimeout = LOAD_MS,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        address = url if ":" in url.partition("/")[0] else f"https://{url}"
        how = ReadOptions(format, selector, mainContentOnly, removeUnnecessaryHTML)
        await check_address(browsing.drivers, address)
        async with browsing.sessions.using(ctx, session, may_create=True) as browser_session:
            browser_tab, is_new = await _select_tab(ctx, browser_session, address, tab, newTab)
            driver = browser_session.driver
            try:
                async with browser_tab.using():
                    was_loaded = await _load(ctx, driver, browser_tab, address, timeout)
                    await _expect(ctx, browser_tab, waitFor, timeout)
                    await browsing.settle(ctx, browser_tab, postLoadWait)
                    at_login = await pass_login(ctx, browser_tab, address, browsing.login)
                    page = await read_page(browser_tab, how, secrets) if was_loaded else None
                    tab_state = await browsing.describe(browser_session, browser_tab)
            except Exception:
                # After the call has left the tab, or closing the tab would end the call. After a
                # cancelled call the tab stays, for the next page of its host.
                is_unused = is_new and browser_tab.calls == 0
                if is_unused and browser_tab.page.url in ("about:blank", ""):
                    await browser_session.tabs.close(browser_tab)
                raise
            result = FetchedPage(
                url=address if address != tab_state["current_url"] else None,
                status=browser_tab.status,
                login_required=at_login,
                next_steps=_AT_LOGIN if at_login else _TO_ACT,
                **tab_state,
            )
            return make_page_result(result, page, secrets, offset=offset, max_chars=maxChars)


def _add_read(tools: ToolRegistrar, browsing: Browsing) -> None:
    secrets = browsing.secrets

    @tools.add(
        "get_current_html",
        "Return the current page of a tab, without loading it again. format=snapshot returns refs "
        "of elements for the other tools.",
        # Without a folder the tool cannot write files.
        SAVES if browsing.files.folder else READS,
        PageRead,
    )
    async def get_current_html(  # noqa: PLR0913 - the tool's own parameters, nearly all optional
        ctx: Context,
        url: TabUrl = None,
        removeUnnecessaryHTML: Clean = True,
        format: PageFormat = "html",
        selector: Part = None,
        mainContentOnly: MainOnly = False,
        find: Annotated[str, "Snapshot: only lines with this text, and their ancestors."] = "",
        interactiveOnly: Annotated[bool, "Snapshot: only elements to click or type into."] = False,
        diff: Annotated[bool, "Snapshot: only changes since the last one."] = False,
        maxChars: MaxChars = MAX_CHARS,
        offset: Offset = 0,
        saveTo: SaveTo = None,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        how = ReadOptions(
            "snapshot" if find or interactiveOnly or diff else format,
            selector,
            mainContentOnly,
            removeUnnecessaryHTML,
            find,
            interactiveOnly,
            diff,
        )
        async with browsing.at(ctx, Where(session, tab, url)) as (browser_session, browser_tab):
            page: PageText | None = await read_page(browser_tab, how, secrets)
            tab_state = await browsing.describe(browser_session, browser_tab)
        saved = None
        if saveTo is not None and page is not None:
            saved = browsing.files.save(saveTo, secrets.hide(page.text).encode())
            page = None
        result = PageRead(
            saved_to=saved,
            next_steps=_TO_ACT,
            **tab_state,
        )
        return make_page_result(result, page, secrets, offset=offset, max_chars=maxChars)


def _add_close(tools: ToolRegistrar, browsing: Browsing) -> None:
    @tools.add(
        "close_tab",
        "Close the tab of a host, a tab by its id, or all tabs. Cookies are kept.",
        CLOSES,
        ClosedTabs,
    )
    async def close_tab(
        ctx: Context,
        url: TabUrl = None,
        tab: TabId = None,
        all: bool = False,
        session: SessionHandle = None,
    ) -> ToolResult:
        if sum((url is not None, tab is not None, all)) != 1:
            raise tool_error(
                "Nothing to close was given.", "give one of `url`, `tab` and `all=true`"
            )
        async with browsing.sessions.using(ctx, session) as browser_session:
            closing = _to_close(browser_session, url, tab)
            await asyncio.gather(*map(browser_session.tabs.close, closing))
            left = browser_session.tabs.describe()
        closed = [one.id for one in closing]
        return make_result(
            ClosedTabs(
                message=f"Closed {', '.join(closed)}." if closed else "No matching tab was open.",
                closed=closed,
                hostname=host_of(url) or None if url is not None else None,
                session=browser_session.handle if browser_session.is_named else None,
                next_steps=[f"fetch_webpage opens a page; open tabs: {left}"],
            ),
            browsing.secrets,
        )


async def _select_tab(
    ctx: Context, session: BrowserSession, url: str, tab: str | None, new_tab: bool
) -> tuple[Tab, bool]:
    """Return the tab for a page, and whether it is new; a retried call gets the same tab."""
    await session.start()
    is_new = False

    async def choose() -> str:
        nonlocal is_new
        # Concurrent calls for one host must not open two tabs.
        async with session.placing:
            if tab is not None:
                known: Tab | None = session.tabs.find(tab, None)
            else:
                known = None if new_tab else session.tabs.of_host(host_of(url))
            if known is not None and known.is_stuck:
                known = await session.tabs.replace_stuck(known)
            is_new = known is None
            browser_tab = known or await session.tabs.open()
            browser_tab.asked_host = host_of(url)
            return browser_tab.id

    chosen = await ctx.once("tab", choose, str)
    return session.tabs.find(chosen, None), is_new


async def _load(ctx: Context, driver: Driver, tab: Tab, url: str, timeout: int) -> bool:
    """Load a page, once also for a retried call; False if it was a file download."""

    async def load() -> bool:
        had = len(tab.downloads)
        await go_to(ctx, driver, tab, url, timeout)
        return len(tab.downloads) == had

    return await ctx.once("load", load, bool)


async def _expect(ctx: Context, tab: Tab, selector: str | None, timeout: int) -> None:
    if selector is None:
        return
    async with report_progress(ctx, f"Waiting for {selector[:80]}"):
        if not await wait_until(tab, WaitCondition(selector=selector), timeout):
            raise tool_error(
                f"The page was loaded, but {selector[:200]!r} did not appear within {timeout} ms.",
                "get_current_html shows the current page",
            )


def _to_close(session: BrowserSession, url: str | None, tab: str | None) -> list[Tab]:
    if tab is not None:
        return [session.tabs.find(tab, None)]
    if url is None:
        return list(session.tabs)
    found = session.tabs.of_host(host_of(url))
    return [found] if found is not None else []

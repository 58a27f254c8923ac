"""The tools that open, read and close pages: fetch_webpage, get_current_html, close_tab."""

from __future__ import annotations

from typing import Annotated

from dovetail import Context, Server, ToolResult
from dovetail_browser.answers import (
    CLOSES,
    READS,
    SAVES,
    PageText,
    answer,
    page_answer,
    tool,
)
from dovetail_browser.browsing import Browsing, Where
from dovetail_browser.inputs import (
    MAX_CHARS,
    Clean,
    LoadTimeout,
    MaxChars,
    NewTab,
    Offset,
    PageFormat,
    Pause,
    Place,
    SaveTo,
    Selector,
    SessionHandle,
    TabId,
    Url,
)
from dovetail_browser.login import pass_login
from dovetail_browser.navigating import LOAD_MS, check_address, go_to, settle, telling
from dovetail_browser.page_errors import refuse
from dovetail_browser.reading import Reading, read_page
from dovetail_browser.results import ClosedTabs, FetchedPage, PageRead
from dovetail_browser.sessions import BrowserSession
from dovetail_browser.tab import Tab, host_of
from dovetail_browser.waiting import Wish, wait_until

__all__ = ["add_page_tools"]

_MAIN_ONLY = "Leave out navigation, headers, footers and side bars."
_AFTER_FETCH = ["page_snapshot for refs; click_element, type_text or fill_form to act; close_tab"]
_AT_LOGIN = [
    "fill_form with `secret` for the password logs in if the operator has given secrets",
    "ask the user to log in: dovetail serve browser --headed --profile DIR keeps the log-in",
    "fetch_webpage with the same URL again after the log-in",
]


def add_page_tools(server: Server, browsing: Browsing) -> None:
    """Register them."""
    _add_fetch(server, browsing)
    _add_read(server, browsing)
    _add_close(server, browsing)


def _add_fetch(server: Server, browsing: Browsing) -> None:
    secrets = browsing.secrets

    @tool(
        server,
        secrets,
        "fetch_webpage",
        "Load a page in a real browser, with its scripts run, and read it: as cleaned HTML, "
        "Markdown, plain text, or an accessibility tree with refs. The tab stays open for the "
        "other tools; each host has one tab, unless newTab. Long pages come in parts (nextOffset).",
        SAVES,
        FetchedPage,
    )
    async def fetch_webpage(  # noqa: PLR0913 - the tool's own parameters, nearly all optional
        url: Annotated[Url, "http or https."],
        ctx: Context,
        removeUnnecessaryHTML: Clean = True,
        postLoadWait: Annotated[
            Pause | None, "Wait so long after loading; without, until it is quiet, at most 1 s."
        ] = None,
        format: PageFormat = "html",
        selector: Annotated[Selector, "Only this element."] = None,
        mainContentOnly: Annotated[bool, _MAIN_ONLY] = False,
        maxChars: MaxChars = MAX_CHARS,
        offset: Offset = 0,
        newTab: NewTab = False,
        waitFor: Annotated[Selector, "Wait until this element is there, at most `timeout`."] = None,
        timeout: LoadTimeout = LOAD_MS,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        address = url if ":" in url.partition("/")[0] else f"https://{url}"
        how = Reading(format, selector, mainContentOnly, removeUnnecessaryHTML)
        await check_address(browsing.driver, address)
        async with browsing.sessions.using(ctx, session, may_begin=True) as own:
            place, is_new = await _place(ctx, own, address, tab, newTab)
            async with place.using():
                try:
                    was_loaded = await _load(browsing, ctx, place, address, timeout)
                    await _expect(ctx, place, waitFor, timeout)
                    await settle(ctx, place, postLoadWait)
                    at_login = await pass_login(ctx, place, address, browsing.login)
                except BaseException:
                    if is_new and place.page.url in ("about:blank", ""):
                        await own.tabs.close(place)
                    raise
                page = await read_page(place, how, secrets) if was_loaded else None
                told = await browsing.describe(own, place)
            result = FetchedPage(
                url=address if address != told["current_url"] else None,
                status=place.status,
                login_required=at_login,
                next_steps=_AT_LOGIN if at_login else _AFTER_FETCH,
                **told,
            )
            return page_answer(result, page, secrets, offset=offset, max_chars=maxChars)


def _add_read(server: Server, browsing: Browsing) -> None:
    secrets = browsing.secrets

    @tool(
        server,
        secrets,
        "get_current_html",
        "Read the page of a tab as it is now, without loading it again: as cleaned HTML, Markdown, "
        "plain text or an accessibility tree; whole or one element; or save it to a file.",
        # Without a folder there is nothing that it could change.
        SAVES if browsing.files.folder else READS,
        PageRead,
    )
    async def get_current_html(  # noqa: PLR0913 - the tool's own parameters, nearly all optional
        ctx: Context,
        url: Place = None,
        removeUnnecessaryHTML: Clean = True,
        format: PageFormat = "html",
        selector: Annotated[Selector, "Only this element."] = None,
        mainContentOnly: Annotated[bool, _MAIN_ONLY] = False,
        maxChars: MaxChars = MAX_CHARS,
        offset: Offset = 0,
        saveTo: SaveTo = None,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        how = Reading(format, selector, mainContentOnly, removeUnnecessaryHTML)
        async with browsing.at(ctx, Where(session, tab, url)) as (own, place):
            page: PageText | None = await read_page(place, how, secrets)
            told = await browsing.describe(own, place)
        saved = None
        if saveTo is not None and page is not None:
            saved = browsing.files.save(saveTo, secrets.hide(page.text).encode())
            page = None
        result = PageRead(
            saved_to=saved,
            next_steps=["click_element, type_text or fill_form to act on the page"],
            **told,
        )
        return page_answer(result, page, secrets, offset=offset, max_chars=maxChars)


def _add_close(server: Server, browsing: Browsing) -> None:
    @tool(
        server,
        browsing.secrets,
        "close_tab",
        "Close the tab of a host, a tab by its id, or all tabs of this session. Cookies stay.",
        CLOSES,
        ClosedTabs,
    )
    async def close_tab(
        ctx: Context,
        url: Place = None,
        tab: TabId = None,
        all: Annotated[bool, "Close all tabs."] = False,
        session: SessionHandle = None,
    ) -> ToolResult:
        if sum((url is not None, tab is not None, all)) != 1:
            raise refuse("Say what to close.", "give one of url, tab and all=true")
        async with browsing.sessions.using(ctx, session) as own:
            closing = _to_close(own, url, tab)
            for one in closing:
                await own.tabs.close(one)
            left = own.tabs.describe()
        closed = [one.id for one in closing]
        return answer(
            ClosedTabs(
                message=f"Closed {', '.join(closed)}." if closed else "Nothing was open there.",
                closed=closed,
                hostname=host_of(url) or None if url is not None else None,
                session=own.handle if own.is_named else None,
                next_steps=[f"fetch_webpage opens a page; open tabs: {left}"],
            ),
            browsing.secrets,
        )


async def _place(
    ctx: Context, session: BrowserSession, url: str, tab: str | None, new_tab: bool
) -> tuple[Tab, bool]:
    """The tab for a page, and whether it is new; a call that runs again finds the same one."""
    await session.start()
    is_new = False

    async def choose() -> str:
        nonlocal is_new
        if tab is not None:
            return session.tabs.find(tab, None).id
        # Two calls for one host at the same time must not open two tabs.
        async with session.placing:
            known = None if new_tab else session.tabs.of_host(host_of(url))
            is_new = known is None
            place = known or await session.tabs.open()
            place.asked_host = host_of(url)
            return place.id

    chosen = await ctx.once("tab", choose, str)
    return session.tabs.find(chosen, None), is_new


async def _load(browsing: Browsing, ctx: Context, tab: Tab, url: str, timeout: int) -> bool:
    """Load a page once, also for a call that runs again; False: it was a file to download."""

    async def load() -> bool:
        had = len(tab.downloads)
        await go_to(ctx, browsing.driver, tab, url, timeout)
        return len(tab.downloads) == had

    return await ctx.once("load", load, bool)


async def _expect(ctx: Context, tab: Tab, selector: str | None, timeout: int) -> None:
    if selector is None:
        return
    async with telling(ctx, f"Waiting for {selector[:80]}"):
        if not await wait_until(tab, Wish(selector=selector), timeout):
            raise refuse(
                f"The page was loaded, but no element {selector[:200]!r} came within {timeout} ms.",
                "get_current_html or page_snapshot shows what is there",
            )


def _to_close(session: BrowserSession, url: str | None, tab: str | None) -> list[Tab]:
    if tab is not None:
        return [session.tabs.find(tab, None)]
    if url is None:
        return list(session.tabs)
    found = session.tabs.of_host(host_of(url))
    return [found] if found is not None else []

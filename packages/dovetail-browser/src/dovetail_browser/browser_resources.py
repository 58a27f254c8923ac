"""Resources: the open tabs, a screenshot of a tab, its console and network logs."""

from __future__ import annotations

from typing import Any

import msgspec

from dovetail import Context, Image, ResourceNotFoundError, Server, ToolError
from dovetail_browser.browsing import Browsing
from dovetail_browser.page_errors import driver_errors, explain
from dovetail_browser.page_log import LogKind
from dovetail_browser.screenshots import ScreenshotOptions, capture_screenshot
from dovetail_browser.sessions import BrowserSession
from dovetail_browser.tab import Tab
from dovetail_browser.tab_tools import list_tabs, show_line

__all__ = ["add_browser_resources"]

_JSON = "application/json"
_MOST_LINES = 100


def add_browser_resources(server: Server, browsing: Browsing) -> None:
    """Register the resources; a client whose session has a handle passes it as ?session=."""
    _add_tabs(server, browsing)
    _add_screenshot(server, browsing)
    _add_logs(server, browsing)

    def ids(typed: str, ctx: Context) -> list[str]:
        found = browsing.sessions.peek(ctx, None)
        return [] if found is None else [tab.id for tab in found.tabs if tab.id.startswith(typed)]

    for kind in ("screenshot", "console", "network"):
        server.complete(f"browser://tab/{{id}}/{kind}{{?session}}", "id")(ids)


def _own(browsing: Browsing, ctx: Context, session: str, uri: str) -> BrowserSession | None:
    try:
        return browsing.sessions.peek(ctx, session or None)
    except ToolError as error:
        raise ResourceNotFoundError(uri, str(error).partition("\n")[0]) from None


def _find(browsing: Browsing, ctx: Context, id: str, session: str, uri: str) -> Tab:
    found = _own(browsing, ctx, session, uri)
    if found is None:
        raise ResourceNotFoundError(uri, f"There is no tab {id[:20]!r}: no tab is open.")
    try:
        return found.tabs.find(id, None)
    except ToolError as error:
        raise ResourceNotFoundError(uri, str(error).partition("\n")[0]) from None


def _add_tabs(server: Server, browsing: Browsing) -> None:
    async def show(ctx: Context, session: str, uri: str) -> Any:
        found = _own(browsing, ctx, session, uri)
        shown = [] if found is None else await list_tabs(found)
        return browsing.secrets.hide_in({"tabs": msgspec.to_builtins(shown)})

    @server.resource("browser://tabs", name="tabs", title="Open tabs", mime_type=_JSON)
    async def tabs(ctx: Context) -> Any:
        """The open tabs of this session."""
        return await show(ctx, "", "browser://tabs")

    @server.resource(
        "browser://session/{session}/tabs",
        name="tabs of a session",
        title="Open tabs of a session",
        mime_type=_JSON,
    )
    async def session_tabs(session: str, ctx: Context) -> Any:
        """The open tabs of a session that has a handle."""
        return await show(ctx, session, f"browser://session/{session}/tabs")


def _add_screenshot(server: Server, browsing: Browsing) -> None:
    @server.resource(
        "browser://tab/{id}/screenshot{?session}",
        name="screenshot",
        title="Screenshot of a tab",
        mime_type="image/jpeg",
    )
    async def screenshot(id: str, ctx: Context, session: str = "") -> Image:
        """Screenshot of a tab."""
        uri = f"browser://tab/{id}/screenshot"
        tab = _find(browsing, ctx, id, session, uri)
        try:
            async with tab.using():
                picture = await capture_screenshot(tab, ScreenshotOptions())
        except driver_errors() as error:
            raise ResourceNotFoundError(uri, explain(error)) from None
        return Image(picture.data, "image/jpeg")


def _add_logs(server: Server, browsing: Browsing) -> None:
    def show(tab: Tab, kind: LogKind) -> Any:
        lines = list(tab.log.lines(kind))[-_MOST_LINES:]
        shown = [msgspec.to_builtins(show_line(line)) for line in lines]
        return browsing.secrets.hide_in({"tab": tab.id, "entries": shown})

    @server.resource(
        "browser://tab/{id}/console{?session}", name="console", title="Console", mime_type=_JSON
    )
    async def console(id: str, ctx: Context, session: str = "") -> Any:
        """The latest console messages of a tab."""
        uri = f"browser://tab/{id}/console"
        return show(_find(browsing, ctx, id, session, uri), "console")

    @server.resource(
        "browser://tab/{id}/network{?session}", name="network", title="Requests", mime_type=_JSON
    )
    async def network(id: str, ctx: Context, session: str = "") -> Any:
        """The latest requests of a tab."""
        uri = f"browser://tab/{id}/network"
        return show(_find(browsing, ctx, id, session, uri), "network")

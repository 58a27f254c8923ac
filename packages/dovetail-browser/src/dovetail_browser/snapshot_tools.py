"""The tools page_snapshot and take_screenshot."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from dovetail import Context, EmbeddedResource, Image, ToolResult
from dovetail_browser.browsing import Browsing, Where
from dovetail_browser.inputs import (
    MAX_CHARS,
    MaxChars,
    Offset,
    Part,
    Ref,
    SaveTo,
    Selector,
    SessionHandle,
    TabId,
    TabUrl,
)
from dovetail_browser.page_errors import tool_error, with_timeout
from dovetail_browser.result_types import SnapshotTaken
from dovetail_browser.screenshots import (
    PictureFormat,
    ScreenshotOptions,
    capture_screenshot,
    print_page,
)
from dovetail_browser.snapshots import SnapshotOptions, read_snapshot
from dovetail_browser.targets import Target, find_target
from dovetail_browser.tool_registrar import READS, SAVES, ToolRegistrar
from dovetail_browser.tool_results import PageText, make_blocks, make_page_result

__all__ = ["add_snapshot_tools"]

_MOST_EMBEDDED = 2_000_000


def add_snapshot_tools(tools: ToolRegistrar, browsing: Browsing) -> None:
    """Register the tools."""
    _add_snapshot(tools, browsing)
    _add_screenshot(tools, browsing)


def _add_snapshot(tools: ToolRegistrar, browsing: Browsing) -> None:
    @tools.add(
        "page_snapshot",
        "Return the accessibility tree of a page as text, with element refs that the other "
        "tools accept; includes iframes and open shadow roots. find and interactiveOnly make it "
        "shorter, diff returns the changes since the last snapshot of the tab.",
        READS,
        SnapshotTaken,
    )
    async def page_snapshot(  # noqa: PLR0913 - the tool's own parameters, all optional
        ctx: Context,
        selector: Part = None,
        depth: Annotated[
            Annotated[int, Meta(ge=1, le=100)] | None, "Maximum depth of the tree."
        ] = None,
        interactiveOnly: Annotated[bool, "Only elements to click or type into."] = False,
        find: Annotated[str, "Only lines with this text, and their ancestors."] = "",
        diff: Annotated[bool, "Only changes since the last snapshot."] = False,
        boxes: Annotated[bool, "Include positions and sizes."] = False,
        maxChars: MaxChars = MAX_CHARS,
        offset: Offset = 0,
        url: TabUrl = None,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        options = SnapshotOptions(
            interactive_only=interactiveOnly,
            depth=depth,
            find=find,
            selector=selector,
            boxes=boxes,
            diff=diff,
        )
        async with browsing.at(ctx, Where(session, tab, url)) as (browser_session, browser_tab):
            asked = read_snapshot(
                browser_tab.page,
                options,
                previous=browser_tab.snapshot,
                secrets=browsing.secrets.encodings,
            )
            taken = await with_timeout(asked, "taking a snapshot")
            browser_tab.snapshot = taken.whole
            tab_state = await browsing.describe(browser_session, browser_tab)
        result = SnapshotTaken(
            lines=taken.lines,
            refs=taken.refs,
            interactive=taken.interactive,
            matches=taken.matches,
            added=taken.added,
            removed=taken.removed,
            next_steps=["interact or fill_form with a `ref` of this snapshot"],
            **tab_state,
        )
        page = PageText(taken.text, "snapshot", taken.note)
        return make_page_result(result, page, browsing.secrets, offset=offset, max_chars=maxChars)


def _add_screenshot(tools: ToolRegistrar, browsing: Browsing) -> None:
    # No output schema: clients that get structured content drop the image.
    @tools.add(
        "take_screenshot",
        "Return an image of the visible part of a tab, the full page or one element, or the page "
        "as PDF.",
        SAVES if browsing.files.folder else READS,
        None,
    )
    async def take_screenshot(  # noqa: PLR0913 - the tool's own parameters, all optional
        ctx: Context,
        ref: Ref = None,
        selector: Selector = None,
        fullPage: bool = False,
        maxWidth: Annotated[int, Meta(ge=50, le=4096)] = 1024,
        format: PictureFormat = "jpeg",
        quality: Annotated[int, Meta(ge=1, le=100)] = 70,
        saveTo: SaveTo = None,
        url: TabUrl = None,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        target = Target(ref=ref, selector=selector, ways=("ref", "selector"))
        if format == "pdf" and (target.is_given or fullPage):
            raise tool_error(
                "A PDF is always of the whole page.", "omit `ref`, `selector` and `fullPage`"
            )
        info: dict[str, Any] = {"format": format}
        async with browsing.at(ctx, Where(session, tab, url)) as (browser_session, browser_tab):
            if format == "pdf":
                data = await print_page(browser_tab)
            else:
                found = await find_target(browser_tab, target) if target.is_given else None
                shot = ScreenshotOptions(fullPage, maxWidth, format, quality)
                picture = await capture_screenshot(
                    browser_tab, shot, found.locator if found else None
                )
                data = picture.data
                info |= {"width": picture.width, "height": picture.height}
                if picture.note:
                    info["note"] = picture.note
            tab_state = await browsing.describe(browser_session, browser_tab)
        info |= {
            "tabId": browser_tab.id,
            "currentUrl": tab_state["current_url"][:500],
            "bytes": len(data),
        }
        if tab_state["session"] is not None:
            info["session"] = tab_state["session"]
        info["nextSteps"] = ["get_current_html with `format=snapshot` returns refs of elements"]
        return _show(browsing, data, format, saveTo, info)


def _show(
    browsing: Browsing, data: bytes, format: str, save_to: str | None, info: dict[str, Any]
) -> ToolResult:
    kind = "application/pdf" if format == "pdf" else f"image/{format}"
    if save_to is not None:
        info["savedTo"] = browsing.files.save(save_to, data)
    blocks = make_blocks(browsing.secrets.hide_in(info))
    if save_to is not None:
        return ToolResult(blocks)
    if format != "pdf":
        return ToolResult([*blocks, Image(data, kind)])
    if len(data) > _MOST_EMBEDDED:
        raise tool_error(
            f"The PDF is too large to return: {len(data):,} bytes.",
            "give `saveTo` to write it to a file",
        )
    uri = f"browser://tab/{info['tabId']}/page.pdf"
    return ToolResult([*blocks, EmbeddedResource(uri, data, kind)])

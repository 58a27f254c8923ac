"""The tools that look at a page: page_snapshot, take_screenshot."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from dovetail import Context, EmbeddedResource, Image, Server, ToolResult
from dovetail_browser.answers import READS, SAVES, PageText, page_answer, tool
from dovetail_browser.browsing import Browsing, Where
from dovetail_browser.inputs import (
    MAX_CHARS,
    MaxChars,
    Offset,
    Place,
    Ref,
    SaveTo,
    Selector,
    SessionHandle,
    TabId,
)
from dovetail_browser.page_errors import ask, refuse
from dovetail_browser.pictures import PictureFormat, Shot, print_page, take_picture
from dovetail_browser.results import SnapshotTaken
from dovetail_browser.snapshots import SnapshotOptions, read_snapshot
from dovetail_browser.targets import Target, find_target

__all__ = ["add_looking_tools"]

_MOST_EMBEDDED = 2_000_000


def add_looking_tools(server: Server, browsing: Browsing) -> None:
    """Register them."""
    _add_snapshot(server, browsing)
    _add_screenshot(server, browsing)


def _add_snapshot(server: Server, browsing: Browsing) -> None:
    @tool(
        server,
        browsing.secrets,
        "page_snapshot",
        "The accessibility tree of a page as text, with a ref for each element that the other "
        "tools take; iframes and open shadow roots included. find and interactiveOnly make it "
        "short, diff shows what changed since the last snapshot of the tab.",
        READS,
        SnapshotTaken,
    )
    async def page_snapshot(  # noqa: PLR0913 - the tool's own parameters, all optional
        ctx: Context,
        selector: Annotated[Selector, "Only below this element."] = None,
        depth: Annotated[Annotated[int, Meta(ge=1, le=100)] | None, "Levels of the tree."] = None,
        interactiveOnly: Annotated[bool, "Only what can be clicked or typed into."] = False,
        find: Annotated[
            Annotated[str, Meta(max_length=200)], "Only lines with this text, and those above."
        ] = "",
        diff: Annotated[bool, "Only what changed since the last snapshot."] = False,
        boxes: Annotated[bool, "With positions and sizes."] = False,
        maxChars: MaxChars = MAX_CHARS,
        offset: Offset = 0,
        url: Place = None,
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
        async with browsing.at(ctx, Where(session, tab, url)) as (own, place):
            asked = read_snapshot(
                place.page,
                options,
                previous=place.snapshot,
                secrets=browsing.secrets.spellings,
            )
            taken = await ask(asked, "taking a snapshot")
            place.snapshot = taken.whole
            told = await browsing.describe(own, place)
        result = SnapshotTaken(
            lines=taken.lines,
            refs=taken.refs,
            interactive=taken.interactive,
            matches=taken.matches,
            added=taken.added,
            removed=taken.removed,
            next_steps=["click_element, type_text or fill_form with a ref of this snapshot"],
            **told,
        )
        page = PageText(taken.text, "snapshot")
        return page_answer(result, page, browsing.secrets, offset=offset, max_chars=maxChars)


def _add_screenshot(server: Server, browsing: Browsing) -> None:
    # No output schema: clients that are given structured content drop the picture.
    @tool(
        server,
        browsing.secrets,
        "take_screenshot",
        "A picture of what a tab shows, of the whole page, or of one element; or the page as a "
        "PDF. Pictures are scaled to maxWidth. saveTo writes it to a file instead.",
        SAVES if browsing.files.folder else READS,
        None,
    )
    async def take_screenshot(  # noqa: PLR0913 - the tool's own parameters, all optional
        ctx: Context,
        ref: Ref = None,
        selector: Selector = None,
        fullPage: Annotated[bool, "All of the page, not only what is in view."] = False,
        maxWidth: Annotated[int, Meta(ge=50, le=4096, description="Pixels.")] = 1024,
        format: PictureFormat = "jpeg",
        quality: Annotated[int, Meta(ge=1, le=100, description="Of jpeg and webp.")] = 70,
        saveTo: SaveTo = None,
        url: Place = None,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        target = Target(ref=ref, selector=selector)
        if format == "pdf" and (target.is_given or fullPage):
            raise refuse("A PDF is of the whole page.", "leave out ref, selector and fullPage")
        facts: dict[str, Any] = {"format": format}
        async with browsing.at(ctx, Where(session, tab, url)) as (own, place):
            if format == "pdf":
                data = await print_page(place)
            else:
                found = await find_target(place, target) if target.is_given else None
                shot = Shot(fullPage, maxWidth, format, quality)
                picture = await take_picture(place, shot, found.locator if found else None)
                data = picture.data
                facts |= {"width": picture.width, "height": picture.height}
                if picture.note:
                    facts["note"] = picture.note
            told = await browsing.describe(own, place)
        facts |= {"tabId": place.id, "currentUrl": told["current_url"][:500], "bytes": len(data)}
        if told["session"] is not None:
            facts["session"] = told["session"]
        facts["nextSteps"] = ["page_snapshot gives refs for what you see"]
        return _show(browsing, data, format, saveTo, facts)


def _show(
    browsing: Browsing, data: bytes, format: str, save_to: str | None, facts: dict[str, Any]
) -> ToolResult:
    kind = "application/pdf" if format == "pdf" else f"image/{format}"
    if save_to is not None:
        facts["savedTo"] = browsing.files.save(save_to, data)
    text = msgspec.json.encode(browsing.secrets.hide_in(facts)).decode()
    if save_to is not None:
        return ToolResult(text)
    if format != "pdf":
        return ToolResult([text, Image(data, kind)])
    if len(data) > _MOST_EMBEDDED:
        raise refuse(f"The PDF has {len(data):,} bytes.", "give saveTo to write it to a file")
    uri = f"browser://tab/{facts['tabId']}/page.pdf"
    return ToolResult([text, EmbeddedResource(uri, data, kind)])

"""Pictures of a page or an element, scaled down by the browser itself, and bounded in bytes."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dovetail_browser.page_errors import ask, refuse
from dovetail_browser.tab import Tab

if TYPE_CHECKING:
    from playwright.async_api import Locator

__all__ = ["Picture", "PictureFormat", "Shot", "print_page", "take_picture"]

PictureFormat = Literal["jpeg", "png", "webp", "pdf"]

# In CSS pixels; a page can be endless.
_HIGHEST_PAGE = 12_000
# What a client takes without complaint, before base64.
_MOST_BYTES = 700_000
_LEAST_SCALE = 0.05
_MOST_PDF_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Shot:
    """What to take a picture of, and how."""

    full_page: bool = False
    max_width: int = 1024
    format: Literal["jpeg", "png", "webp"] = "jpeg"
    quality: int = 70


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, and how large it is."""

    data: bytes
    width: int
    height: int
    # Set where the page is higher than what is shown.
    note: str = ""


async def take_picture(tab: Tab, shot: Shot, element: Locator | None = None) -> Picture:
    """A picture of a page, of all of it, or of an element."""
    return await ask(_take(tab, shot, element), "taking a picture")


async def _take(tab: Tab, shot: Shot, element: Locator | None) -> Picture:
    session = await tab.page.context.new_cdp_session(tab.page)
    try:
        metrics = await session.send("Page.getLayoutMetrics")
        box, note = await _frame(metrics, shot, element)
        scale = min(1.0, shot.max_width / box["width"])
        quality = {} if shot.format == "png" else {"quality": shot.quality}
        while True:
            answer = await session.send(
                "Page.captureScreenshot",
                {
                    "format": shot.format,
                    **quality,
                    "clip": {**box, "scale": scale},
                    "captureBeyondViewport": shot.full_page or element is not None,
                },
            )
            data = base64.b64decode(answer["data"])
            if len(data) <= _MOST_BYTES or scale < _LEAST_SCALE:
                break
            scale *= 0.7
    finally:
        await session.detach()
    width, height = round(box["width"] * scale), round(box["height"] * scale)
    return Picture(data, width, height, note)


async def _frame(
    metrics: dict[str, Any], shot: Shot, element: Locator | None
) -> tuple[dict[str, float], str]:
    """The part of the document that is wanted, in CSS pixels."""
    view = metrics["cssVisualViewport"]
    if element is not None:
        await element.scroll_into_view_if_needed(timeout=3_000)
        box = await element.bounding_box(timeout=3_000)
        if box is None or box["width"] < 1 or box["height"] < 1:
            raise refuse(
                "The element has no size, so there is nothing to see of it.",
                "name another element, or leave it out for the whole view",
            )
        offset: list[float] = await element.page.evaluate("[scrollX, scrollY]")
        height = min(box["height"], _HIGHEST_PAGE)
        return {
            "x": box["x"] + offset[0],
            "y": box["y"] + offset[1],
            "width": box["width"],
            "height": height,
        }, ""
    if not shot.full_page:
        return {
            "x": view["pageX"],
            "y": view["pageY"],
            "width": view["clientWidth"],
            "height": view["clientHeight"],
        }, ""
    content = metrics["cssContentSize"]
    height = min(content["height"], _HIGHEST_PAGE)
    note = (
        f"The page is {content['height']:.0f} pixels high; the first {_HIGHEST_PAGE} are shown."
        if height < content["height"]
        else ""
    )
    return {"x": 0, "y": 0, "width": content["width"], "height": height}, note


async def print_page(tab: Tab) -> bytes:
    """The page as a PDF."""
    data = await ask(tab.page.pdf(print_background=True), "printing it", 60)
    if len(data) > _MOST_PDF_BYTES:
        raise refuse(
            f"The PDF has {len(data):,} bytes; at most {_MOST_PDF_BYTES:,} are allowed.",
            "take_screenshot with format=jpeg and fullPage=true is smaller",
        )
    return data

"""Screenshots of a page or an element, scaled down by the browser and limited in size."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dovetail_browser.page_errors import tool_error, with_timeout
from dovetail_browser.tab import Tab

if TYPE_CHECKING:
    from playwright.async_api import Locator

__all__ = ["PictureFormat", "Screenshot", "ScreenshotOptions", "capture_screenshot", "print_page"]

PictureFormat = Literal["jpeg", "png", "webp", "pdf"]

# In CSS pixels; the height of a page has no limit.
_HIGHEST_PAGE = 12_000
# A size that clients accept, before base64.
_MOST_BYTES = 700_000
_LEAST_SCALE = 0.05
_MOST_PDF_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class ScreenshotOptions:
    """Options of a screenshot."""

    full_page: bool = False
    max_width: int = 1024
    format: Literal["jpeg", "png", "webp"] = "jpeg"
    quality: int = 70


@dataclass(frozen=True, slots=True)
class Screenshot:
    """An image and its size."""

    data: bytes
    width: int
    height: int
    # Set if the page is higher than the image.
    note: str = ""


async def capture_screenshot(
    tab: Tab, shot: ScreenshotOptions, element: Locator | None = None
) -> Screenshot:
    """Capture the visible part of a page, the whole page or an element."""
    return await with_timeout(_take(tab, shot, element), "taking a screenshot")


async def _take(tab: Tab, shot: ScreenshotOptions, element: Locator | None) -> Screenshot:
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
    return Screenshot(data, width, height, note)


async def _frame(
    metrics: dict[str, Any], shot: ScreenshotOptions, element: Locator | None
) -> tuple[dict[str, float], str]:
    """Return the part of the document to capture, in CSS pixels."""
    view = metrics["cssVisualViewport"]
    if element is not None:
        await element.scroll_into_view_if_needed(timeout=3_000)
        box = await element.bounding_box(timeout=3_000)
        if box is None or box["width"] < 1 or box["height"] < 1:
            raise tool_error(
                "The element has no size, so it cannot be captured.",
                "omit `selector` or `ref` to capture the visible part of the page",
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
    """Return the page as a PDF."""
    data = await with_timeout(tab.page.pdf(print_background=True), "printing it", 60)
    if len(data) > _MOST_PDF_BYTES:
        raise tool_error(
            f"The PDF has {len(data):,} bytes; at most {_MOST_PDF_BYTES:,} are allowed.",
            "take_screenshot with `format=jpeg` and `fullPage` is smaller",
        )
    return data

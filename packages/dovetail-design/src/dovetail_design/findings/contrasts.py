"""Finds text and codes with low contrast.

The background is measured: the design is rendered without its texts at a small size, and the
pixels under the letters are compared with the colour of the letters. Gradients, pictures,
transparency and filters therefore count as they appear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dovetail_design.findings.finding import Finding
from dovetail_design.findings.measuring import font_size_of, weight_of
from dovetail_design.findings.painting import paint_alpha
from dovetail_design.findings.pixels import PixelSampler
from dovetail_design.findings.scene import Item, Scene
from dovetail_design.findings.wcag import contrast, needed_contrast, over, readable_on
from dovetail_design.model import (
    Barcode,
    Qr,
    Rgba,
    Table,
    Text,
    parse_colour,
    parse_paint,
)

__all__ = ["LowContrast", "find_low_contrast", "measure_low_contrast"]

# This share of the background may be too similar (a thin line behind, the edge of a shape).
_BAD_SHARE = 0.12
# Scanners need a strong contrast, dark on light.
_CODE_CONTRAST = 3.0
# The defaults of the renderer.
_TEXT_DEFAULT, _CELL_DEFAULT = "#000000", "#1f2937"
_HEADER_DEFAULT, _HEADER_FILL = "#111827", "#f3f4f6"


class LowContrast(NamedTuple):
    """An element with too little contrast."""

    item: Item
    ratio: float
    ink: Rgba
    ground: Rgba
    needed: float
    # For tables: the cells, header or alternate rows.
    part: str = ""


def find_low_contrast(scene: Scene, pixels: PixelSampler) -> Iterator[Finding]:
    """Yield texts, tables and codes below the contrast that WCAG requires for their size."""
    return map(_finding, measure_low_contrast(scene, pixels))


def measure_low_contrast(scene: Scene, pixels: PixelSampler) -> Iterator[LowContrast]:
    """Yield the same with the colours, for fixes."""
    for item in scene.items:
        match item.element:
            case Text():
                yield from _text(item, item.element, pixels)
            case Table():
                yield from _table(item, item.element, pixels)
            case Qr():
                yield from _code(item, item.element.qrColor, item.element.qrBgColor, pixels)
            case Barcode():
                element = item.element
                yield from _code(item, element.barcodeLineColor, element.barcodeBackground, pixels)


def _text(item: Item, element: Text, pixels: PixelSampler) -> Iterator[LowContrast]:
    if not element.text.strip() or item.opacity <= 0:
        return
    inks = [_colours(element.fill or element.color or _TEXT_DEFAULT)]
    if element.textStrokeWidth >= 1 and paint_alpha(element.textStrokeColor) > 0:
        # An outline can make letters readable whose fill is too similar to the background.
        inks.append([parse_colour(element.textStrokeColor or _TEXT_DEFAULT)])
    grounds = pixels.behind(item)
    needed = needed_contrast(font_size_of(element), weight_of(element))
    worst = max((_worst(ink, grounds, item.opacity) for ink in inks), key=lambda found: found[0])
    if worst[0] < needed:
        yield LowContrast(item, *worst, needed)


def _worst(
    inks: Iterable[Rgba], grounds: Counter[Rgba], opacity: float
) -> tuple[float, Rgba, Rgba]:
    """Return the contrast that most of the background reaches, with the two colours."""
    found = (21.0, Rgba(0, 0, 0), Rgba(255, 255, 255))
    for ink in inks:
        spare = _BAD_SHARE * grounds.total()
        rows = sorted(
            (contrast(over(ink, ground, opacity), ground), ground, count)
            for ground, count in grounds.items()
        )
        for ratio, ground, count in rows:
            spare -= count
            if spare < 0:
                found = min(found, (ratio, ink, ground))
                break
    return found


def _table(item: Item, table: Table, pixels: PixelSampler) -> Iterator[LowContrast]:
    size = table.tableCellFontSize or table.fontSize or 14
    behind = pixels.behind(item)
    cell_ink = [parse_colour(table.tableCellTextColor or _CELL_DEFAULT)]
    parts: list[tuple[str, list[Rgba], str | None]] = [
        ("cells", cell_ink, table.fill),
        ("alternate rows", cell_ink, table.tableAlternateRowColor),
    ]
    if table.tableHasHeader or table.tableHasVerticalHeader:
        ink = [parse_colour(table.tableHeaderTextColor or _HEADER_DEFAULT)]
        parts.append(("header", ink, table.tableHeaderBackground or _HEADER_FILL))
    for part, ink, ground in parts:
        if part == "alternate rows" and ground is None:
            continue
        grounds = _laid_over(ground, behind)
        needed = needed_contrast(size, 700 if part == "header" else 400)
        worst = _worst(ink, grounds, item.opacity)
        if worst[0] < needed:
            yield LowContrast(item, *worst, needed, part)


def _code(item: Item, ink: str, ground: str, pixels: PixelSampler) -> Iterator[LowContrast]:
    grounds = _laid_over(ground, pixels.behind(item))
    worst = _worst([parse_colour(ink)], grounds, item.opacity)
    if worst[0] < _CODE_CONTRAST:
        yield LowContrast(item, *worst, _CODE_CONTRAST)


def _laid_over(paint: str | None, behind: Counter[Rgba]) -> Counter[Rgba]:
    if paint is None:
        return behind
    laid: Counter[Rgba] = Counter()
    for colour in _colours(paint):
        for ground, count in behind.items():
            laid[over(colour, ground)] += count
    return laid


def _colours(paint: str) -> list[Rgba]:
    """Return the colour, or all colours of a gradient."""
    parsed = parse_paint(paint)
    return [parsed] if isinstance(parsed, Rgba) else [stop.colour for stop in parsed.stops]


def _finding(low: LowContrast) -> Finding:
    item = low.item
    subject = f"The {low.part} of the {item.label}" if low.part else f"The {item.label}"
    if isinstance(item.element, Qr | Barcode):
        what, remedy = "contrast of bars and background", "dark bars on a light background"
    else:
        what = "contrast with the background"
        remedy = f"{readable_on(low.ground)} or another colour with more contrast"
    return Finding(
        "low-contrast",
        f"{subject}: {what} is {low.ratio:.1f}:1 ({low.ink.hex} on {low.ground.hex}), but "
        f"{low.needed:g}:1 is required",
        (item.id,),
        f"Use {remedy}, or put a panel behind it.",
    )

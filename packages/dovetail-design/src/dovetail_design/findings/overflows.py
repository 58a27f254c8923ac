"""Finds texts that do not fit into their boxes, cells or containers."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_design.findings.finding import Finding
from dovetail_design.findings.measuring import (
    DrawingContext,
    Overflow,
    cut_cells,
    font_size_of,
    overflow_of,
)
from dovetail_design.findings.scene import Item, Scene
from dovetail_design.model import Table, Text

__all__ = ["find_overflows"]


def find_overflows(scene: Scene) -> Iterator[Finding]:
    """Yield every text that overflows its box."""
    for item in scene.items:
        if isinstance(item.element, Table):
            yield from _table(item, item.element, scene.context)
        if not isinstance(item.element, Text):
            continue
        overflow = overflow_of(item.element, scene.context)
        if overflow is not None:
            yield _finding(item, item.element, overflow)
        elif _is_cut(item):
            yield Finding(
                "text-overflow",
                f"The {item.label} is cut off by its container",
                tuple(filter(None, (item.id, item.container.id if item.container else ""))),
                "Move it into the container, or set the container's overflow to visible.",
            )


def _finding(item: Item, element: Text, overflow: Overflow) -> Finding:
    size = font_size_of(element)
    if overflow.breaks_word:
        reason = (
            f"a word is {overflow.needed_width:.0f} px wide and the box {overflow.box_width:.0f}"
        )
        share = overflow.box_width / max(overflow.needed_width, 1)
    else:
        reason = (
            f"it needs {overflow.needed_width:.0f} x {overflow.needed_height:.0f} px and the box "
            f"has {overflow.box_width:.0f} x {overflow.box_height:.0f}"
        )
        # A smaller font also needs fewer lines, so the height shrinks with the square.
        share = (overflow.box_height / max(overflow.needed_height, 1)) ** 0.5
    smaller = max(1, int(size * min(share, 0.98)))
    grow = max(overflow.needed_height, overflow.box_height)
    wider = f" and width to {overflow.needed_width:.0f}" if overflow.breaks_word else ""
    return Finding(
        "text-overflow",
        f"The {item.label} does not fit: {reason}",
        (item.id,),
        f"Set height to {grow:.0f}{wider}, or fontSize to about {smaller}, or shorten it.",
    )


def _table(item: Item, table: Table, context: DrawingContext) -> Iterator[Finding]:
    cut = cut_cells(table, context)
    if cut:
        first = " ".join(cut[0].split())
        shown = f"{first[:30]}..." if len(first) > 30 else first
        count = f"{len(cut)} cells" if len(cut) > 1 else "a cell"
        yield Finding(
            "text-overflow",
            f"The {item.label} cuts the text of {count}, first {shown!r}",
            (item.id,),
            "Make the table larger, tableCellFontSize or tableCellPadding smaller, or set "
            "tableColumnWidths and tableRowHeights.",
        )


def _is_cut(item: Item) -> bool:
    frame = item.container
    if frame is None or frame.overflow != "hidden" or frame.rotation:
        return False
    right, bottom = frame.x + frame.width, frame.y + frame.height
    ink = item.ink
    return (
        ink.left < frame.x - 1
        or ink.top < frame.y - 1
        or ink.right > right + 1
        or ink.bottom > bottom + 1
    )

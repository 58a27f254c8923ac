"""Measures text with the renderer, so that findings match what is drawn."""

from __future__ import annotations

from dovetail_design.findings.boxes import Box
from dovetail_design.model import Table, Text
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.marks import GroupMark, TextMark
from dovetail_design.rendering.painting_values import inner_box
from dovetail_design.rendering.table_marks import table_marks
from dovetail_design.rendering.text_blocks import is_right_to_left, weight_number
from dovetail_design.rendering.text_marks import (
    DEFAULT_SIZE,
    Overflow,
    text_extent,
    text_overflow,
)

__all__ = [
    "DrawingContext",
    "Overflow",
    "cut_cells",
    "font_size_of",
    "letters_of",
    "overflow_of",
    "weight_of",
]

_ACROSS = {"left": 0.0, "justify": 0.0, "center": 0.5, "right": 1.0}
_DOWN = {"top": 0.0, "middle": 0.5, "bottom": 1.0}


def font_size_of(element: Text) -> float:
    """Return the effective font size."""
    return element.fontSize or DEFAULT_SIZE


def weight_of(element: Text) -> int:
    """Return the weight as a number."""
    return weight_number(element.fontWeight)


def overflow_of(element: Text, context: DrawingContext | None = None) -> Overflow | None:
    """Return how a text overflows its box, or None if it fits."""
    return text_overflow(element, context)


def letters_of(element: Text, context: DrawingContext | None = None) -> Box:
    """Return the box around the lines of a text, before rotation."""
    inner = inner_box(element)
    if not element.text.strip():
        return Box(inner.x, inner.y, inner.x, inner.y)
    width, height = text_extent(element, context or DrawingContext())
    is_rtl = is_right_to_left(element.text, element.direction)
    align = element.textAlign or ("right" if is_rtl else "left")
    left = inner.x + (inner.width - width) * _ACROSS[align]
    top = inner.y + (inner.height - height) * _DOWN[element.verticalAlign]
    return Box(left, top, left + width, top + height)


def cut_cells(table: Table, context: DrawingContext) -> list[str]:
    """Return the texts of cells that are cut off or broken inside a word."""
    found = []
    for mark in table_marks(table, context):
        if isinstance(mark, GroupMark):
            found += [inner.block.text for inner in mark.marks if isinstance(inner, TextMark)]
        elif isinstance(mark, TextMark):
            longest = context.typesetter.measure(mark.block).longest_word
            if longest > mark.block.width + 1:
                found.append(mark.block.text)
    return found

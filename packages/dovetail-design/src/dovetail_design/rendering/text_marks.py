"""Text as marks, and text measurement."""

from __future__ import annotations

from typing import NamedTuple

from dovetail_design.model.colours import BLACK, Rgba, parse_colour
from dovetail_design.model.elements import Barcode, Table, Text
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.marks import Mark, TextMark
from dovetail_design.rendering.painting_values import (
    box_of,
    colour_or_none,
    inner_box,
    visible_paint,
)
from dovetail_design.rendering.text_blocks import (
    TextBlock,
    apply_transform,
    clean_text,
    is_right_to_left,
    weight_number,
)

__all__ = [
    "DEFAULT_SIZE",
    "Overflow",
    "missing_letters",
    "text_block",
    "text_extent",
    "text_marks",
    "text_overflow",
]

DEFAULT_SIZE = 16.0
_DEFAULT_SHADOW = Rgba(0, 0, 0, 0.5)
_LIFT = {"top": 0.0, "middle": 0.5, "bottom": 1.0}
# Tolerance for line heights that are rounded to whole pixels.
_TOLERANCE = 1.0


class Overflow(NamedTuple):
    """Text that does not fit its box: needed and available size in pixels."""

    needed_width: float
    needed_height: float
    box_width: float
    box_height: float
    # A word is longer than the box and had to be broken.
    breaks_word: bool


def text_block(element: Text, context: DrawingContext) -> TextBlock:
    """Return the text block of a text element."""
    text = apply_transform(element.text, element.textTransform)
    is_rtl = is_right_to_left(text, element.direction)
    weight, is_italic = weight_number(element.fontWeight), element.fontStyle != "normal"
    return TextBlock(
        text,
        context.typesetter.families(element.fontFamily, text, weight, is_italic),
        element.fontSize or DEFAULT_SIZE,
        weight,
        is_italic,
        inner_box(element).width,
        element.textAlign or ("right" if is_rtl else "left"),
        element.lineHeight,
        element.letterSpacing,
        element.textDecoration,
        is_rtl,
    )


def text_marks(element: Text, context: DrawingContext) -> tuple[Mark, ...]:
    """Return the shadow and the text."""
    if not element.text:
        return ()
    block, box = text_block(element, context), inner_box(element)
    y = box.y
    lift = _LIFT[element.verticalAlign]
    if lift:
        height = context.typesetter.measure(block).height
        # Baselines on whole pixels give sharper text.
        y = round(box.y + (box.height - height) * lift)
    fill = visible_paint(element.fill or element.color or "#000000", box_of(element))
    stroke_colour = parse_colour(element.textStrokeColor) if element.textStrokeColor else BLACK
    text = TextMark(block, box.x, y, fill, element.textStrokeWidth, stroke_colour)
    shadow = _shadow(element, text)
    return (text,) if shadow is None else (shadow, text)


def _shadow(element: Text, text: TextMark) -> TextMark | None:
    asked = element.textShadowX or element.textShadowY or element.textShadowBlur
    if not asked and element.textShadowColor is None:
        return None
    colour = (
        _DEFAULT_SHADOW
        if element.textShadowColor is None
        else colour_or_none(element.textShadowColor)
    )
    if colour is None:
        return None
    return TextMark(
        text.block,
        text.x + element.textShadowX,
        text.y + element.textShadowY,
        colour,
        text.stroke_width,
        colour,
        blur=element.textShadowBlur / 2,
    )


def text_extent(element: Text, context: DrawingContext) -> tuple[float, float]:
    """Return the width and height of the text in its box."""
    measure = context.typesetter.measure(text_block(element, context))
    return measure.width, measure.height


def missing_letters(
    element: Text | Table | Barcode, text: str, context: DrawingContext | None = None
) -> str:
    """Return the characters of a text that no font has; they are drawn as empty boxes."""
    context = context or DrawingContext()
    weight, is_italic = weight_number(element.fontWeight), element.fontStyle != "normal"
    text = clean_text(text)
    families = context.typesetter.families(element.fontFamily, text, weight, is_italic)
    return context.typesetter.missing_letters(
        TextBlock(text, families, DEFAULT_SIZE, weight, is_italic, 0)
    )


def text_overflow(element: Text, context: DrawingContext | None = None) -> Overflow | None:
    """Return how a text overflows its box, or None if it fits."""
    if not element.text.strip():
        return None
    context = context or DrawingContext()
    box = inner_box(element)
    measure = context.typesetter.measure(text_block(element, context))
    breaks_word = measure.longest_word > box.width + _TOLERANCE
    is_higher = measure.height > box.height + _TOLERANCE
    if not is_higher and not breaks_word and measure.width <= box.width + _TOLERANCE:
        return None
    needed_width = max(measure.width, measure.longest_word)
    return Overflow(needed_width, measure.height, box.width, box.height, breaks_word)

from __future__ import annotations

from typing import Any

import pytest

from dovetail_design.model import Text
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.marks import TextMark
from dovetail_design.rendering.text_marks import (
    missing_letters,
    text_block,
    text_extent,
    text_marks,
    text_overflow,
)

CONTEXT = DrawingContext()


def text(words: str, **properties: Any) -> Text:
    box: dict[str, Any] = {
        "x": 10,
        "y": 20,
        "width": 200,
        "height": 40,
        "fontSize": 20,
        **properties,
    }
    return Text(text=words, **box)


def test_text_that_fits_is_no_overflow() -> None:
    assert text_overflow(text("short")) is None
    assert text_overflow(text("")) is None


def test_text_that_is_too_high_says_what_it_needs() -> None:
    overflow = text_overflow(text("one two three four five six seven eight nine ten"))
    assert overflow is not None
    assert overflow.needed_height > overflow.box_height == 40
    assert not overflow.breaks_word


def test_a_word_that_is_too_long_is_told() -> None:
    overflow = text_overflow(text("incomprehensibilities", width=60, height=400))
    assert overflow is not None
    assert overflow.breaks_word
    assert overflow.needed_width > 60


def test_a_box_of_the_needed_size_is_enough() -> None:
    words = "one two three four five six seven eight"
    overflow = text_overflow(text(words))
    assert overflow is not None
    assert text_overflow(text(words, height=overflow.needed_height)) is None


def test_padding_takes_room() -> None:
    element = text("x", padding=30, paddingLeft=5)
    assert text_block(element, CONTEXT).width == 200 - 5 - 30
    assert text_overflow(element) is not None


@pytest.mark.parametrize(("align", "y"), [("top", 20), ("middle", 28), ("bottom", 36)])
def test_text_stands_where_it_is_told(align: str, y: float) -> None:
    (mark,) = text_marks(text("a", verticalAlign=align), CONTEXT)
    assert isinstance(mark, TextMark)
    assert (mark.x, mark.y) == (10, y)


def test_text_from_the_right_begins_there() -> None:
    assert text_block(text("שלום"), CONTEXT).align == "right"
    assert text_block(text("שלום", textAlign="left"), CONTEXT).align == "left"
    assert text_block(text("abc"), CONTEXT).align == "left"


def test_a_shadow_lies_under_the_text() -> None:
    shadow, front = text_marks(text("a", textShadowX=2, textShadowBlur=6), CONTEXT)
    assert isinstance(shadow, TextMark) and isinstance(front, TextMark)
    assert (shadow.x - front.x, shadow.blur) == (2, 3)
    assert len(text_marks(text("a", textShadowX=2, textShadowColor="none"), CONTEXT)) == 1


def test_fill_wins_over_color() -> None:
    (mark,) = text_marks(text("a", fill="#010203", color="red"), CONTEXT)
    assert isinstance(mark, TextMark)
    assert mark.fill == (1, 2, 3, 1)


def test_the_extent_is_that_of_the_text() -> None:
    width, height = text_extent(text("a"), CONTEXT)
    assert 0 < width < 20
    assert height == 24


def test_missing_letters_are_told(no_system_fonts: None) -> None:
    assert missing_letters(text("a"), "漢 a\ufe0f\u200d") == "漢"

from __future__ import annotations

import pytest

from dovetail_design.rendering.text_blocks import (
    apply_transform,
    is_right_to_left,
    weight_number,
)


@pytest.mark.parametrize(
    ("text", "direction", "is_rtl"),
    [
        ("hello", "auto", False),
        ("שלום", "auto", True),
        ("123 مرحبا", "auto", True),
        ("a שלום", "auto", False),
        ("123", "auto", False),
        ("hello", "rtl", True),
        ("שלום", "ltr", False),
    ],
)
def test_the_direction_is_that_of_the_first_letter(text: str, direction: str, is_rtl: bool) -> None:
    assert is_right_to_left(text, direction) is is_rtl


def test_case_is_changed_and_tabs_are_spaces() -> None:
    assert apply_transform("a bC", "uppercase") == "A BC"
    assert apply_transform("A bC", "lowercase") == "a bc"
    assert apply_transform("don't stop", "capitalize") == "Don't Stop"
    assert apply_transform("a\tb\r\nc", "none") == "a    b\nc"


def test_weights_are_numbers() -> None:
    assert [weight_number(weight) for weight in (None, "bold", "300", 900)] == [400, 700, 300, 900]

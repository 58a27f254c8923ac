"""Contrast: values that the guideline and its calculators give."""

from __future__ import annotations

import pytest

from dovetail_design.findings.wcag import contrast, needed_contrast, over, readable_on
from dovetail_design.model import Rgba, parse_colour


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ("#000000", "#ffffff", 21.0),
        ("#777777", "#ffffff", 4.48),
        ("#767676", "#ffffff", 4.54),
        ("#ff0000", "#ffffff", 4.0),
        ("#0000ff", "#ffffff", 8.59),
        ("#123456", "#123456", 1.0),
    ],
)
def test_known_ratios(one: str, other: str, ratio: float) -> None:
    assert round(contrast(parse_colour(one), parse_colour(other)), 2) == ratio
    assert contrast(parse_colour(other), parse_colour(one)) == contrast(
        parse_colour(one), parse_colour(other)
    )


def test_large_and_bold_text_needs_less() -> None:
    assert needed_contrast(16, 400) == 4.5
    assert needed_contrast(24, 400) == 3
    assert needed_contrast(19, 700) == 3
    assert needed_contrast(18, 700) == 4.5


def test_transparency_mixes_with_the_ground() -> None:
    half = over(Rgba(0, 0, 0, 0.5), Rgba(255, 255, 255))
    assert half == Rgba(128, 128, 128)
    assert over(Rgba(0, 0, 0), Rgba(255, 255, 255), opacity=0.0) == Rgba(255, 255, 255)


def test_the_advice_can_be_read() -> None:
    assert readable_on(parse_colour("#14213d")) == "#ffffff"
    assert readable_on(parse_colour("#ffd166")) == "#111111"


def test_there_is_a_readable_colour_on_every_ground() -> None:
    for level in range(256):
        ground = Rgba(level, level, level)
        assert contrast(parse_colour(readable_on(ground)), ground) >= 4.5

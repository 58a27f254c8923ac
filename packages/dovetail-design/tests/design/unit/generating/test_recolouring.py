"""Other colours."""

from __future__ import annotations

import colorsys

import pytest

from dovetail_design.generating.recolouring import (
    HUES,
    Recolouring,
    read_style,
    recolour,
)
from dovetail_design.library.templates import list_templates
from dovetail_design.model import parse_colour, parse_design, to_plain

TEMPLATES = {template.id: template for template in list_templates()}

PLAIN = {
    "width": 100,
    "height": 100,
    "background": "#2f6fde",
    "elements": [
        {"type": "text", "text": "x", "x": 0, "y": 0, "width": 9, "height": 9, "fill": "#ffffff"},
        {"type": "svg", "groupId": "g", "x": 0, "y": 0, "width": 9, "height": 9, "fill": "#ff0000"},
        {"type": "circle", "x": 0, "y": 0, "width": 9, "height": 9, "fill": "#2f6fde80"},
    ],
}


def hue_of(colour: str) -> float:
    return colorsys.rgb_to_hls(*(part / 255 for part in parse_colour(colour)[:3]))[0] * 360


@pytest.mark.parametrize(
    ("style", "expected", "unknown"),
    [
        ("blue", Recolouring(HUES["blue"], None), []),
        ("Dark, green", Recolouring(HUES["green"], "dark"), []),
        ("elegant pastel", Recolouring(None, "pastel"), ["elegant"]),
        ("", Recolouring(), []),
    ],
)
def test_a_style_is_read_word_by_word(
    style: str, expected: Recolouring, unknown: list[str]
) -> None:
    assert read_style(style) == (expected, unknown)


def test_the_leading_colour_goes_to_the_hue_that_is_wanted() -> None:
    changed = recolour(PLAIN, Recolouring(HUES["green"]))
    assert abs(hue_of(changed["background"]) - HUES["green"]) < 3


def test_white_stays_white_pictures_keep_their_colours_and_alpha_is_kept() -> None:
    elements = recolour(PLAIN, Recolouring(HUES["green"]))["elements"]
    assert elements[0]["fill"] == "#ffffff"
    assert elements[1]["fill"] == "#ff0000"
    assert elements[2]["fill"].endswith("80")


def test_monochrome_has_no_colour_left() -> None:
    colour = parse_colour(recolour(PLAIN, Recolouring(None, "monochrome"))["background"])
    assert colour.red == colour.green == colour.blue


def test_dark_turns_a_light_design_over_and_leaves_a_dark_one() -> None:
    light = {**PLAIN, "background": "#fafafa"}
    assert sum(parse_colour(recolour(light, Recolouring(None, "dark"))["background"])[:3]) < 150
    dark = {**PLAIN, "background": "#101020"}
    assert recolour(dark, Recolouring(None, "dark"))["background"] == "#101020"


def test_gradients_are_changed_colour_by_colour_and_still_read() -> None:
    plain = to_plain(TEMPLATES["instagram-story-event"].design())
    changed = parse_design(recolour(plain, Recolouring(HUES["teal"], "soft")))
    assert changed.background.startswith("linear-gradient(180deg, #")
    assert changed.background != plain["background"]


def test_no_wish_changes_nothing() -> None:
    assert recolour(PLAIN, Recolouring()) == PLAIN

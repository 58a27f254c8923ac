"""What list_fonts says names only fonts that are there."""

from __future__ import annotations

import pytest

from dovetail_design.fonts import bundled_book
from dovetail_design.library.font_catalogue import (
    FONT_CATEGORIES,
    PAIRINGS,
    RECOMMENDATIONS,
    font_advice,
    list_fonts,
)

FAMILIES = {family.name for family in bundled_book().families()}


def test_every_bundled_family_is_listed_with_what_it_is_good_for() -> None:
    fonts = list_fonts()
    assert {font["family"] for font in fonts} == FAMILIES
    assert all(font["bestFor"] and font["weights"] for font in fonts)
    assert {font["source"] for font in fonts} == {"embedded"}


def test_advice_names_families_that_are_there() -> None:
    named = {name for names in RECOMMENDATIONS.values() for name in names}
    named |= {name for headline, body, _ in PAIRINGS for name in (headline, body)}
    assert named <= FAMILIES
    assert len(font_advice()["pairings"]) == len(PAIRINGS) >= 8


def test_a_category_narrows_the_list_and_an_unknown_one_is_refused() -> None:
    assert {font["category"] for font in list_fonts("serif")} == {"serif"}
    assert all(font["category"] in FONT_CATEGORIES for font in list_fonts())
    with pytest.raises(ValueError, match=r"'comic'.*sans-serif"):
        list_fonts("comic")

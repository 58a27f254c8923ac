"""Icons by words."""

from __future__ import annotations

import pytest

from dovetail_design.library.icons import load_icons, search_icons


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("house", "house"),
        ("home", "house"),
        ("Shopping cart", "shopping-cart"),
        ("email", "envelope"),
        ("coffee", "coffee"),
        ("love", "heart"),
        ("rocket icon", "rocket"),
        ("trash", "trash"),
    ],
)
def test_the_obvious_icon_comes_first(query: str, first: str) -> None:
    assert search_icons(query)[0].name == first


def test_the_beginning_of_a_word_is_enough() -> None:
    assert "camera" in [icon.name for icon in search_icons("camer")]


def test_nonsense_finds_nothing_and_nothing_finds_all() -> None:
    assert search_icons("qqqxyz") == []
    assert len(search_icons("")) == len(load_icons())


def test_the_same_query_gives_the_same_order() -> None:
    assert search_icons("arrow") == search_icons(" ARROW ")

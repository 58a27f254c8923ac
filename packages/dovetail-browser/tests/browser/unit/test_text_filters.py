"""Removal of invisible characters and secrets."""

from __future__ import annotations

import pytest

from dovetail_browser.text_filters import drop_invisible, hide_secrets


@pytest.mark.parametrize(
    "unseen",
    [
        "\ud800",
        "\x00",
        "\x1b",
        "\xad",
        "\u200b",
        "\u202e",
        "\u2066",
        "\ufeff",
        "\U000e0041",
        "\U000e0100",
    ],
)
def test_invisible_characters_are_removed(unseen: str) -> None:
    assert drop_invisible(f"a{unseen}b") == "ab"


@pytest.mark.parametrize(
    "seen", ["a\tb\n", "é", "\u200d", "\u200c", "\U0001f468\u200d\U0001f469", "❤\ufe0f", "\xa0"]
)
def test_joiners_and_variation_selectors_are_kept(seen: str) -> None:
    assert drop_invisible(seen) == seen


def test_the_longest_secret_is_replaced_first() -> None:
    assert hide_secrets("abc ab", ["ab", "abc", ""]) == "[secret] [secret]"

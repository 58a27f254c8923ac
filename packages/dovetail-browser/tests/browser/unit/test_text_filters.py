"""Characters that nobody sees, and values that nobody may."""

from __future__ import annotations

import pytest

from dovetail_browser.characters import drop_unseen, hide_secrets


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
def test_what_is_never_drawn_goes(unseen: str) -> None:
    assert drop_unseen(f"a{unseen}b") == "ab"


@pytest.mark.parametrize(
    "seen", ["a\tb\n", "é", "\u200d", "\u200c", "\U0001f468\u200d\U0001f469", "❤\ufe0f", "\xa0"]
)
def test_what_writing_needs_stays(seen: str) -> None:
    assert drop_unseen(seen) == seen


def test_the_longest_secret_is_replaced_first() -> None:
    assert hide_secrets("abc ab", ["ab", "abc", ""]) == "[secret] [secret]"

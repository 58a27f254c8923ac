from __future__ import annotations

import pytest

from dovetail_design.model.colours import Rgba
from dovetail_design.model.shadows import DEFAULT_COLOUR, Shadow, parse_box_shadow


def test_shadows_are_read_in_any_order_of_words() -> None:
    assert parse_box_shadow("0 4px 6px rgba(0,0,0,0.5), inset #f00 1px -2px") == (
        Shadow(0, 4, 6, 0, Rgba(0, 0, 0, 0.5), is_inset=False),
        Shadow(1, -2, 0, 0, Rgba(255, 0, 0), is_inset=True),
    )
    assert parse_box_shadow("1px 2px 3px -4px") == (
        Shadow(1, 2, 3, -4, DEFAULT_COLOUR, is_inset=False),
    )


@pytest.mark.parametrize("text", ["none", "", " "])
def test_there_may_be_none(text: str) -> None:
    assert parse_box_shadow(text) == ()


@pytest.mark.parametrize(
    "text",
    ["4px", "1px 2px red blue", "10% 10%", "0 0 -1px", "0 0 501px", "1px 2px bleu", "1 2 3 4 5",
     ",".join(["1px 1px"] * 9)],
)  # fmt: skip
def test_what_is_no_shadow_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_box_shadow(text)

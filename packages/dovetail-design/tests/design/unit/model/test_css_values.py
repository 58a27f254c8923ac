from __future__ import annotations

import pytest

from dovetail_design.model.css_values import parse_dashes
from dovetail_design.model.elements import Line, Rectangle


def test_dashes_come_in_pairs() -> None:
    assert parse_dashes("5,3") == (5, 3)
    assert parse_dashes("5px 3px 1px") == (5, 3, 1, 5, 3, 1)
    assert parse_dashes("none") == ()


@pytest.mark.parametrize("text", ["a", "-1,2", "0,0", "5;5", ",".join(["1"] * 33)])
def test_what_is_no_dash_pattern_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a dash pattern"):
        parse_dashes(text)


def test_an_element_with_a_bad_text_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="fill: 'blu' is not a colour"):
        Rectangle(x=0, y=0, width=1, height=1, fill="blu")
    with pytest.raises(ValueError, match="lineDash: 'x' is not a dash pattern"):
        Line(x=0, y=0, width=1, height=1, lineDash="x")

from __future__ import annotations

import pytest

from dovetail_design.model.positions import Length, Position, parse_length, parse_position


def share(value: float) -> Length:
    return Length(value, is_share=True)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("center", (share(50), share(50))),
        ("top", (share(50), share(0))),
        ("left", (share(0), share(50))),
        ("top right", (share(100), share(0))),
        ("right bottom", (share(100), share(100))),
        ("25% 10px", (share(25), Length(10, is_share=False))),
        ("bottom 30%", (share(30), share(100))),
    ],
)
def test_a_position_is_read(text: str, place: tuple[Length, Length]) -> None:
    assert parse_position(text) == Position(*place)


@pytest.mark.parametrize("text", ["", "up", "top bottom", "left right", "1 2 3", "1em 2em"])
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a position; allowed: center"):
        parse_position(text)


def test_a_length_is_pixels_or_a_share() -> None:
    assert parse_length("-1.5px").of(100) == -1.5
    assert parse_length("40%").of(200) == 80
    with pytest.raises(ValueError, match="is not a length"):
        parse_length("1000000px")

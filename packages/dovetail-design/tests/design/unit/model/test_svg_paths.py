from __future__ import annotations

import pytest

from dovetail_design.model.svg_paths import Box, parse_svg_path, parse_view_box


def test_commands_are_read_with_their_numbers() -> None:
    assert parse_svg_path("M1,2 3-4h.5v-1e1zm0 0") == (
        ("M", (1, 2)),
        ("L", (3, -4)),
        ("h", (0.5,)),
        ("v", (-10,)),
        ("z", ()),
        ("m", (0, 0)),
    )


def test_repeated_numbers_repeat_the_command() -> None:
    letters = [command.letter for command in parse_svg_path("m0 0 1 1c1 2 3 4 5 6 1 2 3 4 5 6")]
    assert letters == ["m", "l", "c", "c"]


def test_flags_of_arcs_may_stick_together() -> None:
    assert parse_svg_path("M0 0a1 1 0 01.5.5")[1] == ("a", (1, 1, 0, 0, 1, 0.5, 0.5))


@pytest.mark.parametrize(
    "text",
    ["", "  ", "L0 0", "M0", "M0 0 L1", "M0 0 X", "M0 0 z 5", "M0 0 a1 1 0 2 0 1 1", "M1e9 0",
     "<script>", "M0 0 L NaN 1"],
)  # fmt: skip
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="svgPath"):
        parse_svg_path(text)


def test_a_path_has_an_end() -> None:
    with pytest.raises(ValueError, match="more than 20000 commands"):
        parse_svg_path("M0 0" + "l1 1" * 20_001)


def test_a_view_box_is_four_numbers() -> None:
    assert parse_view_box("0, 0 24 12.5") == Box(0, 0, 24, 12.5)


@pytest.mark.parametrize("text", ["", "0 0 24", "0 0 0 10", "0 0 10 -1", "a b c d", "0 0 inf 1"])
def test_other_view_boxes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="svgViewBox must be four numbers"):
        parse_view_box(text)

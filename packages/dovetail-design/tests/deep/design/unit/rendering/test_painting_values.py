from __future__ import annotations

from typing import Any

from dovetail_design.model import Container, Line, Rectangle
from dovetail_design.model.colours import BLACK, Rgba
from dovetail_design.rendering.gradient_lines import GradientFill
from dovetail_design.rendering.outlines import Box, Rounded
from dovetail_design.rendering.painting_values import (
    border_of,
    colour_or_none,
    corner_outline,
    fill_of,
    inner_box,
    visible_paint,
)

BOX: dict[str, Any] = {"x": 10, "y": 20, "width": 100, "height": 50}


def test_radii_that_do_not_fit_are_made_smaller_together() -> None:
    assert corner_outline(Rectangle(**BOX)) == Box(10, 20, 100, 50)
    outline = corner_outline(Rectangle(**BOX, borderRadius=100, borderRadiusTopLeft=0))
    assert isinstance(outline, Rounded)
    assert outline.radii == (0, 25, 25, 25)


def test_padding_is_taken_from_each_side() -> None:
    assert inner_box(Container(**BOX, padding=5, paddingTop=10)) == Box(15, 30, 90, 35)
    assert inner_box(Container(**BOX, padding=500)).width == 1


def test_a_default_fill_shows_only_where_nothing_was_said() -> None:
    assert fill_of(Rectangle(**BOX), "red") == Rgba(255, 0, 0)
    assert fill_of(Rectangle(**BOX, stroke="blue"), "red") is None
    assert fill_of(Rectangle(**BOX, fill="none"), "red") is None
    assert isinstance(
        fill_of(Rectangle(**BOX, fill="linear-gradient(red, blue)"), None), GradientFill
    )


def test_borders_have_sensible_halves() -> None:
    assert border_of(Rectangle(**BOX)) is None
    only_colour, only_width = (
        border_of(Rectangle(**BOX, **one)) for one in ({"stroke": "red"}, {"strokeWidth": 3})
    )
    assert only_colour is not None and only_width is not None
    assert (only_colour.width, only_width.paint) == (1, BLACK)
    assert border_of(Rectangle(**BOX, stroke="none", strokeWidth=3)) is None


def test_borders_are_dashed_or_dotted() -> None:
    dashed = border_of(Rectangle(**BOX, strokeWidth=2, borderStyle="dashed"))
    dotted = border_of(Rectangle(**BOX, strokeWidth=2, borderStyle="dotted"))
    own = border_of(Line(**BOX, strokeWidth=2, lineDash="7,1"))
    assert dashed is not None and dotted is not None and own is not None
    assert (dashed.dashes, dotted.cap, own.dashes) == ((6, 4), "round", (7, 1))


def test_what_cannot_be_seen_is_nothing() -> None:
    assert visible_paint("transparent", Box(0, 0, 1, 1)) is None
    assert colour_or_none("#ff000000") is None
    assert colour_or_none(None) is None

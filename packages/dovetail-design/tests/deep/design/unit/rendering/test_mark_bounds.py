from __future__ import annotations

from dovetail_design.fonts import bundled_book
from dovetail_design.model.colours import BLACK
from dovetail_design.rendering.mark_bounds import mark_bounds
from dovetail_design.rendering.marks import GroupMark, PathMark, StrokeLine
from dovetail_design.rendering.outlines import Box
from dovetail_design.rendering.typesetting import typesetter_for

SETTER = typesetter_for(bundled_book())


def test_strokes_and_blurs_reach_beyond_the_shape() -> None:
    plain = PathMark(Box(0, 0, 10, 10), BLACK)
    assert mark_bounds(plain, SETTER) == Box(-1, -1, 12, 12)
    thick = PathMark(Box(0, 0, 10, 10), None, StrokeLine(BLACK, 4), blur=2)
    assert mark_bounds(thick, SETTER) == Box(-15, -15, 40, 40)


def test_a_group_holds_all_its_marks_and_turns_them() -> None:
    marks = (PathMark(Box(0, 0, 10, 10), BLACK), PathMark(Box(90, 0, 10, 10), BLACK))
    assert mark_bounds(GroupMark(marks), SETTER) == Box(-1, -1, 102, 12)
    turned = mark_bounds(GroupMark(marks, turn=(90, 50, 5)), SETTER)
    assert [round(side) for side in turned] == [44, -46, 12, 102]

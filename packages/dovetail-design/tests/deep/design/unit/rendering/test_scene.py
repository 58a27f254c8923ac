from __future__ import annotations

from typing import Any

import pytest

from dovetail import ToolError
from dovetail_design.model import Design, parse_design
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.marks import GroupMark, Mark, PathMark
from dovetail_design.rendering.outlines import Box, Rounded
from dovetail_design.rendering.scene import background_marks, compose_scene

CONTEXT = DrawingContext()


def element(kind: str, name: str, **properties: Any) -> dict[str, Any]:
    return {"type": kind, "id": name, "x": 0, "y": 0, "width": 10, "height": 10, **properties}


def scene(*elements: dict[str, Any], only: set[str] | None = None) -> tuple[Mark, ...]:
    design = parse_design({"width": 100, "height": 100, "elements": elements})
    return compose_scene(design, CONTEXT, only)


def test_elements_come_bottom_first() -> None:
    marks = scene(element("rectangle", "a", fill="#010101"), element("circle", "b", fill="#020202"))
    assert [mark.fill[0] for mark in marks if isinstance(mark, PathMark) and mark.fill] == [1, 2]


def test_what_cannot_be_seen_is_not_drawn() -> None:
    assert scene(element("circle", "a", visible=False), element("circle", "b", opacity=0)) == ()


def test_children_are_drawn_with_their_container() -> None:
    marks = scene(
        element("circle", "early", groupId="panel"),
        element("container", "panel", fill="red", rotation=10),
        element("circle", "late", groupId="panel"),
        element("circle", "other", groupId="no container"),
    )
    group, other = marks
    assert isinstance(group, GroupMark) and isinstance(other, PathMark)
    assert group.turn is not None
    assert len(group.marks) == 3


def test_children_may_be_cut_at_the_padding() -> None:
    (group,) = scene(
        element("container", "panel", overflow="hidden", padding=2, borderRadius=3, fill="red"),
        element("circle", "child", groupId="panel"),
    )
    assert isinstance(group, GroupMark)
    inside = group.marks[-1]
    assert isinstance(inside, GroupMark)
    assert inside.clip == Rounded(Box(2, 2, 6, 6), (1, 1, 1, 1))


def test_containers_that_hold_each_other_are_drawn_once() -> None:
    marks = scene(
        element("container", "a", groupId="b", fill="red"),
        element("container", "b", groupId="a", fill="blue"),
        element("container", "c", groupId="c", fill="lime"),
    )
    assert len(marks) == 3


def test_only_what_was_chosen_is_drawn() -> None:
    elements = (
        element("container", "panel", fill="red"),
        element("circle", "child", groupId="panel"),
        element("circle", "other"),
    )
    assert len(scene(*elements, only={"child"})) == 1
    (group,) = scene(*elements, only={"panel", "child"})
    assert isinstance(group, GroupMark) and len(group.marks) == 2
    with pytest.raises(ToolError, match="no element 'x'"):
        scene(*elements, only={"x"})


def test_a_background_may_be_nothing() -> None:
    assert background_marks(Design(background="transparent")) == ()
    assert len(background_marks(Design())) == 1

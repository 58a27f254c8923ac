from __future__ import annotations

from typing import Any

import pytest

from dovetail_design.canvases import Canvas
from dovetail_design.connecting import bind, follow_connectors


def make(x: float, y: float, **line: Any) -> Canvas:
    canvas = Canvas({"name": "A", "width": 500, "height": 500, "elements": []})
    box = {"type": "rectangle", "width": 100, "height": 60}
    canvas.add({**box, "id": "a", "x": 200, "y": 200})
    canvas.add({**box, "id": "b", "x": x, "y": y})
    canvas.add({"type": "line", "id": "l", "x": 0, "y": 0, "width": 1, "height": 0, **line})
    return canvas


def ends(canvas: Canvas) -> list[tuple[float, float]]:
    line = canvas.get("l")
    return [(line["x"] + point["x"], line["y"] + point["y"]) for point in line["linePoints"]]


@pytest.mark.parametrize(
    ("x", "y", "start", "end"),
    [
        (400, 200, (300, 230), (400, 230)),
        (0, 210, (200, 230), (100, 240)),
        (210, 400, (250, 260), (260, 400)),
        (210, 0, (250, 200), (260, 60)),
    ],
)
def test_a_line_leaves_the_side_that_looks_at_the_other(
    x: float, y: float, start: tuple[float, float], end: tuple[float, float]
) -> None:
    canvas = make(x, y)
    bind(canvas, "l", {"from": "a", "to": "b"})
    assert ends(canvas) == [start, end]


def test_sides_can_be_chosen() -> None:
    canvas = make(400, 200)
    bind(canvas, "l", {"from": "a", "to": "b", "fromSide": "top", "toSide": "center"})
    assert ends(canvas) == [(250, 200), (450, 230)]


def test_a_locked_line_follows_and_stays_locked() -> None:
    canvas = make(400, 200, locked=True)
    bind(canvas, "l", {"from": "a", "to": "b"})
    canvas.touched.clear()
    canvas.update("b", {"x": 390})
    follow_connectors(canvas)
    assert ends(canvas)[1] == (390, 230) and canvas.get("l")["locked"]


def test_what_did_not_move_is_left_alone() -> None:
    canvas = make(400, 200)
    bind(canvas, "l", {"from": "a", "to": "b"})
    canvas.touched.clear()
    follow_connectors(canvas)
    assert not canvas.touched

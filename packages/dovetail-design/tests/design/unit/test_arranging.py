from __future__ import annotations

import pytest

from dovetail_design.arranging import (
    Box,
    Flow,
    align,
    around,
    distribute,
    flow,
    grid,
    stack,
)

BOXES = {"a": Box(0, 0, 10, 10), "b": Box(50, 30, 20, 20), "c": Box(200, 90, 30, 10)}


@pytest.mark.parametrize(
    ("how", "side", "values"),
    [
        ("left", "x", [0, 0, 0]),
        ("center", "x", [110, 105, 100]),
        ("right", "x", [220, 210, 200]),
        ("top", "y", [0, 0, 0]),
        ("middle", "y", [45, 40, 45]),
        ("bottom", "y", [90, 80, 90]),
    ],
)
def test_boxes_align_with_each_other(how: str, side: str, values: list[float]) -> None:
    moved = align(BOXES, [how], around(BOXES))  # type: ignore[list-item]
    assert [getattr(box, side) for box in moved.values()] == values


def test_distributed_boxes_have_equal_gaps_and_the_outer_ones_stay() -> None:
    moved = distribute(BOXES, "horizontal", None)
    assert (moved["a"].x, moved["c"].right) == (0, 230)
    assert moved["b"].x - moved["a"].right == moved["c"].x - moved["b"].right == 85
    assert distribute(BOXES, "vertical", 5)["b"].y == 15


def test_a_stack_follows_the_order_given() -> None:
    turned = {id: BOXES[id] for id in ("c", "a")}
    stacked = stack(turned, "vertical", 4, Box(7, 8, 0, 0))
    assert (stacked["c"], stacked["a"]) == (Box(7, 8, 30, 10), Box(7, 22, 10, 10))


def test_a_grid_has_equal_cells() -> None:
    placed = grid(BOXES, 2, 10, Box(0, 0, 0, 0))
    # Cells are 30 by 20, each box in the middle of its own.
    assert placed == {"a": Box(10, 5, 10, 10), "b": Box(45, 0, 20, 20), "c": Box(0, 35, 30, 10)}


def test_flowing_boxes_stay_inside_and_apart() -> None:
    boxes = {str(number): Box(0, 0, 60, 40) for number in range(7)}
    room = Box(100, 100, 200, 150)
    placed = flow(boxes, Flow(room, gap=10, padding=10))
    for box in placed.values():
        assert room.x + 10 <= box.x and box.right <= room.right - 10
        assert room.y + 10 <= box.y and box.bottom <= room.bottom - 10
    boxed = list(placed.values())
    for number, one in enumerate(boxed):
        for other in boxed[number + 1 :]:
            apart_x = one.right <= other.x or other.right <= one.x
            apart_y = one.bottom <= other.y or other.bottom <= one.y
            assert apart_x or apart_y

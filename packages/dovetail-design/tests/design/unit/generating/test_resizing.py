"""Another size: nothing squeezed, edges kept, order kept."""

from __future__ import annotations

from typing import Any

from dovetail_design.generating.resizing import resize
from dovetail_design.model import Design, Text, parse_design


def design(*elements: dict[str, Any], size: tuple[int, int] = (1000, 1000)) -> Design:
    return parse_design({"width": size[0], "height": size[1], "elements": list(elements)})


def box(kind: str, x: float, y: float, width: float, height: float, **more: Any) -> dict[str, Any]:
    return {"type": kind, "x": x, "y": y, "width": width, "height": height, **more}


def place(element: Any) -> tuple[float, float, float, float]:
    return element.x, element.y, element.width, element.height


TITLE = box("text", 100, 100, 600, 100, text="Title", fontSize=80)
FOOT = box("text", 100, 850, 600, 50, text="Foot", fontSize=40)


def test_the_same_proportions_scale_everything() -> None:
    small = resize(design(TITLE, FOOT), 500, 500)
    assert place(small.elements[0]) == (50, 50, 300, 50)
    assert isinstance(small.elements[0], Text) and small.elements[0].fontSize == 40


def test_room_that_is_left_goes_into_the_gaps() -> None:
    tall = resize(design(TITLE, FOOT), 1000, 2000)
    title, foot = tall.elements
    assert (title.width, title.height, foot.height) == (600, 100, 50)
    # Gaps of 100, 650 and 100 take 1850 in these shares.
    assert (round(title.y), round(foot.y)) == (218, 1732)


def test_what_reaches_from_edge_to_edge_still_does() -> None:
    header = box("rectangle", 0, 0, 1000, 120, fill="#333")
    wide = resize(design(header), 2000, 500)
    assert place(wide.elements[0]) == (0, 0, 2000, 60)


def test_a_frame_keeps_its_margin() -> None:
    frame = box("rectangle", 50, 50, 900, 900, fill="none", stroke="#333")
    assert place(resize(design(frame), 1000, 2000).elements[0]) == (50, 50, 900, 1900)


def test_decoration_stays_at_its_edge_and_is_not_squeezed() -> None:
    corner = box("circle", 800, 800, 400, 400, fill="#333")
    assert place(resize(design(corner), 2000, 1000).elements[0]) == (1800, 800, 400, 400)


def test_a_panel_and_what_stands_on_it_move_together() -> None:
    panel = box("rectangle", 200, 400, 500, 200, fill="#eee")
    words = box("text", 220, 420, 300, 50, text="On it", fontSize=30)
    for size in ((1000, 2000), (2000, 1000), (700, 900)):
        moved, text = resize(design(TITLE, panel, words), *size).elements[1:]
        assert moved.x <= text.x and text.x + text.width <= moved.x + moved.width
        assert moved.y <= text.y and text.y + text.height <= moved.y + moved.height


def test_decoration_on_a_panel_goes_with_it() -> None:
    panel = box("rectangle", 600, 0, 400, 1000, fill="#336")
    tile = box("svg", 600, 0, 200, 200, svgPath="M0 0 L9 9 L0 9 Z", fill="#fff")
    moved, follower = resize(design(panel, tile), 2000, 1000).elements
    assert (moved.x, follower.x) == (1600, 1600)


def test_a_picture_that_fills_the_canvas_still_fills_it_in_its_proportions() -> None:
    picture = box("svg", 0, 0, 1000, 1000, svgPath="M0 0 L9 9 L0 9 Z", fill="#fff")
    x, y, width, height = place(resize(design(picture), 2000, 1000).elements[0])
    assert (width, height) == (2000, 2000)
    assert (x, y) == (0, -500)


def test_an_empty_design_only_changes_its_size() -> None:
    assert resize(design(), 300, 200) == parse_design({"width": 300, "height": 200})

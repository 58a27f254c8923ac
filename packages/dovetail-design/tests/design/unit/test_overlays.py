from __future__ import annotations

from typing import Any

from dovetail_design.model import parse_design
from dovetail_design.overlays import grid_lines, label_elements


def state(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"name": "A", "width": 1000, "height": 400, "elements": list(elements)}


def test_each_shown_element_has_a_number() -> None:
    box = {"type": "rectangle", "x": -5, "y": 10, "width": 50, "height": 50}
    line = {"type": "line", "id": "l", "x": 5, "y": 5, "width": 50, "height": 0}
    marks, labels = label_elements(state({**box, "id": "a"}, {**box, "visible": False}, line), 0.5)
    assert labels == {"1": "a", "3": "l"}
    parse_design({"width": 1000, "height": 400, "elements": marks})
    assert len({mark["id"] for mark in marks}) == len(marks)


def test_grid_lines_stand_at_round_numbers() -> None:
    marks = grid_lines(state(), 0.25)
    words = [mark["text"] for mark in marks if mark["type"] == "text"]
    assert words == ["100", "200", "300", "400", "500", "600", "700", "800", "900", *words[9:]]
    assert words[9:] == ["100", "200", "300"]
    parse_design({"width": 1000, "height": 400, "elements": marks})

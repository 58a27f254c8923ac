"""Labels and grid lines that a preview shows on top of a design."""

from __future__ import annotations

from typing import Any

from dovetail_design.storage import State

__all__ = ["grid_lines", "label_elements"]

_PINK = "#e6007e"
_GREY = "#404040"
_MOST_LABELS = 200
# The approximate number of grid lines along the longer side.
_LINES = 10
_STEPS = (10, 20, 25, 50, 100, 200, 250, 500, 1_000, 2_000)


def label_elements(state: State, scale: float) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return a frame and a number for each element, and the id of each number."""
    marks: list[dict[str, Any]] = []
    labels: dict[str, str] = {}
    pixel = 1 / scale
    for number, element in enumerate(state["elements"][:_MOST_LABELS], 1):
        if element.get("visible") is False:
            continue
        labels[str(number)] = element["id"]
        x, y = element["x"], element["y"]
        frame = {
            "type": "rectangle",
            "x": x,
            "y": y,
            "width": max(1, element["width"]),
            "height": max(1, element["height"]),
            "rotation": element.get("rotation", 0),
        }
        # A light line under the dark one, so that it is visible on any colour.
        for colour, width in (("#ffffffc0", 3), (_PINK, 1)):
            line = {"id": f"frame {number} {width}", "stroke": colour, "strokeWidth": width * pixel}
            marks.append({**frame, **line})
        marks += _tag(str(number), (max(0, x), max(0, y)), pixel, _PINK)
    return marks, labels


def grid_lines(state: State, scale: float) -> list[dict[str, Any]]:
    """Return grid lines labelled with their coordinates in the design."""
    width, height = state["width"], state["height"]
    wanted = max(width, height) / _LINES
    step = next((one for one in _STEPS if one >= wanted), _STEPS[-1])
    pixel = 1 / scale
    marks: list[dict[str, Any]] = []
    for x in range(step, width, step):
        box = {"x": x, "y": 0, "width": pixel, "height": height}
        marks += [_bar(f"x{x}", box), *_tag(str(x), (x, 0), pixel, _GREY)]
    for y in range(step, height, step):
        box = {"x": 0, "y": y, "width": width, "height": pixel}
        marks += [_bar(f"y{y}", box), *_tag(str(y), (0, y), pixel, _GREY)]
    return marks


def _bar(id: str, box: dict[str, float]) -> dict[str, Any]:
    sides = {side: max(1, box[side]) for side in ("width", "height")}
    return {"type": "rectangle", "id": id, **box, **sides, "fill": "#00000040"}


def _tag(text: str, place: tuple[float, float], pixel: float, colour: str) -> list[dict[str, Any]]:
    """Return a label with text in a size that is readable in the preview."""
    x, y = place
    width, height = (8 * len(text) + 6) * pixel, 15 * pixel
    box = {"x": x, "y": y, "width": max(1, width), "height": max(1, height)}
    return [
        {"type": "rectangle", "id": f"tag {text} {x} {y}", **box, "fill": colour},
        {
            "type": "text",
            "id": f"word {text} {x} {y}",
            **box,
            "text": text,
            "fontSize": max(1, 12 * pixel),
            "fontWeight": "bold",
            "fill": "#ffffff",
            "textAlign": "center",
            "verticalAlign": "middle",
        },
    ]

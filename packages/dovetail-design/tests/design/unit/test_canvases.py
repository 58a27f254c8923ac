from __future__ import annotations

from typing import Any

import pytest

from dovetail import ToolError
from dovetail_design.arranging import Box
from dovetail_design.canvases import Canvas, new_id, refuse_too_many, shorten, to_design
from dovetail_design.model import MAX_ELEMENTS


def blank() -> Canvas:
    return Canvas({"name": "A", "width": 100, "height": 50, "elements": []}, "2030-01-01T00:00:00Z")


def box(**more: Any) -> dict[str, Any]:
    return {"type": "rectangle", "x": 1.0, "y": 2.5, "width": 10, "height": 10, **more}


def test_an_added_element_has_an_id_a_name_and_a_date() -> None:
    canvas = blank()
    first, second = canvas.add(box()), canvas.add(box(id="mine", name="Panel"))
    assert first.startswith("el_") and second == "mine"
    assert canvas.get(first) == {
        "type": "rectangle",
        "id": first,
        "name": "rectangle 1",
        "x": 1,
        "y": 2.5,
        "width": 10,
        "height": 10,
        "createdAt": "2030-01-01T00:00:00Z",
    }
    assert canvas.get("mine")["name"] == "Panel"
    assert len(to_design(canvas.state()).elements) == 2


def test_an_update_that_changes_nothing_touches_nothing() -> None:
    canvas = blank()
    canvas.add(box(id="a", fill="red"))
    canvas.touched.clear()
    canvas.update("a", {"fill": "red", "x": "1"})
    assert not canvas.touched and "updatedAt" not in canvas.get("a")
    canvas.update("a", {"fill": None})
    assert list(canvas.touched) == ["a"] and "fill" not in canvas.get("a")


def test_a_box_is_placed_in_hundredths() -> None:
    canvas = blank()
    canvas.add(box(id="a"))
    canvas.place({"a": Box(1 / 3, 4.0, 20, 10)})
    found = canvas.get("a")
    assert (found["x"], found["y"], found["width"]) == (0.33, 4, 20)


def test_a_value_that_was_cut_for_an_answer_is_not_written_back() -> None:
    canvas = blank()
    text = {"type": "text", "x": 0, "y": 0, "width": 10, "height": 10, "id": "t"}
    canvas.add({**text, "text": "word " * 1000})
    shown = shorten(canvas.get("t"), 2_000)
    assert len(shown["text"]) < 200
    with pytest.raises(ToolError, match="shortened"):
        canvas.update("t", {"text": shown["text"]})
    with pytest.raises(ToolError, match="shortened"):
        canvas.add({**shown, "id": "u"})


def test_a_missing_element_is_named_by_what_is_near() -> None:
    canvas = blank()
    canvas.add(box(id="panel", name="Main panel"))
    with pytest.raises(ToolError, match=r"did you mean 'panel'"):
        canvas.get("panell")
    with pytest.raises(ToolError, match=r"did you mean 'panel'"):
        canvas.get("main PANEL")
    with pytest.raises(ToolError, match="describe_design"):
        canvas.get("zzz")


def test_what_is_no_element_is_refused() -> None:
    wrong: Any
    for wrong in (5, [], "text", None):
        with pytest.raises(ToolError):
            blank().add(wrong)
    with pytest.raises(ToolError, match="at most 10,000"):
        refuse_too_many(MAX_ELEMENTS + 1)


def test_ids_differ() -> None:
    assert len({new_id("x") for _ in range(1_000)}) == 1_000


def test_margins_are_kept_free_when_elements_are_arranged() -> None:
    canvas = blank()
    canvas.add(box(id="a", margin=5, marginLeft=20))
    assert canvas.outer_boxes(["a"]) == {"a": Box(-19, -2.5, 35, 20)}
    canvas.place_outer({"a": Box(0, 0, 35, 20)})
    assert (canvas.get("a")["x"], canvas.get("a")["y"], canvas.get("a")["width"]) == (20, 5, 10)
    # Where there is not even room for the margins, something is left of it.
    canvas.place_outer({"a": Box(0, 0, 10, 5)})
    assert (canvas.get("a")["width"], canvas.get("a")["height"]) == (1, 1)

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from dovetail import ToolError
from dovetail_design.canvases import Canvas
from dovetail_design.operations import OPERATIONS, Operation, apply_operations


def element(id: str, x: float = 0, y: float = 0, **more: Any) -> dict[str, Any]:
    return {"type": "rectangle", "id": id, "x": x, "y": y, "width": 10, "height": 10, **more}


def make(*elements: dict[str, Any]) -> Canvas:
    canvas = Canvas({"name": "A", "width": 100, "height": 100, "elements": []})
    for one in elements:
        canvas.add(one)
    canvas.touched.clear()
    return canvas


def run(canvas: Canvas, *operations: dict[str, Any]) -> Canvas:
    apply_operations(canvas, msgspec.convert(list(operations), list[Operation]))
    return canvas


def place(canvas: Canvas, id: str) -> tuple[float, float]:
    return canvas.get(id)["x"], canvas.get(id)["y"]


def test_elements_are_added_updated_and_deleted() -> None:
    canvas = run(
        make(element("a")),
        {"op": "add", "element": element("b")},
        {"op": "update", "elementId": "b", "updates": {"fill": "red", "x": "7"}},
        {"op": "delete", "elementIds": ["a"]},
    )
    assert list(canvas.elements) == ["b"]
    assert (canvas.get("b")["fill"], canvas.get("b")["x"]) == ("red", 7)
    assert list(canvas.touched) == ["b", "a"]


def test_elements_move_by_and_to() -> None:
    canvas = make(element("a", 5, 5), element("b", 20, 30))
    run(canvas, {"op": "move", "elementIds": ["a", "b"], "dx": 1, "dy": -1})
    assert (place(canvas, "a"), place(canvas, "b")) == ((6, 4), (21, 29))
    run(canvas, {"op": "move", "elementIds": ["a", "b"], "x": 0, "y": 0})
    assert (place(canvas, "a"), place(canvas, "b")) == ((0, 0), (15, 25))


def test_a_container_takes_its_children_along() -> None:
    canvas = make(
        {**element("box"), "type": "container"},
        element("child", 2, 2, groupId="box"),
        {**element("inner", 3, 3, groupId="box"), "type": "container"},
        element("deep", 4, 4, groupId="inner"),
        element("other", 5, 5),
    )
    run(canvas, {"op": "move", "elementIds": ["box"], "dx": 10, "dy": 0})
    places = [place(canvas, id) for id in ("child", "inner", "deep", "other")]
    assert places == [(12, 2), (13, 3), (14, 4), (5, 5)]


def test_elements_are_grouped_and_ungrouped() -> None:
    canvas = run(make(element("a"), element("b")), {"op": "group", "elementIds": ["a", "b"]})
    group = canvas.get("a")["groupId"]
    assert canvas.members(group) == ["a", "b"]
    run(canvas, {"op": "group", "elementIds": ["a"], "groupId": None})
    assert canvas.members(group) == ["b"]


@pytest.mark.parametrize(
    ("to", "order"),
    [
        ("front", "acdb"),
        ("back", "bacd"),
        ("forward", "acbd"),
        ("backward", "bacd"),
        (2, "acbd"),
        (99, "acdb"),
    ],
)
def test_elements_are_drawn_in_another_order(to: Any, order: str) -> None:
    canvas = make(*map(element, "abcd"))
    run(canvas, {"op": "order", "elementIds": ["b"], "to": to})
    assert "".join(canvas.elements) == order


def test_elements_align_and_spread() -> None:
    canvas = make(element("a"), element("b", 50, 5), element("c", 90, 9))
    run(canvas, {"op": "align", "elementIds": ["a", "b", "c"], "to": ["top"]})
    run(canvas, {"op": "distribute", "elementIds": ["a", "b", "c"]})
    assert [place(canvas, id) for id in "abc"] == [(0, 0), (45, 0), (90, 0)]
    centred = {"op": "align", "elementIds": ["a"], "to": ["center", "middle"]}
    run(canvas, {**centred, "relativeTo": "canvas"})
    assert place(canvas, "a") == (45, 45)


def test_a_connector_follows_its_ends() -> None:
    line = {"type": "line", "id": "l", "x": 0, "y": 0, "width": 5, "height": 0}
    canvas = make(element("a"), element("b", 50, 0), line)
    run(canvas, {"op": "bind_connector", "elementId": "l", "from": "a", "to": "b"})
    assert (place(canvas, "l"), canvas.get("l")["width"]) == ((10, 5), 40)
    run(canvas, {"op": "move", "elementIds": ["b"], "x": 0, "y": 60})
    found = canvas.get("l")
    # Now it leaves below and arrives above.
    assert (found["x"], found["y"], found["width"], found["height"]) == (5, 10, 0, 50)
    run(canvas, {"op": "delete", "elementIds": ["b"]})
    assert canvas.connectors == {} and "l" in canvas.elements


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ({"op": "add", "element": element("a")}, "already"),
        ({"op": "add", "element": {"type": "blob"}}, "type"),
        ({"op": "add", "element": {}}, "no type"),
        ({"op": "add", "element": element("c", fontSize=3)}, "belongs to"),
        ({"op": "update", "elementId": "a", "updates": {"id": "z"}}, "cannot be changed"),
        ({"op": "update", "elementId": "a", "updates": {"groupId": "a"}}, "own id"),
        ({"op": "update", "elementId": "zz", "updates": {"x": 1}}, "no element"),
        ({"op": "update", "elementId": "shut", "updates": {"x": 1}}, "locked"),
        ({"op": "delete", "elementIds": ["shut"]}, "locked"),
        ({"op": "delete", "elementIds": ["a", "a"]}, "no element"),
        ({"op": "move", "elementIds": ["a"]}, "dx"),
        ({"op": "move", "elementIds": ["a"], "dx": 1, "x": 1}, "not both"),
        ({"op": "align", "elementIds": ["a"], "to": ["left"]}, "only be aligned to the canvas"),
        ({"op": "distribute", "elementIds": ["a"]}, "at least two"),
        ({"op": "bind_connector", "elementId": "a", "from": "a", "to": "shut"}, "only a line"),
        ({"op": "bind_connector", "elementId": "l", "from": "a", "to": "a"}, "two elements"),
        ({"op": "bind_connector", "elementId": "l", "from": "l", "to": "a"}, "itself"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(operation: dict[str, Any], said: str) -> None:
    line = {"type": "line", "id": "l", "x": 0, "y": 0, "width": 5, "height": 0}
    canvas = make(element("a"), element("shut", locked=True), line)
    with pytest.raises(ToolError, match=rf"operations\[0\].*{said}"):
        run(canvas, operation)


def test_a_locked_element_can_be_unlocked() -> None:
    canvas = make(element("a", locked=True))
    run(canvas, {"op": "update", "elementId": "a", "updates": {"locked": False, "x": 3}})
    assert place(canvas, "a") == (3, 0)


def test_the_list_of_operations_names_every_field() -> None:
    types = {one.__struct_config__.tag: one for one in get_args(Operation)}
    assert types.keys() == OPERATIONS.keys()
    for tag, kind in types.items():
        for field in msgspec.structs.fields(kind):
            assert field.encode_name in OPERATIONS[tag], (tag, field.encode_name)

"""What the assistant understands, and what it says when it does not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dovetail_design.canvases import Canvas
from dovetail_design.findings import describe
from dovetail_design.generating.advising import advise, can_do
from dovetail_design.model import parse_design, to_plain
from dovetail_design.operations import Operation, apply_operations
from tests.design.unit.findings.scenery import box, design, text

DESIGN = design(
    box(0, 0, 300, 200, "#dddddd", name="card"),
    text("Old title", 20, 250, 500, 90, name="title", fontSize=60),
    text("Old subtitle", 20, 360, 500, name="subtitle"),
    {"type": "circle", "x": 600, "y": 50, "width": 100, "height": 100, "fill": "#ff0000"},
    {"type": "star", "x": 600, "y": 250, "width": 100, "height": 100, "fill": "#ffd166"},
)


def only(message: str) -> dict[str, Any]:
    advice = advise(message, DESIGN)
    assert advice.is_understood, advice.reply
    (operation,) = advice.operations
    return operation


@pytest.mark.parametrize(
    ("message", "id", "updates"),
    [
        ('change the title to "New title"', "e1", {"text": "New title"}),
        ("set the title font size to 48", "e1", {"fontSize": 48}),
        ("make the subtitle bold", "e2", {"fontWeight": "700"}),
        ("make the title uppercase", "e1", {"textTransform": "uppercase"}),
        ("make the title red", "e1", {"fill": "red"}),
        ("color the card #336699", "e0", {"fill": "#336699"}),
        ("change the title colour to dark green", "e1", {"fill": "darkgreen"}),
        ("use Noto Serif for the title", "e1", {"fontFamily": "Noto Serif"}),
        ("align the title right", "e1", {"textAlign": "right"}),
        ("rotate the star by 45 degrees", "e4", {"rotation": 45}),
        ("hide the subtitle", "e2", {"visible": False}),
        ("make the circle 50% transparent", "e3", {"opacity": 0.5}),
        ("make the circle bigger", "e3", {"x": 587.5, "y": 37.5, "width": 125, "height": 125}),
        ("make the title much smaller", "e1", {"fontSize": 37.5}),
    ],
)
def test_properties_are_updated(message: str, id: str, updates: dict[str, Any]) -> None:
    assert only(message) == {"op": "update", "elementId": id, "updates": updates}


@pytest.mark.parametrize(
    ("message", "operation"),
    [
        ("move the title up by 20", {"op": "move", "elementIds": ["e1"], "dy": -20}),
        ("move the card right", {"op": "move", "elementIds": ["e0"], "dx": 40}),
        ("delete the circle", {"op": "delete", "elementIds": ["e3"]}),
        ("bring the card to the front", {"op": "order", "elementIds": ["e0"], "to": "front"}),
        ("send the title to back", {"op": "order", "elementIds": ["e1"], "to": "back"}),
        (
            "center the star on the canvas",
            {
                "op": "align",
                "elementIds": ["e4"],
                "to": ["center", "middle"],
                "relativeTo": "canvas",
            },
        ),
    ],
)
def test_elements_are_moved_deleted_and_ordered(message: str, operation: dict[str, Any]) -> None:
    assert only(message) == operation


@pytest.mark.parametrize(
    ("message", "type", "key", "value"),
    [
        ('add a text "Free entry"', "text", "text", "Free entry"),
        ("add a QR code for https://example.com", "qr", "qrValue", "https://example.com"),
        ("add a green heart", "svg", "name", "heart"),
        ("add a rocket icon", "svg", "name", "rocket"),
    ],
)
def test_elements_are_added(message: str, type: str, key: str, value: str) -> None:
    element = only(message)["element"]
    assert (element["type"], element[key]) == (type, value)


def test_the_background_is_the_canvas_and_what_covers_it() -> None:
    plain = advise("change the background to navy", DESIGN)
    assert (plain.background, plain.operations) == ("navy", [])
    covered = advise("background: #123456", design(box(0, 0, 800, 600)))
    assert covered.background == "#123456"
    assert covered.operations[0]["updates"] == {"fill": "#123456"}


def test_several_wishes_in_one_message() -> None:
    advice = advise(
        "Make the title bigger and change the background to blue, then delete the star", DESIGN
    )
    assert [operation["op"] for operation in advice.operations] == ["update", "delete"]
    assert advice.background == "blue"


@pytest.mark.parametrize("example", can_do())
def test_every_example_is_understood_and_can_be_carried_out(example: str) -> None:
    flawed = parse_design(
        {
            **to_plain(DESIGN),
            "elements": [
                *to_plain(DESIGN)["elements"],
                {"id": "off", **text("Pale", 100, 500, fill="#eeeeee")},
            ],
        }
    )
    advice = advise(example, flawed)
    assert advice.is_understood, advice.reply
    operations = msgspec.convert(advice.operations, list[Operation])
    canvas = Canvas(to_plain(flawed))
    apply_operations(canvas, operations)
    assert advice.background or advice.operations


def test_problems_are_fixed() -> None:
    flawed = design(
        text("Pale", 100, 100, fill="#eeeeee"),
        text("Too large for its box", 100, 200, 200, 40, fontSize=40),
        {"type": "qr", "x": 750, "y": 10, "width": 100, "height": 100, "qrValue": "x"},
    )
    advice = advise("please fix the problems", flawed)
    assert "1 element made smaller to fit, 1 element given readable colours" in advice.reply
    canvas = Canvas(to_plain(flawed))
    apply_operations(canvas, msgspec.convert(advice.operations, list[Operation]))
    fixed = parse_design({**to_plain(flawed), "elements": list(canvas.elements.values())})
    assert describe(fixed).findings == ()


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("make it pop", "I do not know what 'it' is"),
        ("delete the elephant", "I found no 'elephant' on this design"),
        ("sing me a song", "I did not understand 'sing me a song'"),
        ("what can you do?", "I follow fixed rules"),
        ("", "I follow fixed rules"),
    ],
)
def test_what_is_not_understood_is_said_with_what_would_be(message: str, said: str) -> None:
    advice = advise(message, DESIGN)
    assert not advice.is_understood
    assert advice.operations == []
    assert advice.reply.startswith(said)
    assert '"make the title bigger"' in advice.reply


def test_the_part_that_is_understood_is_done_and_the_rest_is_named() -> None:
    advice = advise("make the title red and then sing", DESIGN)
    assert len(advice.operations) == 1
    assert not advice.is_understood
    assert "'sing'" in advice.reply

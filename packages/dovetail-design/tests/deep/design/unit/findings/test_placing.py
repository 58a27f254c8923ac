"""What is outside the canvas, wholly or in part."""

from __future__ import annotations

import pytest

from tests.deep.design.unit.findings.scenery import box, codes, look, text


@pytest.mark.parametrize(
    "element",
    [
        box(900, 10, 50, 50),
        box(-60, 10, 50, 50),
        text("Too far right", 700, 100, fill="#111111"),
        text("Above", 100, -20),
        {"type": "qr", "x": 750, "y": 10, "width": 100, "height": 100, "qrValue": "x"},
        text("Turned out", 500, 560, 200, rotation=90),
    ],
    ids=["right", "left", "cut text", "top", "code", "turned"],
)
def test_it_is_reported(element: object) -> None:
    assert ("off-canvas", ("e0",)) in codes(element)


@pytest.mark.parametrize(
    "element",
    [
        {"type": "circle", "x": -50, "y": -50, "width": 100, "height": 100, "fill": "#ccc"},
        text("The box is wider than the letters", 300, 100, 900),
        box(-0.5, 0, 801, 600, "#fafafa"),
    ],
    ids=["decoration", "empty part of a box", "rounding"],
)
def test_what_runs_over_the_edge_by_intention_is_no_finding(element: object) -> None:
    assert [code for code, _ in codes(element) if code == "off-canvas"] == []


def test_the_fix_says_how_far_to_move() -> None:
    (found,) = look({"type": "qr", "x": 740, "y": 520, "width": 100, "height": 100, "qrValue": "x"})
    assert found.fix == "Move it left by 40 px and up by 20 px."


def test_what_is_larger_than_the_canvas_cannot_be_moved_onto_it() -> None:
    (found,) = look({"type": "qr", "x": 0, "y": 0, "width": 700, "height": 700, "qrValue": "x"})
    assert "smaller" in found.fix

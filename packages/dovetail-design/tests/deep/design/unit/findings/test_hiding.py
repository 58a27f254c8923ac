"""Shown, but not to be seen."""

from __future__ import annotations

import pytest

from tests.deep.design.unit.findings.scenery import box, codes, text


@pytest.mark.parametrize(
    "element",
    [
        box(10, 10, 50, 50, opacity=0),
        box(10, 10, 50, 50, "none"),
        text("Clear", 10, 10, fill="transparent"),
        {"type": "circle", "x": 1, "y": 1, "width": 9, "height": 9, "fill": "#ff000000"},
    ],
    ids=["opacity", "no paint", "clear text", "alpha"],
)
def test_it_is_reported(element: object) -> None:
    assert ("invisible", ("e0",)) in codes(element)


@pytest.mark.parametrize(
    "element",
    [
        box(10, 10, 50, 50, "none", stroke="#222222", strokeWidth=2),
        {"type": "circle", "x": 1, "y": 1, "width": 9, "height": 9},
        {**box(10, 10, 90, 90, "none"), "type": "container"},
        text("Outlined", 10, 10, fill="none", textStrokeWidth=2, textStrokeColor="#111111"),
        box(10, 10, 50, 50, visible=False),
    ],
    ids=["outline", "default", "container", "outlined text", "hidden on purpose"],
)
def test_it_is_no_finding(element: object) -> None:
    assert [code for code, _ in codes(element) if code == "invisible"] == []


def test_a_shape_under_a_solid_one_is_reported_with_it() -> None:
    star = {"type": "star", "x": 50, "y": 50, "width": 40, "height": 40, "fill": "#c00"}
    assert ("invisible", ("e0", "e1")) in codes(star, box(0, 0, 200, 200))
    assert codes(star, box(0, 0, 200, 200, "#dddddd80")) == []
    assert codes(box(0, 0, 200, 200), star) == []

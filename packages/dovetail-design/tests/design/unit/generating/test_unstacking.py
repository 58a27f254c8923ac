from __future__ import annotations

from typing import Any

import pytest

from dovetail_design.generating.unstacking import _divide, unstack


def text(y: float) -> dict[str, Any]:
    return {"type": "text", "x": 100, "y": y, "width": 800, "height": 200}


@pytest.mark.parametrize(
    ("bands", "count", "expected"),
    [
        ([(0, 10), (20, 30)], 2, [(0, 10), (20, 30)]),
        ([(0, 50), (60, 70), (80, 90), (95, 100)], 2, [(0, 50), (60, 100)]),
        ([(0, 10), (20, 30), (40, 50)], 3, [(0, 10), (20, 30), (40, 50)]),
    ],
)
def test_columns_have_similar_heights(
    bands: list[tuple[float, float]], count: int, expected: list[tuple[float, float]]
) -> None:
    assert _divide(bands, count) == expected


def test_a_stack_becomes_columns_and_decoration_keeps_its_edges() -> None:
    ground = {"type": "rectangle", "x": 0, "y": 0, "width": 1000, "height": 1000}
    corner = {"type": "circle", "x": 900, "y": 900, "width": 100, "height": 100}
    elements = [ground, corner, text(100), text(700)]
    bands = [(100.0, 300.0), (700.0, 900.0)]
    placed, canvas = unstack(elements, (1000, 1000), (4000, 500), bands, lambda one: one < 2)
    assert canvas[0] == 2000 and canvas[1] < 300
    assert (placed[0]["width"], placed[0]["height"]) == canvas
    assert placed[1]["x"] + 100 == 2000 and placed[1]["y"] + 100 == pytest.approx(canvas[1])
    assert (placed[2]["x"], placed[3]["x"]) == (100, 1100)
    assert [one["y"] for one in placed[2:]] == pytest.approx([(canvas[1] - 200) / 2] * 2)


def test_what_would_not_become_larger_stays() -> None:
    elements = [text(0), text(700)]
    bands = [(0.0, 200.0), (700.0, 900.0)]
    same = unstack(elements, (1000, 1000), (1000, 1000), bands, lambda _: False)
    assert same == (elements, (1000, 1000))

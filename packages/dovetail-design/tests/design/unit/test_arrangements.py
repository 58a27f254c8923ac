from __future__ import annotations

import pytest

from dovetail import ToolError
from dovetail_design.arrangements import Arrangement, Mode
from dovetail_design.arranging import Box

CANVAS = Box(0, 0, 400, 300)
BOXES = {"a": Box(0, 0, 40, 20), "b": Box(100, 50, 40, 20)}


@pytest.mark.parametrize(
    ("arrangement", "expected"),
    [
        (Arrangement(mode="align", edges=["top"]), {"a": (0, 0), "b": (100, 0)}),
        (Arrangement(mode="align", edges=["left"], by_canvas=True), {"a": (0, 0), "b": (0, 50)}),
        (Arrangement(mode="distribute", gap=10), {"a": (0, 0), "b": (50, 50)}),
        (Arrangement(mode="stack", axis="vertical"), {"a": (0, 0), "b": (0, 36)}),
        (Arrangement(mode="auto_layout", padding=5, gap=10), {"a": (155, 140), "b": (205, 140)}),
    ],
)
def test_modes_place_elements(
    arrangement: Arrangement, expected: dict[str, tuple[float, float]]
) -> None:
    placed = arrangement.arrange(BOXES, CANVAS, CANVAS)
    assert {id: (box.x, box.y) for id, box in placed.items()} == expected


@pytest.mark.parametrize(
    ("mode", "more", "said"),
    [
        ("align", {}, "needs `align`"),
        ("align", {"edges": ["left"]}, "single element"),
        ("distribute", {}, "at least two"),
        ("stack", {"edges": ["left"]}, "aligns by"),
    ],
)
def test_what_cannot_be_arranged_is_explained(
    mode: Mode, more: dict[str, list[str]], said: str
) -> None:
    with pytest.raises(ToolError, match=said):
        Arrangement(mode=mode, **more).arrange({"a": BOXES["a"]}, CANVAS, CANVAS)  # type: ignore[arg-type]

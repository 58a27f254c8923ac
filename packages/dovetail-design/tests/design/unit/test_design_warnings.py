from __future__ import annotations

from typing import Any

from dovetail_design.design_warnings import near


def box(id: str, x: float, y: float = 0, **more: Any) -> dict[str, Any]:
    return {"type": "rectangle", "id": id, "x": x, "y": y, "width": 100, "height": 100, **more}


def ids(*chosen: str) -> list[str]:
    elements = [
        box("under", 0),
        box("changed", 50, groupId="panel"),
        box("far", 2_000),
        box("panel", 5_000),
        # Upright it would be out of reach.
        {**box("turned", 205), "width": 60, "height": 400, "rotation": 90},
        *(box(f"rest{number}", 9_000) for number in range(6)),
    ]
    state = {"name": "A", "width": 1, "height": 1, "elements": elements}
    return [one["id"] for one in near(state, chosen)["elements"]]


def test_a_change_is_looked_at_with_what_lies_around_it() -> None:
    assert ids("changed") == ["under", "changed", "panel", "turned"]
    assert ids("far") == ["far"]
    assert ids("gone") == []


def test_a_change_of_most_elements_looks_at_all() -> None:
    assert len(ids(*(f"rest{number}" for number in range(6)))) == 11

from __future__ import annotations

from typing import Any

from dovetail_design.comparing import compare, summarise


def state(*elements: dict[str, Any], **canvas: Any) -> dict[str, Any]:
    return {"width": 10, **canvas, "elements": list(elements)}


def test_each_kind_of_difference_is_named() -> None:
    a, b, c = ({"id": id, "type": "text", "x": 0, "updatedAt": id} for id in "abc")
    before = state(a, b)
    after = state({**b, "x": 5, "updatedAt": "later"}, {**a, "updatedAt": "later"}, c, width=20)
    found = compare(before, after)
    assert [(one["change"], one.get("elementId")) for one in found] == [
        ("canvas", None),
        ("changed", "b"),
        ("added", "c"),
        ("reordered", None),
    ]
    assert found[1]["properties"] == [{"property": "x", "before": 0, "after": 5}]
    assert compare(after, before)[-2]["change"] == "removed"
    assert summarise(found) == "canvas, changed 1, added 1, reordered"


def test_long_values_are_cut() -> None:
    [found] = compare(
        state({"id": "a", "type": "text", "text": ""}),
        state({"id": "a", "type": "text", "text": "x" * 5000}),
    )
    assert len(found["properties"][0]["after"]) < 300

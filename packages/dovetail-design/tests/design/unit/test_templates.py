from __future__ import annotations

from typing import Any

import pytest

from dovetail import ToolError
from dovetail_design.templates import Source, instantiate

BOX = {"x": 0, "y": 0, "width": 100, "height": 40}
ELEMENTS: list[dict[str, Any]] = [
    {"type": "container", "id": "panel", **BOX},
    {"type": "text", "id": "t", "groupId": "panel", "text": "Hi {{name}}", **BOX},
    {"type": "text", "groupId": "loose", "text": "No field", **BOX},
]


def source(**samples: Any) -> Source:
    state = {"name": "T", "width": 10, "height": 10, "elements": ELEMENTS}
    return Source("t", "T", state, samples)


def test_a_copy_has_ids_of_its_own_and_the_same_groups() -> None:
    first, second = (instantiate(source(), {"name": "Ada"}, use_samples=False) for _ in range(2))
    assert not {one["id"] for one in first} & {one["id"] for one in second}
    panel, text, loose = first
    assert text["groupId"] == panel["id"] and loose["groupId"] == "loose"
    assert text["text"] == "Hi Ada"


def test_samples_fill_in_where_they_may() -> None:
    assert instantiate(source(name="Bo"), None, use_samples=False)[1]["text"] == "Hi Bo"
    assert instantiate(source(name="Bo"), {}, use_samples=True)[1]["text"] == "Hi Bo"
    assert instantiate(source(), None, use_samples=False)[1]["text"] == "Hi {{name}}"
    with pytest.raises(ToolError, match="missing: name"):
        instantiate(source(name="Bo"), {}, use_samples=False)
    assert ELEMENTS[1]["text"] == "Hi {{name}}"


def test_data_that_makes_a_bad_element_is_refused() -> None:
    with pytest.raises(ToolError, match="text"):
        instantiate(source(), {"name": "x" * 30_000}, use_samples=False)

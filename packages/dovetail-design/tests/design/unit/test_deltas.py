from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dovetail_design.deltas import apply_delta, find_delta, pack, unpack

_VALUES = st.one_of(st.integers(0, 3), st.text(max_size=3), st.booleans())
_ELEMENTS = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from("abcdef")},
        optional={"x": _VALUES, "fill": _VALUES, "text": _VALUES},
    ),
    unique_by=lambda element: element["id"],
    max_size=6,
)
_STATES = st.builds(
    lambda elements, canvas: {**canvas, "elements": elements},
    _ELEMENTS,
    st.fixed_dictionaries(
        {"width": st.integers(1, 3)}, optional={"name": _VALUES, "connectors": _VALUES}
    ),
)


@given(_STATES, _STATES)
def test_a_delta_leads_from_one_state_to_the_other(before: Any, after: Any) -> None:
    kept = unpack(pack(before))
    reached = apply_delta(before, unpack(pack(find_delta(before, after))))
    assert reached == after
    assert [one["id"] for one in reached["elements"]] == [one["id"] for one in after["elements"]]
    assert before == kept


def test_equal_states_have_an_empty_delta() -> None:
    state = {"width": 1, "elements": [{"id": "a", "x": 1}]}
    assert find_delta(state, state) == {}


def test_a_delta_holds_the_properties_that_changed_and_no_others() -> None:
    picture = {"id": "a", "x": 1, "src": "data:" + "x" * 1000}
    before = {"width": 1, "elements": [picture]}
    after = {"width": 1, "elements": [{**picture, "x": 2}]}
    assert find_delta(before, after) == {"changed": {"a": {"set": {"x": 2}}}}

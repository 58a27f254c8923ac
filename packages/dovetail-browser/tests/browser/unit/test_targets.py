"""Targets, without a page."""

from __future__ import annotations

import pytest

from dovetail import ToolError
from dovetail_browser.element_info import ElementInfo
from dovetail_browser.targets import Target, nearest


def element(name: str, selector: str) -> ElementInfo:
    return ElementInfo("button", "", "button", name, selector, False, True, True, False)


@pytest.mark.parametrize(
    "target",
    [
        Target(),
        Target(selector="a", text="b"),
        Target(name="x"),
        Target(ref="e1", label="x"),
        Target(selector="a", name="x"),
    ],
)
def test_a_target_is_selected_in_exactly_one_way(target: Target) -> None:
    with pytest.raises(ToolError, match="in exactly one way"):
        target.check()


@pytest.mark.parametrize(
    "target", [Target(ref="e1"), Target(role="button", name="x"), Target(role="main")]
)
def test_valid_targets_pass(target: Target) -> None:
    target.check()
    assert target.is_given and target.describe()


def test_the_closest_matches_come_first() -> None:
    elements = [
        element("Cancel", "#cancel"),
        element("Save changes", "#save"),
        element("Delete", "#delete"),
    ]
    assert nearest("Sav changes", elements)[0].name == "Save changes"
    assert nearest("Calnce", elements)[0].name == "Cancel"
    assert nearest("#delte", elements)[0].name == "Delete"
    assert nearest("", elements) == elements
    many = [element(f"Button {number}", f"#b{number}") for number in range(100)]
    assert (
        len(nearest("button 42", many)) == 6 and nearest("button 42", many)[0].name == "Button 42"
    )

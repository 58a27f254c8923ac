"""The whole look at a design."""

from __future__ import annotations

from dovetail_design.findings import CODES, describe
from dovetail_design.findings.finding import Finding
from tests.deep.design.unit.findings.scenery import box, design, text


def test_findings_come_in_the_order_of_the_elements() -> None:
    seen = describe(
        design(
            text("Pale", 10, 10, fill="#eeeeee"),
            box(900, 0, 9, 9),
            text("Odd font", 10, 200, fontFamily="Papyrus"),
        )
    )
    assert [found.code for found in seen.findings] == ["low-contrast", "off-canvas", "missing-font"]
    assert all(found.code in CODES and found.fix for found in seen.findings)


def test_one_can_ask_about_some_elements_only() -> None:
    seen = describe(design(box(900, 0, 9, 9), box(950, 0, 9, 9)))
    assert [found.element_ids for found in seen.about(["e1"])] == [("e1",)]
    assert seen.about([]) == ()


def test_an_empty_design_has_nothing_wrong_with_it() -> None:
    assert describe(design()).findings == ()


def test_the_same_design_gives_the_same_findings() -> None:
    def seen() -> tuple[Finding, ...]:
        return describe(design(text("Pale", 10, 10, fill="#eeeeee"), box(900, 0, 9, 9))).findings

    assert seen() == seen()

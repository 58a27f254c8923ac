"""Fonts that are not there."""

from __future__ import annotations

from tests.deep.design.unit.findings.scenery import look, text


def test_a_missing_family_is_reported_once_with_all_who_ask_for_it() -> None:
    found = look(
        text("One", 10, 10, fontFamily="Papyrus"),
        text("Two", 10, 100, fontFamily="Papyrus"),
        text("Three", 10, 200, fontFamily="Inter"),
    )
    assert [(one.code, one.element_ids) for one in found] == [("missing-font", ("e0", "e1"))]
    assert "'Papyrus' is missing; 'Inter' is used instead" in found[0].message

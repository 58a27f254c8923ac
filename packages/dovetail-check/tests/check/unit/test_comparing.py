"""Comparing two reports."""

from __future__ import annotations

import pytest
from msgspec import structs

from dovetail_check.comparing import compare_reports
from dovetail_check.report import RowFinding
from dovetail_check.verdicts import Observation, Verdict
from tests.check.unit.made_reports import CRASH, STDIO, make_report, row

FAIL, WARN, PASS, UNOBSERVED = Verdict.FAIL, Verdict.WARN, Verdict.PASS, Verdict.NOT_OBSERVED


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (PASS, FAIL, "worse"),
        (PASS, UNOBSERVED, "worse"),
        (UNOBSERVED, WARN, "worse"),
        (FAIL, PASS, "better"),
        (FAIL, UNOBSERVED, "better"),
        (UNOBSERVED, PASS, "better"),
        (UNOBSERVED, Verdict.NOT_APPLICABLE, "other"),
        (UNOBSERVED, Verdict.INFO, "other"),
    ],
)
def test_a_change_is_worse_better_or_other(old: Verdict, new: Verdict, kind: str) -> None:
    found = compare_reports(make_report(row("a", old)), make_report(row("a", new)))
    assert {name: len(getattr(found, name)) for name in ("worse", "better", "other")} == {
        "worse": 0,
        "better": 0,
        "other": 0,
        kind: 1,
    }


def test_equal_reports_have_no_differences() -> None:
    found = compare_reports(make_report(), make_report(date="another", seconds=9.0))
    assert (found.worse, found.better, found.other, found.notes) == ((), (), (), ())


def test_a_finding_in_more_sessions_is_worse() -> None:
    failing = row("a", FAIL, Observation.VIOLATED, text="x")
    more = structs.replace(failing, findings=(*failing.findings, RowFinding(STDIO, FAIL)))
    [change] = compare_reports(make_report(failing), make_report(more)).worse
    assert (change.new, change.text) == ("fail in more sessions", STDIO)


def test_a_regression_has_the_text_of_the_finding() -> None:
    new = make_report(row("a", FAIL, Observation.VIOLATED, text="two results"))
    [change] = compare_reports(make_report(row("a", PASS)), new).worse
    assert (change.old, change.new, change.text) == ("pass", "fail", "two results")


def test_added_and_removed_requirements_and_other_options_are_reported() -> None:
    old = make_report(row("a", FAIL))
    new = make_report(row("b", PASS), transports=("http",), crashes=(CRASH,))
    found = compare_reports(old, new)
    assert [(change.old, change.new) for change in (*found.better, *found.other, *found.worse)] == [
        ("fail", "not tested"),
        ("not tested", "pass"),
    ]
    assert found.notes == ("transports: http, stdio -> http", "crashes: 0 -> 1")

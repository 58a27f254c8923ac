"""Two reports side by side."""

from __future__ import annotations

import pytest
from msgspec import structs

from dovetail_check.comparing import compare_reports
from dovetail_check.report import RowFinding
from dovetail_check.verdicts import Observation, Verdict
from tests.check.unit.made_reports import DEATH, STDIO, make_report, row

FAIL, WARN, PASS, UNSEEN = Verdict.FAIL, Verdict.WARN, Verdict.PASS, Verdict.NOT_OBSERVED


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (PASS, FAIL, "worse"),
        (PASS, UNSEEN, "worse"),
        (UNSEEN, WARN, "worse"),
        (FAIL, PASS, "better"),
        (FAIL, UNSEEN, "better"),
        (UNSEEN, PASS, "better"),
        (UNSEEN, Verdict.NOT_APPLICABLE, "other"),
        (UNSEEN, Verdict.INFO, "other"),
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


def test_equal_reports_differ_in_nothing() -> None:
    found = compare_reports(make_report(), make_report(date="another", seconds=9.0))
    assert (found.worse, found.better, found.other, found.notes) == ((), (), (), ())


def test_a_row_broken_in_more_places_is_worse() -> None:
    broken = row("a", FAIL, Observation.BROKEN, text="x")
    more = structs.replace(broken, findings=(*broken.findings, RowFinding(STDIO, FAIL)))
    [change] = compare_reports(make_report(broken), make_report(more)).worse
    assert (change.new, change.text) == ("fail in more places", STDIO)


def test_what_is_broken_now_is_told() -> None:
    new = make_report(row("a", FAIL, Observation.BROKEN, text="two results"))
    [change] = compare_reports(make_report(row("a", PASS)), new).worse
    assert (change.old, change.new, change.text) == ("pass", "fail", "two results")


def test_rows_that_come_and_go_and_other_circumstances_are_told() -> None:
    old = make_report(row("a", FAIL))
    new = make_report(row("b", PASS), transports=("http",), crashes=(DEATH,))
    found = compare_reports(old, new)
    assert [(change.old, change.new) for change in (*found.better, *found.other, *found.worse)] == [
        ("fail", "no row"),
        ("no row", "pass"),
    ]
    assert found.notes == ("transports: http, stdio -> http", "deaths: 0 -> 1")

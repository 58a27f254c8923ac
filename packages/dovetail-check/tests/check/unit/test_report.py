"""What a report can be asked, and that it survives being written and read."""

from __future__ import annotations

import pytest
from msgspec import structs

from dovetail.errors import UsageError
from dovetail_check.report import count_coverage, read_report
from dovetail_check.reports import json_form
from dovetail_check.verdicts import Observation, Verdict
from tests.check.unit.made_reports import DEATH, ROWS, make_report, row


def test_findings_are_counted_at_the_level_that_was_chosen() -> None:
    report = make_report()
    assert [report.findings(level) for level in ("must", "should", "never")] == [1, 2, 0]


def test_what_a_baseline_knows_is_no_finding() -> None:
    accepted = [structs.replace(one, accepted=one.verdict is Verdict.FAIL) for one in ROWS]
    report = make_report(*accepted)
    assert report.findings("must") == 0
    assert [one.id for one in report.accepted] == ["ping.empty-result"]


def test_a_death_in_conversation_is_a_finding_and_one_at_an_offer_is_not() -> None:
    clean = row("base.jsonrpc.valid", Verdict.PASS, Observation.KEPT)
    assert make_report(clean, crashes=(DEATH,)).findings("must") == 1
    assert make_report(clean, crashes=(DEATH,)).findings("never") == 0
    survey = structs.replace(DEATH, counts=False)
    assert make_report(clean, crashes=(survey,)).findings("must") == 0


def test_coverage_adds_up_and_leaves_out_what_nobody_can_see() -> None:
    must, should = count_coverage(ROWS)
    assert (must.rows, must.outside, must.applies) == (7, 5, 4)
    assert must.passed + must.broken + must.info + must.attested + must.not_observed == must.applies
    assert (should.rows, should.broken, should.passed) == (1, 1, 0)


def test_a_row_that_needs_a_fixture_counts_where_traffic_showed_it() -> None:
    [must, _] = count_coverage(
        [
            row("a", Verdict.PASS, Observation.KEPT, testable="only-with-fixture"),
            row("b", Verdict.NOT_OBSERVED, testable="only-with-fixture"),
        ]
    )
    assert (must.rows, must.outside, must.applies, must.passed) == (2, 1, 1, 1)


def test_a_report_is_read_back_as_it_was_written() -> None:
    report = make_report(crashes=(DEATH,))
    assert read_report(json_form.render(report).encode(), "r.json") == report


@pytest.mark.parametrize("data", [b"", b"[]", b'{"format": 1}', b"\xff"])
def test_what_is_no_report_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(UsageError, match=r"r\.json is no report"):
        read_report(data, "r.json")


def test_a_report_of_another_format_is_refused() -> None:
    data = json_form.render(make_report(format=99)).encode()
    with pytest.raises(UsageError, match="has format 99; this version reads 1"):
        read_report(data, "r.json")

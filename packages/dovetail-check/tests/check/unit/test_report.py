"""Counts of a report, and its JSON round trip."""

from __future__ import annotations

import pytest
from msgspec import structs

from dovetail.errors import UsageError
from dovetail_check.report import count_coverage, read_report
from dovetail_check.reports import json_form
from dovetail_check.verdicts import Observation, Verdict
from tests.check.unit.made_reports import CRASH, ROWS, make_report, row


def test_findings_are_counted_at_the_level_that_was_chosen() -> None:
    report = make_report()
    assert [report.findings(level) for level in ("must", "should", "never")] == [1, 2, 0]


def test_accepted_findings_are_not_counted() -> None:
    accepted = [structs.replace(one, accepted=one.verdict is Verdict.FAIL) for one in ROWS]
    report = make_report(*accepted)
    assert report.findings("must") == 0
    assert [one.id for one in report.accepted] == ["ping.empty-result"]


def test_a_crash_is_a_finding_except_during_negotiation() -> None:
    clean = row("base.jsonrpc.valid", Verdict.PASS, Observation.SATISFIED)
    assert make_report(clean, crashes=(CRASH,)).findings("must") == 1
    assert make_report(clean, crashes=(CRASH,)).findings("never") == 0
    survey = structs.replace(CRASH, counts=False)
    assert make_report(clean, crashes=(survey,)).findings("must") == 0


def test_coverage_adds_up_without_untestable_requirements() -> None:
    must, should, _ = count_coverage(ROWS)
    assert (must.rows, must.testable, must.applicable) == (7, 5, 4)
    assert (
        must.passed + must.violated + must.info + must.attested + must.not_observed
        == must.applicable
    )
    assert (should.rows, should.violated, should.passed) == (1, 1, 0)


def test_a_requirement_that_needs_a_fixture_counts_if_it_was_observed() -> None:
    [must, _, _] = count_coverage(
        [
            row("a", Verdict.PASS, Observation.SATISFIED, testable="only-with-fixture"),
            row("b", Verdict.NOT_TESTABLE, testable="only-with-fixture"),
        ]
    )
    assert (must.rows, must.testable, must.applicable, must.passed) == (2, 1, 1, 1)


def test_a_report_is_read_back_as_it_was_written() -> None:
    report = make_report(crashes=(CRASH,))
    assert read_report(json_form.render(report).encode(), "r.json") == report


@pytest.mark.parametrize("data", [b"", b"[]", b'{"format": 1}', b"\xff"])
def test_an_invalid_report_is_rejected_with_its_file_name(data: bytes) -> None:
    with pytest.raises(UsageError, match=r"r\.json is not a report"):
        read_report(data, "r.json")


def test_a_report_of_another_format_is_rejected() -> None:
    data = json_form.render(make_report(format=99)).encode()
    with pytest.raises(UsageError, match="has report format 99; this version reads format 1"):
        read_report(data, "r.json")

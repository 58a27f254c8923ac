"""Accepted findings."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from dovetail.errors import UsageError
from dovetail_check.baseline import apply_baseline, read_baseline, write_baseline
from dovetail_check.report import RowFinding
from dovetail_check.verdicts import Observation, Verdict
from tests.check.unit.made_reports import CRASH, STDIO, make_report, row


def test_current_findings_are_accepted_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    report = make_report(crashes=(CRASH,))
    write_baseline(report, path)
    again = apply_baseline(report, read_baseline(path))
    assert again.findings("should") == 0
    assert [one.id for one in again.accepted] == ["ping.empty-result", "tools.name.charset"]
    assert again.stale == ()


def test_a_finding_in_another_session_is_new(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    failing = row("ping.empty-result", Verdict.FAIL, Observation.VIOLATED, text="x")
    write_baseline(make_report(failing), path)
    more = (*failing.findings, RowFinding(STDIO, Verdict.FAIL))
    elsewhere = make_report(structs.replace(failing, findings=more))
    assert apply_baseline(elsewhere, read_baseline(path)).findings("must") == 1


def test_a_finding_that_no_longer_occurs_is_stale(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    write_baseline(make_report(crashes=(CRASH,)), path)
    fixed = make_report(row("ping.empty-result", Verdict.PASS, Observation.SATISFIED))
    # tools.name.charset was not tested this time, so it is not stale.
    assert apply_baseline(fixed, read_baseline(path)).stale == ("ping.empty-result", CRASH.id)


def test_reasons_survive_a_new_baseline(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text(
        '{"accepted": [{"id": "ping.empty-result", "sessions": [], "reason": "next release"}]}'
    )
    write_baseline(make_report(), path)
    assert {entry.id: entry.reason for entry in read_baseline(path).accepted} == {
        "ping.empty-result": "next release",
        "tools.name.charset": "",
    }


@pytest.mark.parametrize(("text", "expected"), [("[]", "is not a baseline"), ('{"x": 1}', "`x`")])
def test_another_file_is_rejected(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=expected):
        read_baseline(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_baseline(tmp_path / "none.json")

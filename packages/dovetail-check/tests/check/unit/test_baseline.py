"""Accepted findings."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from dovetail.errors import UsageError
from dovetail_check.baseline import apply_baseline, read_baseline, write_baseline
from dovetail_check.report import RowFinding
from dovetail_check.verdicts import Observation, Verdict
from tests.check.unit.made_reports import DEATH, STDIO, make_report, row


def test_what_is_broken_now_is_accepted_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    report = make_report(crashes=(DEATH,))
    write_baseline(report, path)
    again = apply_baseline(report, read_baseline(path))
    assert again.findings("should") == 0
    assert [one.id for one in again.accepted] == ["ping.empty-result", "tools.name.charset"]
    assert again.stale == ()


def test_the_same_row_broken_elsewhere_is_new(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    broken = row("ping.empty-result", Verdict.FAIL, Observation.BROKEN, text="x")
    write_baseline(make_report(broken), path)
    more = (*broken.findings, RowFinding(STDIO, Verdict.FAIL))
    elsewhere = make_report(structs.replace(broken, findings=more))
    assert apply_baseline(elsewhere, read_baseline(path)).findings("must") == 1


def test_what_is_no_longer_found_is_stale(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    write_baseline(make_report(crashes=(DEATH,)), path)
    mended = make_report(row("ping.empty-result", Verdict.PASS, Observation.KEPT))
    # tools.name.charset was not judged at all this time, so nothing is known of it.
    assert apply_baseline(mended, read_baseline(path)).stale == ("ping.empty-result", DEATH.id)


def test_reasons_survive_a_new_baseline(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text(
        '{"accepted": [{"id": "ping.empty-result", "sittings": [], "reason": "next release"}]}'
    )
    write_baseline(make_report(), path)
    assert {entry.id: entry.reason for entry in read_baseline(path).accepted} == {
        "ping.empty-result": "next release",
        "tools.name.charset": "",
    }


@pytest.mark.parametrize(("text", "said"), [("[]", "is no baseline"), ('{"x": 1}', "`x`")])
def test_another_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_baseline(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_baseline(tmp_path / "none.json")

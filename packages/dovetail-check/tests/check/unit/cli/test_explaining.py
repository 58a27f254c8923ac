"""`explain` and `rules`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.app import app
from dovetail_check.inventory import load
from dovetail_check.reports import json_form
from dovetail_check.rulebook import rules
from tests.check.unit.made_reports import make_report


def dovetail(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), obj=[])


def test_explain_describes_a_requirement() -> None:
    result = dovetail("explain", "ping.empty-result")
    assert result.exit_code == 0
    for text in (
        "MUST (keyword)",
        "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping",
        "2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25",
        "The result has no members",
        "none known",
        "fail",
        "Return an empty object from `ping`.",
        '{"jsonrpc": "2.0", "id": 1, "result": {}}',
    ):
        assert text in result.stdout


def test_explain_shows_the_findings_of_a_report(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json_form.render(make_report()), "utf-8")
    result = dovetail("explain", "ping.empty-result", str(path))
    assert result.exit_code == 0, result.output
    assert "FAIL" in result.stdout
    assert "HTTP 200" in result.stdout
    assert "content-type: application/json" in result.stdout
    assert "\x1b" not in result.stdout
    other = dovetail("explain", "ping.removed", str(path))
    assert "does not include this requirement" in other.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ping.empty-reslut",), "did you mean ping.empty-result"),
        (("ping.removed", "none.json"), "none.json cannot be read"),
        (("ping.removed", "--replay", "none"), "none has no evidence"),
    ],
)
def test_wrong_arguments_are_rejected(words: tuple[str, ...], expected: str) -> None:
    result = dovetail("explain", *words)
    assert result.exit_code == 2
    assert expected in result.stderr


def test_rules_lists_every_requirement_with_a_reason_if_there_is_no_rule() -> None:
    listed = json.loads(dovetail("rules", "--json").stdout)
    assert [row["id"] for row in listed] == [row.id for row in load()]
    for row in listed:
        assert {"id", "level", "revisions", "testable", "judged", "reason"} <= row.keys()
        assert row["judged"] == (row["id"] in rules)
        assert bool(row["reason"]) != row["judged"]


def test_rules_can_be_filtered() -> None:
    listed = json.loads(
        dovetail("rules", "--json", "--level", "should", "--revision", "latest").stdout
    )
    assert listed
    assert all(row["level"] in ("SHOULD", "SHOULD NOT", "RECOMMENDED") for row in listed)
    newest = max(date for row in load() for date in row.versions)
    assert all(newest in row["revisions"] for row in listed)
    assert dovetail("rules", "--revision", "2000-01-01").exit_code == 2


def test_the_table_ends_with_the_counts() -> None:
    result = dovetail("rules", "--level", "must")
    assert result.exit_code == 0
    must = [row for row in load() if row.strength.value == "must"]
    assert f"MUST: {len(must)} requirements, " in result.stdout
    assert "SHOULD:" not in result.stdout

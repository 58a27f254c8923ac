"""Every format, rendered from a report with hostile text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from dovetail.errors import UsageError
from dovetail_check.report import Report
from dovetail_check.reports import FORMATS, badge, format_for, json_form, render
from dovetail_check.verdicts import Observation, Verdict
from tests.check.unit.made_reports import (
    CRASH,
    DIFFERENCE,
    FAULT,
    NASTY,
    ROWS,
    make_report,
    row,
)
from tools.report_schema import COPIES, schema_text

CLEAN = make_report(row("base.jsonrpc.valid", Verdict.PASS, Observation.SATISFIED))


@pytest.fixture
def full() -> Report:
    return make_report(crashes=(CRASH,), differences=(DIFFERENCE,), faults=(FAULT,))


def test_the_file_extension_selects_the_format() -> None:
    assert {format_for(name) for name in ("a.md", "b/COMPLIANCE.MD")} == {"md"}
    assert format_for("x.sarif.json") == format_for("x.sarif") == "sarif"
    assert format_for("v1.2.json") == "json"
    assert {format_for("a.txt"), format_for("a.html"), format_for("a.xml")} == {
        "text",
        "html",
        "junit",
    }
    with pytest.raises(UsageError, match=r"-o a\.pdf: unknown file extension"):
        format_for("a.pdf")


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_shows_findings_crashes_differences_and_internal_errors(
    format: str, full: Report
) -> None:
    text = render(full, format)
    assert "ping.empty-result" in text
    assert "errors/truncated" in text
    assert "KeyError" in text
    if format not in ("sarif", "junit"):
        assert "tools: add" in text.replace("%3A", ":")


@pytest.mark.parametrize("format", ["text", "md", "html", "github"])
def test_coverage_is_always_shown(format: str) -> None:
    text = render(make_report(), format)
    numbers = re.sub(r"<[^>]+>", " ", text)
    assert "not observed" in numbers
    assert "MUST" in numbers


# -- text --------------------------------------------------------------------------------------


def test_text_shows_observations_and_frames_below_the_requirement() -> None:
    text = render(make_report(), "text")
    assert text.index("FAIL  ping.empty-result") < text.index("WARN  tools.name.charset")
    assert "observed on http 2025-11-25" in text
    assert '→ #4 POST /mcp {"jsonrpc"' in text
    assert '← #5 HTTP 200 {"jsonrpc"' in text
    assert text.splitlines()[-2] == "✗ 1 failed, 1 warning; 1.5 s"


def test_text_escapes_control_characters() -> None:
    text = render(make_report(), "text")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\x1b[31m" in text


def test_text_of_a_clean_server_ends_with_a_tick() -> None:
    assert render(CLEAN, "text").splitlines()[-1] == "✓ 0 failed, 0 warnings; 1.5 s"


def test_text_has_no_trailing_whitespace(full: Report) -> None:
    assert [line for line in render(full, "text").splitlines() if line != line.rstrip()] == []


# -- json --------------------------------------------------------------------------------------


def test_json_matches_the_published_schema(full: Report) -> None:
    schema = json.loads(COPIES[0].read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    whole = json.loads(render(full, "json"))
    assert list(validator.iter_errors(whole)) == []
    whole["rows"][0]["verdict"] = "splendid"
    assert [error.validator for error in validator.iter_errors(whole)] == ["enum"]


@pytest.mark.parametrize("path", COPIES, ids=lambda path: path.parent.name)
def test_the_published_schema_is_up_to_date(path: Path) -> None:
    assert path.read_text("utf-8") == schema_text(), "python -m tools.report_schema --write"


def test_json_is_the_same_each_time(full: Report) -> None:
    assert json_form.render(full) == json_form.render(full)


# -- markdown ----------------------------------------------------------------------------------


def test_a_table_row_has_verdict_level_clause_evidence_and_date() -> None:
    lines = render(make_report(), "md").splitlines()
    [line] = [line for line in lines if line.startswith("| `base.jsonrpc.valid`")]
    cells = [cell.strip() for cell in line.strip("|").split(" | ")]
    assert cells == [
        "`base.jsonrpc.valid`",
        "pass",
        "MUST",
        "[basic/index#messages](https://modelcontextprotocol.io/specification/2025-11-25/basic"
        "#messages)",
        "what base.jsonrpc.valid asks",
        "http 2025-11-25: #4, #5",
        "2026-11-15",
    ]


def test_every_requirement_is_in_exactly_one_table() -> None:
    text = render(make_report(), "md")
    for one in ROWS:
        assert text.count(f"| `{one.id}` |") == 1
    assert "## Attested by the author" in text


def test_text_of_the_server_is_escaped() -> None:
    text = render(make_report(), "md")
    assert NASTY not in text
    assert "\\<img src=x onerror=" in text


# -- sarif -------------------------------------------------------------------------------------


def test_sarif_has_every_rule_and_a_result_for_each_finding() -> None:
    [run] = json.loads(render(make_report(), "sarif"))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [one.id for one in ROWS]
    assert [(result["ruleId"], result["level"]) for result in run["results"]] == [
        ("ping.empty-result", "error"),
        ("tools.name.charset", "warning"),
        ("base.error.parse-error", "note"),
    ]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert result["message"]["text"]
        assert result["partialFingerprints"]


def test_sarif_of_a_clean_server_has_rules_and_no_results() -> None:
    [run] = json.loads(render(CLEAN, "sarif"))["runs"]
    assert run["tool"]["driver"]["rules"]
    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is True


def test_sarif_reports_an_internal_error_as_a_failed_run(full: Report) -> None:
    [run] = json.loads(render(full, "sarif"))["runs"]
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "KeyError" in invocation["toolExecutionNotifications"][0]["message"]["text"]


# -- junit -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fail_on", "count"), [("must", 1), ("should", 2), ("never", 0)])
def test_junit_failures_follow_fail_on(fail_on: str, count: int) -> None:
    text = render(make_report(), "junit", fail_on)  # type: ignore[arg-type]
    suites = ElementTree.fromstring(text.encode())
    assert len(suites.findall(".//failure")) == int(suites.attrib["failures"]) == count
    assert int(suites.attrib["tests"]) == len(ROWS)
    assert len(suites.findall(".//skipped")) == int(suites.attrib["skipped"]) == 4


def test_junit_has_internal_errors_as_errors_and_crashes_as_failures(full: Report) -> None:
    suites = ElementTree.fromstring(render(full, "junit").encode())
    assert suites.attrib["errors"] == "1"
    [crash] = suites.findall(".//testcase[@classname='mcp.crashes']/failure")
    assert crash.attrib["message"] == CRASH.text


# -- annotations -------------------------------------------------------------------------------


def test_annotations_are_one_line_each_and_escaped() -> None:
    broken = row("a.b", Verdict.FAIL, Observation.VIOLATED, text="100%\nof, it: ::error::x")
    lines = render(make_report(broken), "github").splitlines()
    assert lines[0].startswith("::error title=a.b (MUST)::")
    assert "100%25%0Aof, it: ::error::x" in lines[0]
    assert [line.split(" ")[0] for line in lines] == ["::error", "::notice"]


# -- badge -------------------------------------------------------------------------------------


def test_a_badge_has_counts() -> None:
    text = badge.render(make_report())
    ElementTree.fromstring(text)
    assert "MCP 2026-07-28: 1 failed, 1 warning, 3 tested" in text
    colours = re.compile(r'fill="(#[0-9a-f]{6})"')
    assert colours.findall(text) != colours.findall(badge.render(CLEAN))

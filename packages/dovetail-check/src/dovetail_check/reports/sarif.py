"""SARIF 2.1.0. Passed requirements are rules too, so that code scanning closes their alerts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dovetail_check.report import FailOn, Report, ReportRow
from dovetail_check.reports.fixes import find_fix
from dovetail_check.reports.json_form import format_json
from dovetail_check.reports.phrases import join_sessions, level_words, untested_texts
from dovetail_check.verdicts import Observation, Verdict

__all__ = ["render"]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Verdict.FAIL: "error", Verdict.WARN: "warning", Verdict.INFO: "note"}
_BY_STRENGTH = {"must": "error", "should": "warning", "may": "note"}


def render(report: Report, fail_on: FailOn = "must") -> str:
    """Return one run; internal errors of the checker become notifications, not results."""
    driver = {
        "name": "dovetail check",
        "version": report.tool.version,
        "informationUri": "https://modelcontextprotocol.io/specification",
        "rules": [_rule(row) for row in report.rows],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": not report.faults,
                "endTimeUtc": f"{report.date[:19]}Z",
                "toolExecutionNotifications": list(_notifications(report)),
            }
        ],
        "automationDetails": {"id": f"mcp/{'+'.join(report.transports)}/"},
        "results": list(_results(report)),
        "columnKind": "unicodeCodePoints",
    }
    whole = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return format_json(whole)


def _rule(row: ReportRow) -> dict[str, Any]:
    fix = find_fix(row.id, row.fixed_by)
    example = f" Example: {fix.example}" if fix.example else ""
    about = f"{level_words(row)}, {row.clause}. {fix.text}{example}"
    return {
        "id": row.id,
        "shortDescription": {"text": row.paraphrase},
        "helpUri": row.url,
        "help": {"text": f"{about} Details: `dovetail explain {row.id}`."},
        "defaultConfiguration": {"level": _BY_STRENGTH[row.strength.value]},
        "properties": {
            "tags": ["mcp", row.area, row.level],
            "verdict": row.verdict.value,
            "revisions": row.revisions,
        },
    }


def _results(report: Report) -> Iterator[dict[str, Any]]:
    location = _location(report)
    for index, row in enumerate(report.rows):
        if row.verdict not in _LEVELS:
            continue
        for text, places in (
            row.notes_by_text(Observation.VIOLATED) or row.notes_by_text(Observation.AMBIGUOUS)
        ).items():
            sessions = join_sessions([session for session, _ in places])
            result: dict[str, Any] = {
                "ruleId": row.id,
                "ruleIndex": index,
                "level": _LEVELS[row.verdict],
                "message": {
                    "text": f"{row.paraphrase}. Observed on {sessions}: {text or 'violated'}"
                },
                "locations": [location],
                "partialFingerprints": {"row/v1": f"{row.id}:{text}"[:200]},
                "properties": {"frames": places[0][1].frames},
            }
            if row.accepted:
                result["suppressions"] = [{"kind": "external", "status": "accepted"}]
            yield result


def _notifications(report: Report) -> Iterator[dict[str, Any]]:
    for fault in report.faults:
        yield {"level": "error", "message": {"text": f"{fault.where}: {fault.error}"}}
    for text in untested_texts(report):
        yield {"level": "warning", "message": {"text": text}}
    for crash in report.crashes:
        text = f"{crash.session}, during {crash.probe}: {crash.text}"
        yield {"level": "warning", "message": {"text": text}}


def _location(report: Report) -> dict[str, Any]:
    """The file of the server, if the target names one; SARIF requires a location."""
    words = [word for target in report.targets for word in target.split()]
    named = [word for word in words if not Path(word).is_absolute() and Path(word).is_file()]
    uri = Path(named[-1]).as_posix() if named else "mcp-server"
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}},
        "logicalLocations": [{"name": report.server or uri, "kind": "module"}],
    }

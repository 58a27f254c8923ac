"""JUnit XML: one test case per requirement, one suite per area."""

from __future__ import annotations

import re
from itertools import groupby
from xml.etree import ElementTree

from dovetail_check.report import FAIL_ON, FailOn, Report, ReportRow
from dovetail_check.reports.fixes import find_fix
from dovetail_check.reports.phrases import join_sessions, observed_texts, untested_texts
from dovetail_check.verdicts import Observation, Verdict

__all__ = ["render"]

# Characters that XML 1.0 cannot represent.
_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UNDECIDED = (Verdict.NOT_OBSERVED, Verdict.NOT_APPLICABLE, Verdict.NOT_TESTABLE, Verdict.ATTESTED)


def render(report: Report, fail_on: FailOn = "must") -> str:
    """Return the XML; `fail_on` selects failures, undecided requirements are skipped."""
    suites = ElementTree.Element("testsuites", name="MCP compliance")
    for area, rows in groupby(
        sorted(report.rows, key=lambda row: row.area), key=lambda row: row.area
    ):
        _add_suite(suites, report, area, list(rows), fail_on)
    if report.crashes or report.untested or report.faults:
        _add_events(suites, report, fail_on)
    _add_counts(suites)
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _add_suite(
    suites: ElementTree.Element, report: Report, area: str, rows: list[ReportRow], fail_on: FailOn
) -> None:
    suite = ElementTree.SubElement(suites, "testsuite", name=area, timestamp=report.date[:19])
    for row in rows:
        name = f"{row.id} ({row.level})"
        case = ElementTree.SubElement(suite, "testcase", classname=f"mcp.{row.area}", name=name)
        seen = "; ".join(observed_texts(row))
        if row.verdict in FAIL_ON[fail_on] and not row.accepted:
            failure = ElementTree.SubElement(case, "failure", message=_legal(seen))
            failure.set("type", row.verdict.value)
            failure.text = _legal(_describe(row))
        elif row.verdict in _UNDECIDED:
            message = f"{row.verdict.value}: {seen}" if seen else row.verdict.value
            ElementTree.SubElement(case, "skipped", message=_legal(message))
        elif row.verdict is not Verdict.PASS:
            accepted = ", accepted by the baseline" if row.accepted else ""
            out = ElementTree.SubElement(case, "system-out")
            out.text = _legal(f"{row.verdict.value}{accepted}\n{_describe(row)}")


def _describe(row: ReportRow) -> str:
    notes = row.notes_by_text(Observation.VIOLATED) or row.notes_by_text(Observation.AMBIGUOUS)
    lines = [
        f"{text} [{join_sessions([session for session, _ in places])}]"
        for text, places in notes.items()
    ]
    fix = find_fix(row.id, row.fixed_by)
    fixes = [f"Fix: {fix.text}", f"Example: {fix.example}" if fix.example else ""]
    is_violated = row.verdict in (Verdict.FAIL, Verdict.WARN)
    return "\n".join([row.paraphrase, row.url, *lines, *filter(None, fixes if is_violated else ())])


def _add_events(suites: ElementTree.Element, report: Report, fail_on: FailOn) -> None:
    suite = ElementTree.SubElement(suites, "testsuite", name="check")
    for crash in report.crashes:
        case = ElementTree.SubElement(suite, "testcase", classname="mcp.crashes", name=crash.id)
        if crash.counts and not crash.accepted and fail_on != "never":
            failure = ElementTree.SubElement(case, "failure", message=_legal(crash.text))
            failure.text = _legal(crash.stderr_tail)
    for text in untested_texts(report) if fail_on != "never" else ():
        case = ElementTree.SubElement(suite, "testcase", classname="mcp.untested", name=text[:80])
        ElementTree.SubElement(case, "failure", message=_legal(text))
    for fault in report.faults:
        case = ElementTree.SubElement(suite, "testcase", classname="mcp.faults", name=fault.where)
        error = ElementTree.SubElement(case, "error", message=_legal(fault.error))
        error.text = _legal(fault.trace)


def _add_counts(suites: ElementTree.Element) -> None:
    """Set the counts that readers of the format expect."""
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    for element in (suites, *suites):
        element.set("tests", str(len(list(element.iter("testcase")))))
        for name, child in kinds.items():
            element.set(name, str(len(list(element.iter(child)))))


def _legal(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)

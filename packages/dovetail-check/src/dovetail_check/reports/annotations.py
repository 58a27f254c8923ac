"""GitHub Actions annotations: one workflow command per finding."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.report import FailOn, Report, ReportRow
from dovetail_check.reports.fixes import find_fix
from dovetail_check.reports.phrases import (
    coverage_sentence,
    headline,
    level_words,
    observed_texts,
    summary_line,
    untested_texts,
)
from dovetail_check.verdicts import Verdict

__all__ = ["render"]

_VIOLATED = (Verdict.FAIL, Verdict.WARN)
_COMMANDS = {Verdict.FAIL: "error", Verdict.WARN: "warning", Verdict.INFO: "notice"}


def render(report: Report, fail_on: FailOn = "must") -> str:
    """Return workflow commands for all findings, and a notice with the counts."""
    return "\n".join(_commands(report)) + "\n"


def _commands(report: Report) -> Iterator[str]:
    for verdict, command in _COMMANDS.items():
        for row in report.with_verdict(verdict):
            seen = "; ".join(observed_texts(row)[:3])
            text = f"{row.paraphrase}. Observed: {seen}. {_fix(row)}Clause: {row.url}"
            yield _command(command, f"{row.id} ({level_words(row)})", text)
    for crash in report.crashes:
        command = "error" if crash.counts and not crash.accepted else "notice"
        what = f"{'flood' if crash.is_flood else 'crashed'} during {crash.probe}"
        yield _command(command, what, f"{crash.session}: {crash.text}")
    for text in untested_texts(report):
        yield _command("error", "not tested", text)
    for difference in report.differences:
        sides = "; ".join(f"{transport}: {text}" for transport, text in difference.sides.items())
        yield _command("notice", f"transports differ: {difference.what}", sides)
    if report.needs_auth:
        yield _command("error", "credentials required", report.needs_auth)
    for fault in report.faults:
        yield _command("error", f"internal error of the checker: {fault.where}", fault.error)
    sentences = [summary_line(report), *map(coverage_sentence, report.coverage)]
    yield _command("notice", "MCP compliance", f"{headline(report)} {'. '.join(sentences)}")


def _fix(row: ReportRow) -> str:
    """How to fix a violation; an ambiguous requirement needs no fix."""
    return f"Fix: {find_fix(row.id, row.fixed_by).text} " if row.verdict in _VIOLATED else ""


def _command(name: str, title: str, text: str) -> str:
    in_title = _escape(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{name} title={in_title}::{_escape(text)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

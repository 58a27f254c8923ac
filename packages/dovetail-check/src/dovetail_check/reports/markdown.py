"""Markdown: COMPLIANCE.md. `dovetail verify` reads its front matter (documents.py)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from dovetail_check.documents import Claims, write_front_matter
from dovetail_check.report import FailOn, Report, ReportRow
from dovetail_check.reports.fixes import find_fix
from dovetail_check.reports.phrases import (
    FIXED_BY,
    coverage_sentence,
    headline,
    join_sessions,
    level_words,
    observed_texts,
    summary_line,
    untested_texts,
)
from dovetail_check.verdicts import Observation, Verdict

__all__ = ["render"]

_JUDGED = (Verdict.FAIL, Verdict.WARN, Verdict.INFO, Verdict.PASS)
_FINDINGS = (Verdict.FAIL, Verdict.WARN)
_MAX_FRAMES = 3


def render(report: Report, fail_on: FailOn = "must") -> str:
    """Return the document."""
    parts = [
        write_front_matter(Claims.of(report)),
        *_opening(report),
        *_findings(report),
        *_areas(report),
        *_attested(report),
        *_untested(report),
        *_differences(report),
        *_faults(report),
        _how_to_read(),
    ]
    return "\n\n".join(parts) + "\n"


def _opening(report: Report) -> Iterator[str]:
    yield f"# MCP compliance of {_plain(report.server or 'a server')}"
    yield (
        f"Results of `dovetail check` on {report.date[:10]}, based on the specification "
        f"({report.tool.specification}). This file is generated."
    )
    yield "\n".join(
        [
            "| | |",
            "|---|---|",
            f"| Server | {_plain(report.server)} |",
            f"| Target | {', '.join(_code(target) for target in report.targets)} |",
            f"| Transports | {', '.join(report.transports)} |",
            f"| Eras | {', '.join(report.eras) or 'none'} |",
            f"| Revisions supported | {', '.join(report.revisions) or 'none'} |",
            f"| Revisions offered | {', '.join(report.offered)} |",
            f"| Tools called | {_plain(report.calls)} |",
            f"| Checked by | dovetail {report.tool.version}, inventory `{report.tool.inventory}` |",
            f"| Date | {report.date} |",
        ]
    )
    yield "## Summary"
    yield f"**{headline(report)}**"
    if report.needs_auth:
        yield f"{_plain(report.needs_auth)}. Only unauthenticated access was tested."
    lines = [summary_line(report), *map(coverage_sentence, report.coverage)]
    lines += map(_plain, untested_texts(report))
    yield "\n".join(f"- {line}." for line in lines)


def _findings(report: Report) -> Iterator[str]:
    rows = [row for row in report.rows if row.verdict in _FINDINGS]
    yield "## Findings"
    if not rows and not report.crashes:
        yield "None."
    for row in sorted(rows, key=lambda row: list(FIXED_BY).index(row.fixed_by)):
        accepted = ", accepted by the baseline" if row.accepted else ""
        yield f"### `{row.id}`: {row.verdict.value}{accepted}"
        yield f"{level_words(row)}, [{row.clause}]({row.url}): {_plain(row.paraphrase)}."
        yield f"{FIXED_BY[row.fixed_by]}."
        yield "\n".join(
            f"- {_plain(text)} ({join_sessions([session for session, _ in places])})"
            for text, places in row.notes_by_text(Observation.VIOLATED).items()
        )
        yield from _fix(row)
    for crash in report.crashes:
        yield f"- {crash.session}, during `{crash.probe}`: {_plain(crash.text)}"


def _fix(row: ReportRow) -> Iterator[str]:
    fix = find_fix(row.id, row.fixed_by)
    yield f"Fix: {fix.text}"
    if fix.example:
        yield f"    {fix.example}"


def _areas(report: Report) -> Iterator[str]:
    yield "## Tested requirements"
    for area, rows in _by_area(row for row in report.rows if row.verdict in _JUDGED):
        yield f"### {area[:1].upper()}{area[1:]}"
        yield "\n".join(
            [
                "| id | verdict | level | clause | requirement | evidence | date |",
                "|---|---|---|---|---|---|---|",
                *(_table_row(report, row) for row in rows),
            ]
        )


def _table_row(report: Report, row: ReportRow) -> str:
    cells = (
        f"`{row.id}`",
        row.verdict.value,
        row.level,
        f"[{row.clause}]({row.url})",
        _plain(row.paraphrase),
        _evidence(row),
        report.date[:10],
    )
    return f"| {' | '.join(cells)} |"


def _evidence(row: ReportRow) -> str:
    """The sessions, and the numbers of a few frames."""
    seen = [finding for finding in row.findings if finding.verdict is row.verdict]
    numbers = [n for finding in seen for note in finding.notes for n in note.frames]
    frames = ", ".join(f"#{number}" for number in list(dict.fromkeys(numbers))[:_MAX_FRAMES])
    where = join_sessions([finding.session for finding in seen])
    return f"{where}: {frames}" if frames else where


def _attested(report: Report) -> Iterator[str]:
    rows = [row for row in report.rows if row.verdict is Verdict.ATTESTED]
    if rows:
        yield "## Attested by the author"
        yield "These requirements were not tested; the author states that the server meets them."
        yield _plain_table(rows, "statement")


def _untested(report: Report) -> Iterator[str]:
    titles = {
        Verdict.NOT_OBSERVED: "Not observed",
        Verdict.NOT_APPLICABLE: "Not applicable",
        Verdict.NOT_TESTABLE: "Not testable from outside",
    }
    for verdict, title in titles.items():
        rows = [row for row in report.rows if row.verdict is verdict]
        if rows:
            yield f"## {title} ({len(rows)})"
            yield _plain_table(rows, "reason")


def _plain_table(rows: Iterable[ReportRow], last: str) -> str:
    return "\n".join(
        [
            f"| id | verdict | level | clause | requirement | {last} |",
            "|---|---|---|---|---|---|",
            *(
                f"| `{row.id}` | {row.verdict.value} | {row.level} | [{row.clause}]({row.url}) | "
                f"{_plain(row.paraphrase)} | {_plain('; '.join(observed_texts(row)[:2]))} |"
                for row in rows
            ),
        ]
    )


def _differences(report: Report) -> Iterator[str]:
    if report.differences:
        yield "## Differences between transports"
        lines = []
        for difference in report.differences:
            at = f" at {difference.revision}" if difference.revision else ""
            lines.append(f"- {_plain(difference.what)}{at}")
            lines += [f"  - {side}: {_plain(text)}" for side, text in difference.sides.items()]
        yield "\n".join(lines)


def _faults(report: Report) -> Iterator[str]:
    if report.faults:
        yield "## Internal errors of the checker"
        yield "\n".join(
            f"- {_plain(fault.where)}: {_plain(fault.error)}" for fault in report.faults
        )


def _how_to_read() -> str:
    return (
        "---\n\n"
        "`#n` is the number of a frame in the evidence of this check (`--evidence DIR`). *pass* "
        "means that the server met the requirement each time it was tested. Run `dovetail verify` "
        "with this file and the server to check whether the claims still hold."
    )


def _by_area(rows: Iterable[ReportRow]) -> Iterator[tuple[str, list[ReportRow]]]:
    ordered = sorted(rows, key=lambda row: row.area.lower())
    for area, group in groupby(ordered, key=lambda row: row.area):
        yield area, list(group)


def _plain(text: str) -> str:
    """Escape a text and put it on one line."""
    line = " ".join(text.split())
    for mark in "\\|<>`*_[]":
        line = line.replace(mark, f"\\{mark}")
    return line


def _code(text: str) -> str:
    return f"`{' '.join(text.split()).replace('`', '').replace('|', '')}`"

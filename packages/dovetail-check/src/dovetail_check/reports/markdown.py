"""Markdown: the document COMPLIANCE.md. Its front matter can be verified later (documents.py)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from dovetail_check.documents import Claims, write_front_matter
from dovetail_check.report import FailOn, Report, ReportRow
from dovetail_check.reports.phrases import (
    coverage_sentence,
    join_sessions,
    short_sum,
    what_was_seen,
)
from dovetail_check.verdicts import Observation, Verdict

__all__ = ["render"]

_JUDGED = (Verdict.FAIL, Verdict.WARN, Verdict.INFO, Verdict.PASS)
_BROKEN = (Verdict.FAIL, Verdict.WARN)
_MOST_FRAMES = 3


def render(report: Report, fail_on: FailOn = "must") -> str:
    """The whole document."""
    parts = [
        write_front_matter(Claims.of(report)),
        *_opening(report),
        *_findings(report),
        *_areas(report),
        *_attested(report),
        *_unseen(report),
        *_differences(report),
        *_faults(report),
        _how_to_read(),
    ]
    return "\n\n".join(parts) + "\n"


def _opening(report: Report) -> Iterator[str]:
    yield f"# MCP compliance of {_plain(report.server or 'a server')}"
    yield (
        f"What the server did when `dovetail check` talked to it on {report.date[:10]}, held "
        f"against the specification ({report.tool.specification}). Nothing here was typed by hand."
    )
    yield "\n".join(
        [
            "| | |",
            "|---|---|",
            f"| Server | {_plain(report.server)} |",
            f"| Target | {', '.join(_code(target) for target in report.targets)} |",
            f"| Transports | {', '.join(report.transports)} |",
            f"| Eras | {', '.join(report.eras) or 'none'} |",
            f"| Revisions spoken | {', '.join(report.revisions) or 'none'} |",
            f"| Revisions offered | {', '.join(report.offered)} |",
            f"| Tools called | {_plain(report.calls)} |",
            f"| Checked by | dovetail {report.tool.version}, inventory `{report.tool.inventory}` |",
            f"| Date | {report.date} |",
        ]
    )
    yield "## Summary"
    if report.needs_auth:
        yield f"{_plain(report.needs_auth)}. Only what strangers see was judged."
    lines = [short_sum(report), *map(coverage_sentence, report.coverage)]
    yield "\n".join(f"- {line}." for line in lines)


def _findings(report: Report) -> Iterator[str]:
    rows = [row for row in report.rows if row.verdict in _BROKEN]
    yield "## Findings"
    if not rows and not report.crashes:
        yield "None."
    for row in rows:
        accepted = ", accepted by the baseline" if row.accepted else ""
        yield f"### `{row.id}`: {row.verdict.value}{accepted}"
        yield f"{row.level}, [{row.clause}]({row.url}): {_plain(row.paraphrase)}."
        yield "\n".join(
            f"- {_plain(text)} ({join_sessions([sitting for sitting, _ in places])})"
            for text, places in row.said(Observation.BROKEN).items()
        )
    for crash in report.crashes:
        yield f"- {crash.session}, during `{crash.probe}`: {_plain(crash.text)}"


def _areas(report: Report) -> Iterator[str]:
    yield "## Rows that were judged"
    for area, rows in _by_area(row for row in report.rows if row.verdict in _JUDGED):
        yield f"### {area[:1].upper()}{area[1:]}"
        yield "\n".join(
            [
                "| row | verdict | level | clause | what | evidence | date |",
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
    """Where it was seen, and the numbers of a few frames."""
    seen = [finding for finding in row.findings if finding.verdict is row.verdict]
    numbers = [n for finding in seen for note in finding.notes for n in note.frames]
    frames = ", ".join(f"#{number}" for number in list(dict.fromkeys(numbers))[:_MOST_FRAMES])
    where = join_sessions([finding.session for finding in seen])
    return f"{where}: {frames}" if frames else where


def _attested(report: Report) -> Iterator[str]:
    rows = [row for row in report.rows if row.verdict is Verdict.ATTESTED]
    if rows:
        yield "## Attested by the author"
        yield "Nobody saw these from outside; the author of the server states them."
        yield _plain_table(rows, "statement")


def _unseen(report: Report) -> Iterator[str]:
    titles = {
        Verdict.NOT_OBSERVED: "Not observed",
        Verdict.NOT_APPLICABLE: "Not applicable",
        Verdict.NOT_TESTABLE: "Not testable from outside",
    }
    for verdict, title in titles.items():
        rows = [row for row in report.rows if row.verdict is verdict]
        if rows:
            yield f"## {title} ({len(rows)})"
            yield _plain_table(rows, "why")


def _plain_table(rows: Iterable[ReportRow], last: str) -> str:
    return "\n".join(
        [
            f"| row | verdict | level | clause | what | {last} |",
            "|---|---|---|---|---|---|",
            *(
                f"| `{row.id}` | {row.verdict.value} | {row.level} | [{row.clause}]({row.url}) | "
                f"{_plain(row.paraphrase)} | {_plain('; '.join(what_was_seen(row)[:2]))} |"
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
        yield "## Faults of the checker"
        yield "\n".join(
            f"- {_plain(fault.where)}: {_plain(fault.error)}" for fault in report.faults
        )


def _how_to_read() -> str:
    return (
        "---\n\n"
        "`#n` is the number of a frame in the evidence of this check (`--evidence DIR`). "
        "*pass* means: seen to be kept, each time it was looked at; what was not seen is not "
        "passed. `dovetail verify` with this file and the server says whether it still holds."
    )


def _by_area(rows: Iterable[ReportRow]) -> Iterator[tuple[str, list[ReportRow]]]:
    ordered = sorted(rows, key=lambda row: row.area.lower())
    for area, group in groupby(ordered, key=lambda row: row.area):
        yield area, list(group)


def _plain(text: str) -> str:
    """A text that is one line and no markup, whatever a server wrote."""
    line = " ".join(text.split())
    for mark in "\\|<>`*_[]":
        line = line.replace(mark, f"\\{mark}")
    return line


def _code(text: str) -> str:
    return f"`{' '.join(text.split()).replace('`', '').replace('|', '')}`"

"""The pages of docs/audits: what was found, and why it is right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dovetail_check.report import Report, ReportRow
from dovetail_check.verdicts import Observation, Verdict
from qa.audits.confirming import Confirmations
from qa.audits.servers import ROOT, Audited

__all__ = ["Outcome", "write_index", "write_page"]

FOLDER = ROOT / "docs" / "audits"
_COUNTED = (Verdict.FAIL, Verdict.WARN, Verdict.INFO, Verdict.PASS)
_LONGEST = 220


@dataclass(frozen=True)
class Outcome:
    """What came of one server, over each of its transports."""

    server: Audited
    version: str
    reports: list[Report]


def write_page(outcome: Outcome, confirmations: Confirmations) -> None:
    """One page for one server."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines = _page(outcome, confirmations)
    _path(outcome).write_text("\n".join(lines).rstrip() + "\n")


def write_index(outcomes: list[Outcome]) -> None:
    """The table of all."""
    start, _, rest = (FOLDER / "index.md").read_text().partition("<!-- table -->\n")
    _, _, end = rest.partition("<!-- end of table -->\n")
    table = "\n".join(_table(outcomes))
    whole = f"{start}<!-- table -->\n{table}\n<!-- end of table -->\n{end}"
    (FOLDER / "index.md").write_text(whole)


def _path(outcome: Outcome) -> Path:
    return FOLDER / f"{outcome.server.name}.md"


def _table(outcomes: list[Outcome]) -> Iterator[str]:
    tools = outcomes[0].reports[0].tool
    yield f"Checked on {outcomes[0].reports[0].date[:10]} against {tools.specification}."
    yield ""
    yield (
        "| server | version | over | revisions | fail | warn | info | pass | not observed "
        "| seconds |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for outcome in outcomes:
        name = f"[{outcome.server.name}]({_path(outcome).name})"
        for report in outcome.reports:
            revisions = "all five" if len(report.revisions) == 5 else ", ".join(report.revisions)
            cells = [name, outcome.version, report.transports[0], revisions]
            cells += [str(_count(report, verdict)) for verdict in _COUNTED]
            cells += [str(sum(level.not_observed for level in report.coverage[:2]))]
            yield f"| {' | '.join([*cells, str(report.seconds)])} |"


def _count(report: Report, verdict: Verdict) -> int:
    return sum(row.verdict is verdict for row in report.rows)


def _page(outcome: Outcome, confirmations: Confirmations) -> Iterator[str]:
    server = outcome.server
    yield f"# {server.name}"
    yield ""
    yield "<!-- written by make audit -->"
    yield ""
    yield f"{server.origin[0].upper()}{server.origin[1:]}, version {outcome.version}."
    if server.note:
        yield server.note
    yield ""
    for report in outcome.reports:
        yield from _section(server, report, confirmations)


def _section(server: Audited, report: Report, confirmations: Confirmations) -> Iterator[str]:
    yield f"## Over {report.transports[0]}"
    yield ""
    counts = [f"{_count(report, verdict)} {verdict.value}" for verdict in _COUNTED]
    yield f"Revisions {', '.join(report.revisions)}. {', '.join(counts)}."
    yield ""
    for verdict in (Verdict.FAIL, Verdict.WARN):
        rows = [row for row in report.rows if row.verdict is verdict]
        if rows:
            yield f"### {verdict.value}"
            yield ""
        for row in rows:
            yield f"**{row.id}** ({row.level}, [{row.clause}]({row.url})): {row.paraphrase}"
            yield ""
            yield from _seen(row)
            if verdict is Verdict.FAIL:
                why = confirmations.get((server.name, row.id), "not yet.")
                yield f"- *Confirmed*: {why}"
            yield ""
    if report.crashes:
        yield f"The server crashed {len(report.crashes)} times during the check."
        yield ""


def _seen(row: ReportRow) -> Iterator[str]:
    """One line for each thing that was seen, with where."""
    notes = row.notes_by_text(Observation.VIOLATED)
    for text, places in list(notes.items())[:3]:
        where = sorted({session.partition(" ")[2] or session for session, _ in places})
        yield f"- {_plain(text)} ({', '.join(where)})"
    if len(notes) > 3:
        yield f"- and {len(notes) - 3} more like these"


def _plain(text: str) -> str:
    """Without line breaks, without what Markdown would take for its own, without our folders."""
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    flat = " ".join(short.replace("\\n", " ").replace(str(ROOT), ".").split())
    for sign in "\\`*_<>|[]":
        flat = flat.replace(sign, f"\\{sign}")
    return flat

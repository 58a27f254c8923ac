"""`explain` and `rules`: what the checker knows of a row, and of all of them."""

from __future__ import annotations

import difflib
import inspect
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.table import Table
from rich.text import Text

from dovetail.commands import WRONG_USAGE, Failure, make_console, print_json, print_pairs
from dovetail.errors import UsageError
from dovetail_check import pages
from dovetail_check.clauses import area_title, clause_url
from dovetail_check.inventory import Level, Requirement, by_id, load
from dovetail_check.report import Report, read_report
from dovetail_check.reports.phrases import plural
from dovetail_check.reports.text import STYLES, clean, print_frames
from dovetail_check.rulebook import RunRule, unjudged
from dovetail_check.rulebook import rules as all_rules
from dovetail_check.running import CheckOptions, find_revisions, replay_evidence

__all__ = ["explain", "rules"]

_PATH = click.Path(path_type=Path)
_TESTABLE = {
    "yes": "yes, on any server",
    "yes-if-server-has-feature": "yes, where the server has the feature",
    "only-with-fixture": "only where traffic happens to show it",
    "no": "no",
}


@click.command()
@click.argument("id")
@click.argument("file", type=_PATH, required=False, metavar="[REPORT.json]")
@click.option("--replay", type=_PATH, metavar="DIR", help="Show the frames of this evidence.")
def explain(id: str, file: Path | None, replay: Path | None) -> None:
    """Say what a row asks, where it stands, how it is probed; with a report, what was seen."""
    row = by_id().get(id)
    if row is None:
        close = difflib.get_close_matches(id, by_id(), n=3, cutoff=0.5)
        hint = f"; did you mean {', '.join(close)}?" if close else "; `dovetail rules` lists them"
        raise Failure(f"no row {id!r}{hint}", WRONG_USAGE)
    pages.load()
    print_pairs([pair for pair in _describe(row) if pair[1]])
    try:
        if file is not None:
            _print_findings(read_report(file.read_bytes(), str(file)), id)
        elif replay is not None:
            _print_findings(replay_evidence(replay, CheckOptions()), id)
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None
    except OSError as error:
        raise Failure(f"{file} cannot be read: {error.strerror}", WRONG_USAGE) from None


def _describe(row: Requirement) -> list[tuple[str, str]]:
    rule = all_rules.get(row.id)
    by_probe = "all traffic" if rule is not None and not rule.reads else ""
    reads = by_probe or ("" if rule is None else ", ".join(rule.reads))
    scope = "all revisions of a transport together" if isinstance(rule, RunRule) else ""
    transport = "any" if row.transport == "any" else f"{row.transport} only"
    return [
        ("Row", row.id),
        ("Area", area_title(row.area)),
        ("Level", f"{row.level} ({row.basis})"),
        ("Asks", row.requirement),
        ("Clause", row.spec),
        ("Read it at", clause_url(row)),
        ("Revisions", ", ".join(row.versions)),
        ("Transport", transport),
        ("From outside", _TESTABLE.get(row.testable, row.testable)),
        ("Probe", row.probe),
        ("Rule", inspect.getdoc(rule.judge) or "" if rule is not None else "none"),
        ("Reads", f"{reads}; {scope}" if scope else reads),
        ("Not judged", unjudged.get(row.id, "") if rule is None else ""),
        ("Ambiguity", row.note),
        ("If broken", _consequence(row)),
    ]


def _consequence(row: Requirement) -> str:
    if row.is_derived:
        return "warn: no sentence of the specification says it outright"
    return {Level.MUST: "fail", Level.SHOULD: "warn", Level.MAY: "info"}[row.strength]


def _print_findings(report: Report, id: str) -> None:
    console = make_console()
    row = report.by_id.get(id)
    if row is None:
        console.print("The report does not judge this row (--only, --skip).")
        return
    console.print()
    verdict = Text(row.verdict.value.upper(), style=STYLES.get(row.verdict, "bold"))
    console.print(verdict + Text(f"  {clean(row.reason)}" if row.reason else ""))
    for finding in row.findings:
        console.print(Text(f"\n{finding.session}: {finding.verdict.value}", style="bold"))
        for note in finding.notes:
            console.print(Text(f"{note.observation.value}: {clean(note.text)}".rstrip(": ")))
            print_frames(console, [report.frame[n] for n in note.frames if n in report.frame])
        if finding.omitted:
            console.print(f"and {plural(finding.omitted, 'more note')} of the same kind")


@click.command()
@click.option("--revision", metavar="all|latest|DATE", default="all", help="Rows of these.")
@click.option("--level", type=click.Choice(["must", "should", "may"]), help="Rows of this level.")
@click.option("--json", "as_json", is_flag=True, help="One object per row.")
def rules(revision: str, level: str | None, as_json: bool) -> None:
    """List the inventory: every row, and whether a rule judges it."""
    pages.load()
    try:
        wanted = find_revisions(revision)
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None
    rows = [
        row
        for row in load()
        if (level is None or row.strength.value == level) and set(wanted) & set(row.revisions)
    ]
    if as_json:
        print_json([_as_object(row) for row in rows])
    else:
        _print_rules(rows)


def _as_object(row: Requirement) -> dict[str, Any]:
    return {
        "id": row.id,
        "area": area_title(row.area),
        "level": row.level,
        "revisions": row.versions,
        "transport": row.transport,
        "testable": row.testable,
        "judged": row.id in all_rules,
        "reason": _reason(row),
        "requirement": row.requirement,
        "clause": row.spec,
        "url": clause_url(row),
    }


def _reason(row: Requirement) -> str:
    """Why no rule judges it; empty where one does."""
    if row.id in all_rules:
        return ""
    usual = "cannot be seen from outside" if row.testable == "no" else "no rule yet"
    return unjudged.get(row.id, usual)


def _print_rules(rows: list[Requirement]) -> None:
    console = make_console()
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, header_style="dim")
    for name in ("row", "level", "outside", "judged", "asks"):
        table.add_column(name, overflow="fold", no_wrap=name == "level")
    for row in rows:
        judged = "yes" if row.id in all_rules else "no"
        testable = row.testable.removesuffix("-if-server-has-feature")
        table.add_row(row.id, row.level, testable, judged, Text(row.requirement))
    console.print(table)
    for level in Level:
        mine = [row for row in rows if row.strength is level]
        seen = [row for row in mine if row.is_testable]
        by_rule = [row for row in seen if row.id in all_rules]
        if mine:
            console.print(
                f"{level.value.upper()}: {len(mine)} rows, {len(seen)} can be judged from "
                f"outside, {len(by_rule)} of those by a rule"
            )

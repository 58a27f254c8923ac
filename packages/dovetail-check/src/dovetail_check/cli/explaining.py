"""The commands `explain` and `rules`, which describe the requirements."""

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
from dovetail_check import registry
from dovetail_check.clauses import area_title, clause_url
from dovetail_check.escaping import clean
from dovetail_check.inventory import Level, Requirement, by_id, load
from dovetail_check.report import Report, read_report
from dovetail_check.reports.fixes import FIXES, Fix
from dovetail_check.reports.phrases import plural
from dovetail_check.reports.text import STYLES, print_frames
from dovetail_check.rulebook import RunRule, unjudged
from dovetail_check.rulebook import rules as all_rules
from dovetail_check.running import CheckOptions, find_revisions, replay_evidence

__all__ = ["explain", "rules"]

_PATH = click.Path(path_type=Path)
_TESTABLE = {
    "yes": "yes, on any server",
    "yes-if-server-has-feature": "yes, if the server has the feature",
    "only-with-fixture": "only if the traffic happens to show it",
    "no": "no",
}


@click.command()
@click.argument("id")
@click.argument("file", type=_PATH, required=False, metavar="[REPORT.json]")
@click.option(
    "--replay", type=_PATH, metavar="DIR", help="Show findings from a folder saved with --evidence."
)
def explain(id: str, file: Path | None, replay: Path | None) -> None:
    """Explain a requirement: clause, probe, rule, known ambiguities and how to fix a violation.

    With a report, show the findings and recorded messages.
    """
    row = by_id().get(id)
    if row is None:
        close = difflib.get_close_matches(id, by_id(), n=3, cutoff=0.5)
        hint = f"; did you mean {', '.join(close)}?" if close else "; `dovetail rules` lists all"
        raise Failure(f"unknown requirement {id!r}{hint}", WRONG_USAGE)
    registry.load()
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
    scope = "compares all revisions of a transport" if isinstance(rule, RunRule) else ""
    transport = "any" if row.transport == "any" else f"{row.transport} only"
    fix = FIXES.get(row.id, Fix(""))
    return [
        ("Id", row.id),
        ("Area", area_title(row.area)),
        ("Level", f"{row.level} ({row.basis})"),
        ("Requires", row.requirement),
        ("Clause", row.spec),
        ("URL", clause_url(row)),
        ("Revisions", ", ".join(row.versions)),
        ("Transport", transport),
        ("Testable", _TESTABLE.get(row.testable, row.testable)),
        ("Tested by", row.probe),
        ("Rule", inspect.getdoc(rule.judge) or "" if rule is not None else "none"),
        ("Probe", f"{reads}; {scope}" if scope else reads),
        ("No rule", unjudged.get(row.id, "") if rule is None else ""),
        ("Ambiguity", row.note or "none known"),
        ("If violated", _consequence(row)),
        ("Fix", fix.text),
        ("Example", fix.example),
    ]


def _consequence(row: Requirement) -> str:
    if row.is_derived:
        return "warn: implied by the specification, but not stated"
    return {Level.MUST: "fail", Level.SHOULD: "warn", Level.MAY: "info"}[row.strength]


def _print_findings(report: Report, id: str) -> None:
    console = make_console()
    row = report.by_id.get(id)
    if row is None:
        console.print("The report does not include this requirement (--only, --skip).")
        return
    console.print()
    verdict = Text(row.verdict.value.upper(), style=STYLES.get(row.verdict, "bold"))
    console.print(verdict + Text(f"  {clean(row.reason)}" if row.reason else ""))
    for finding in row.findings:
        console.print(Text(f"\n{finding.session}: {finding.verdict.value}", style="bold"))
        for note in finding.notes:
            console.print(Text(f"{note.observation.value}: {clean(note.text)}".rstrip(": ")))
            print_frames(
                console,
                [report.frames_by_number[n] for n in note.frames if n in report.frames_by_number],
            )
        if finding.omitted:
            console.print(f"and {plural(finding.omitted, 'more note')} of the same kind")


@click.command()
@click.option(
    "--revision",
    metavar="all|latest|DATE",
    default="all",
    help="Only requirements of these revisions.",
)
@click.option(
    "--level", type=click.Choice(["must", "should", "may"]), help="Only requirements of this level."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def rules(revision: str, level: str | None, as_json: bool) -> None:
    """List all requirements, and whether a rule tests them."""
    registry.load()
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
    """Why there is no rule; empty if there is one."""
    if row.id in all_rules:
        return ""
    usual = "cannot be tested from outside" if row.testable == "no" else "no rule yet"
    return unjudged.get(row.id, usual)


def _print_rules(rows: list[Requirement]) -> None:
    console = make_console()
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, header_style="dim")
    for name in ("id", "level", "testable", "rule", "requires"):
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
                f"{level.value.upper()}: {len(mine)} requirements, {len(seen)} testable from "
                f"outside, {len(by_rule)} of those with a rule"
            )

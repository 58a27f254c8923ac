"""Text for the terminal: a verdict, findings with their fixes, coverage and a summary line.

Text of the server is printed with control characters escaped.
"""

from __future__ import annotations

from io import StringIO
from urllib.parse import urlsplit

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dovetail_check.escaping import clean, shorten
from dovetail_check.frames import Frame
from dovetail_check.report import Crash, FailOn, Report, ReportNote, ReportRow
from dovetail_check.reports.fixes import find_fix
from dovetail_check.reports.phrases import (
    ARROWS,
    FIXED_BY,
    describe_sessions,
    frame_body,
    frame_head,
    group_crashes,
    headline,
    join_sessions,
    level_words,
    plural,
    summary_line,
    untested_texts,
)
from dovetail_check.responsibility import AUTHOR
from dovetail_check.verdicts import Observation, Verdict

__all__ = ["print_frames", "print_report", "render"]

STYLES = {
    Verdict.FAIL: "bold red",
    Verdict.WARN: "bold yellow",
    Verdict.INFO: "bold blue",
    Verdict.PASS: "green",
    Verdict.ATTESTED: "magenta",
}
# The number of notes per finding, and of frames per note.
_MAX_NOTES = 3
_MAX_FRAMES = 4
_PLAIN_WIDTH = 100


def render(report: Report, fail_on: FailOn = "must") -> str:
    """Return the report without colours."""
    out = StringIO()
    print_report(Console(file=out, width=_PLAIN_WIDTH, color_system=None), report, fail_on)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def print_report(console: Console, report: Report, fail_on: FailOn = "must") -> None:
    """Print the report to a console."""
    _print_head(console, report)
    for fixed_by, heading in FIXED_BY.items():
        rows = report.findings_by(fixed_by)
        if rows:
            counts = _count_rows(rows)
            console.print(f"{heading} ({counts}):", style="bold", highlight=False)
            console.print()
        for row in rows:
            _print_finding(console, report, row)
    for crashes in group_crashes(report):
        _print_crashes(console, report, crashes)
    for text in untested_texts(report):
        console.print(Text.assemble(("NOT TESTED", "bold red"), f"  {clean(text)}"))
        console.print()
    _print_undecided(console, report)
    _print_differences(console, report)
    _print_faults(console, report)
    _print_coverage(console, report)
    _print_end(console, report, fail_on)


def _print_head(console: Console, report: Report) -> None:
    name = report.server or "unnamed server"
    console.print(Text.assemble((clean(name), "bold"), "  ", clean(" and ".join(report.targets))))
    console.print(
        f"{describe_sessions(report)}; calls: {report.calls}", style="dim", highlight=False
    )
    console.print(headline(report), style="bold", highlight=False)
    console.print()


def _count_rows(rows: list[ReportRow]) -> str:
    failed = sum(row.verdict is Verdict.FAIL for row in rows)
    warned = len(rows) - failed
    parts = [f"{failed} failed"] if failed else []
    return ", ".join(parts + ([plural(warned, "warning")] if warned else []))


def _print_finding(console: Console, report: Report, row: ReportRow) -> None:
    head = Text.assemble(
        (f"{row.verdict.value.upper():4}", STYLES[row.verdict]),
        "  ",
        (row.id, f"bold link {row.url}"),
        f"  {level_words(row)}, {row.clause}",
    )
    console.print(head)
    _print_in(console, Text(row.paraphrase, style="italic"))
    notes = row.notes_by_text(Observation.VIOLATED)
    for text, places in list(notes.items())[:_MAX_NOTES]:
        _print_note(console, report, text, places)
    if len(notes) > _MAX_NOTES:
        more = f"and {len(notes) - _MAX_NOTES} more: dovetail explain {row.id} REPORT.json"
        _print_in(console, Text(more))
    _print_fix(console, row)
    console.print()


def _print_fix(console: Console, row: ReportRow) -> None:
    fix = find_fix(row.id, row.fixed_by)
    _print_in(console, Text.assemble(("Fix: ", "bold"), fix.text))
    if fix.example:
        _print_in(console, Text.assemble(("Example: ", "bold"), fix.example))
    # A URL is never split, so that it can be copied.
    console.print(Text.assemble("      ", ("Clause: ", "bold"), row.url), soft_wrap=True)


def _print_note(
    console: Console, report: Report, text: str, places: list[tuple[str, ReportNote]]
) -> None:
    sessions = join_sessions([session for session, _ in places])
    _print_in(console, Text(clean(text)))
    _print_in(console, Text(f"observed on {sessions}", style="dim"), 8)
    frames = [
        report.frames_by_number[n] for n in places[0][1].frames if n in report.frames_by_number
    ]
    # The end of a response adds nothing to the response.
    shown = [frame for frame in frames if frame.kind != "ended" or frame.of is None]
    for frame in shown[:_MAX_FRAMES]:
        line = _abbreviate(frame, console.width - 8)
        console.print(
            Padding(Text(line, no_wrap=True, overflow="ellipsis"), (0, 0, 0, 8), expand=False)
        )


def _print_in(console: Console, text: Text, indent: int = 6) -> None:
    console.print(Padding(text, (0, 0, 0, indent), expand=False))


def _abbreviate(frame: Frame, width: int) -> str:
    head = clean(frame_head(frame)).replace(_origin(frame), "", 1)
    body = " ".join(map(clean, frame_body(frame).splitlines()))
    line = " ".join(filter(None, (ARROWS[frame.kind], f"#{frame.n}", head, body)))
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _origin(frame: Frame) -> str:
    """Scheme and host of a URL, which are cut to save space."""
    parts = urlsplit(frame.url or "")
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def _print_crashes(console: Console, report: Report, crashes: list[Crash]) -> None:
    crash = crashes[0]
    style = "bold red" if crash.counts and not crash.accepted else "bold"
    sessions = join_sessions([each.session for each in crashes])
    times = f" ({len(crashes)} times)" if len(crashes) > 1 else ""
    text = f"  {sessions}, during {crash.probe}: {crash.text}{times}"
    console.print(Text.assemble(("FLOOD" if crash.is_flood else "CRASH", style), text))
    for line in crash.stderr_tail.splitlines():
        _print_in(console, Text(f"! {clean(line)}", style="dim"))
    for number in crash.frames[: 2 if crash.is_flood else 1]:
        if number in report.frames_by_number:
            _print_in(
                console, Text(_abbreviate(report.frames_by_number[number], console.width - 6))
            )
    console.print()


def _print_undecided(console: Console, report: Report) -> None:
    rows = report.with_verdict(Verdict.INFO)
    if not rows:
        return
    console.print("Ambiguous or optional in the specification:", style="bold blue")
    for row in (row for row in rows if row.fixed_by == AUTHOR):
        notes = row.notes_by_text(Observation.AMBIGUOUS) or row.notes_by_text(Observation.VIOLATED)
        first = next(iter(notes), "")
        _print_in(console, Text.assemble((row.id, "bold"), f": {clean(first)}"), 2)
    if others := [row.id for row in rows if row.fixed_by != AUTHOR]:
        text = f"In the protocol layer, which your SDK decides: {', '.join(others)}"
        _print_in(console, Text(f"{text} (-o report.html shows why)"), 2)
    console.print()


def _print_differences(console: Console, report: Report) -> None:
    if not report.differences:
        return
    console.print("Differences between transports:", style="bold")
    for difference in report.differences:
        at = f" at {difference.revision}" if difference.revision else ""
        _print_in(console, Text(f"{clean(difference.what)}{at}"), 2)
        for transport, text in difference.sides.items():
            _print_in(console, Text(f"{transport}: {shorten(clean(text), 200)}", style="dim"), 4)
    console.print()


def _print_faults(console: Console, report: Report) -> None:
    for fault in report.faults:
        console.print(Text.assemble(("INTERNAL ERROR", "bold red"), f"  {fault.where}"))
        _print_in(console, Text(clean(fault.error)))
    if report.faults:
        text = "The verdicts above are valid. Please report this error and attach the JSON report."
        _print_in(console, Text(text))
        console.print()


# Column -> field of Coverage.
_COLUMNS = {
    "total": "rows",
    "testable": "testable",
    "applicable": "applicable",
    "passed": "passed",
    "failed": "failed",
    "warnings": "warned",
    "accepted": "accepted",
    "info": "info",
    "attested": "attested",
    "not observed": "not_observed",
}
# Columns that are hidden if all counts are 0.
_OPTIONAL = ("accepted", "info", "attested")


def _print_coverage(console: Console, report: Report) -> None:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, header_style="dim")
    table.add_column("coverage")
    columns = {
        name: [getattr(coverage, field) for coverage in report.coverage]
        for name, field in _COLUMNS.items()
    }
    shown = {
        name: counts for name, counts in columns.items() if name not in _OPTIONAL or any(counts)
    }
    for name in shown:
        table.add_column(name, justify="right")
    for coverage, *counts in zip(report.coverage, *shown.values(), strict=True):
        table.add_row(coverage.level.value.upper(), *map(str, counts))
    console.print(table)
    if report.only or report.skip:
        console.print("Only some requirements were checked (--only, --skip).", style="dim")


def _print_end(console: Console, report: Report, fail_on: FailOn) -> None:
    if report.needs_auth:
        how = "dovetail login, or --token-env"
        text = f"{clean(report.needs_auth)}; only unauthenticated access was tested ({how})."
        console.print(Text(text, style="bold"))
    found = report.findings(fail_on)
    bad = bool(found or report.faults or report.needs_auth)
    for name in report.stale:
        console.print(f"The baseline accepts {name}, which no longer occurs.", highlight=False)
    mark = Text("✗ " if bad else "✓ ", style="bold red" if bad else "bold green")
    console.print(mark + Text(f"{summary_line(report)}; {report.seconds:g} s"))
    if found:
        text = "To see all messages of a finding, add -o report.json and run"
        text += " `dovetail explain ID report.json`"
        console.print(text, style="dim", highlight=False)


def print_frames(console: Console, frames: list[Frame]) -> None:
    """Print frames in full."""
    for frame in frames:
        head = (
            f"{ARROWS[frame.kind]} #{frame.n} {frame.at:.3f} s  {frame.session}, {frame.connection}"
        )
        tag = f"  {frame.tag}" if frame.tag else ""
        console.print(Text(f"{head}{tag}", style="bold"))
        lines = [frame_head(frame), *(f"{name}: {value}" for name, value in frame.headers)]
        for line in filter(None, lines):
            _print_in(console, Text(clean(line), style="dim"), 2)
        for line in frame_body(frame).splitlines():
            _print_in(console, Text(clean(line)), 2)

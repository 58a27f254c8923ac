"""Prints progress, comparisons and broken claims."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from dovetail.wire import codec
from dovetail_check.audit import Progress
from dovetail_check.comparing import Change, Comparison
from dovetail_check.documents import BrokenClaim, Claims
from dovetail_check.escaping import clean
from dovetail_check.report import Report
from dovetail_check.reports.phrases import observed_texts, plural
from dovetail_check.verdicts import Verdict

__all__ = ["print_broken_claims", "print_comparison", "show_progress"]


@contextmanager
def show_progress(*, as_json: bool = False) -> Iterator[Progress]:
    """Show a progress bar on stderr, if it is a terminal; as JSON, print changes and verdicts."""
    progress = Progress()
    if as_json:
        progress.on_change = _print_progress
        progress.on_verdict = _print_verdict
        yield progress
        return
    if not sys.stderr.isatty():
        yield progress
        return
    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def update(now: Progress) -> None:
            bar.update(
                task,
                completed=now.done,
                total=now.total or None,
                description=clean(now.activity)[:60],
            )

        progress.on_change = update
        yield progress


def _print_progress(now: Progress) -> None:
    state = {"done": now.done, "total": now.total, "text": now.activity}
    click.echo(codec.encode({"progress": state}), err=True)


def _print_verdict(id: str, verdict: Verdict) -> None:
    click.echo(codec.encode({"verdict": {"id": id, "verdict": verdict}}), err=True)


def print_broken_claims(
    console: Console, claims: Claims, report: Report, broken: list[BrokenClaim]
) -> None:
    """Print the claims that no longer hold, with the new observations."""
    for claim in broken:
        console.print(Text.assemble((claim.id, "bold red"), f"  {claim.text}"))
        if claim.row is not None:
            for text in observed_texts(claim.row)[:3]:
                console.print(Text(f"    {clean(text)}"))
    if claims.inventory != report.tool.inventory:
        console.print(
            "The document uses another inventory; it makes no claims about new requirements."
        )
    passed = sum(verdict is Verdict.PASS for verdict in claims.rows.values())
    attested = sum(verdict is Verdict.ATTESTED for verdict in claims.rows.values())
    rest = f"; {plural(attested, 'statement')} of the author not verified" if attested else ""
    if broken:
        verb = "does" if len(broken) == 1 else "do"
        console.print(f"{plural(len(broken), 'claim')} of {claims.date[:10]} {verb} not hold{rest}")
    else:
        console.print(f"All claims of {claims.date[:10]} hold: {passed} passed{rest}")


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print the changes, regressions first."""
    for note in comparison.notes:
        console.print(Text(clean(note), style="dim"))
    titles = (
        ("Worse", "bold red", comparison.worse),
        ("Better", "bold green", comparison.better),
        ("Other", "bold", comparison.other),
    )
    for title, style, changes in titles:
        if changes:
            console.print(Text(f"{title} ({len(changes)})", style=style))
            for change in changes:
                _print_change(console, change)
    counts = f"{len(comparison.worse)} worse, {len(comparison.better)} better"
    console.print(f"{counts}, {len(comparison.other)} other changes")


def _print_change(console: Console, change: Change) -> None:
    head = f"  {change.id}  {change.level}  {change.old} -> {change.new}"
    console.print(Text(head))
    if change.text:
        console.print(Text(f"      {clean(change.text)}", style="dim"))

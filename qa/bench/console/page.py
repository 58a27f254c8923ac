"""The section of the page on the console."""

from __future__ import annotations

from collections.abc import Sequence

from qa.bench.console.measure import INSPECTOR, ConsoleFigures
from qa.bench.page import circumstances, render_targets, table
from qa.bench.targets import Target

__all__ = ["render_console"]


def render_console(figures: ConsoleFigures, told: str, targets: Sequence[Target]) -> str:
    """The figures, and whether they are what was promised."""
    rows = [
        [
            name,
            f"{each.paint:.0f} ms",
            "-" if each.listed is None else f"{each.listed:.0f} ms",
            f"{each.size / 1000:,.0f} kB",
        ]
        for name, each in figures.pages.items()
    ]
    starts = [
        [f"`{option}`", f"{each.cpu_ms:.0f} ms", f"{each.megabytes:.1f} MB"]
        for option, each in figures.starts.items()
    ]
    parts = [
        circumstances(told),
        f"Peer: {INSPECTOR.version('@modelcontextprotocol/inspector')}. Both pages show the same "
        "server with 1,000 tools, in turns in one Chromium with an empty cache. The Inspector "
        "lists tools after a click, so only its first paint is compared.",
        table(["page", "first paint", "all tools listed", "loaded"], rows),
        "`dovetail run` of a server with one tool, until it has answered the first request:",
        table(["option", "CPU time", "resident memory"], starts),
        render_targets(targets),
    ]
    return "\n\n".join(parts)

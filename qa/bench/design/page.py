"""The part of the page about the design server."""

from __future__ import annotations

from collections.abc import Sequence

from qa.bench.design.measure import DesignResults
from qa.bench.page import circumstances, render_targets, table
from qa.bench.targets import Target

__all__ = ["render_design"]


def render_design(results: DesignResults, effort: str, targets: Sequence[Target]) -> str:
    """Everything that was measured."""
    drawings = [
        [what, f"{ours:.1f} ms", f"{direct:.1f} ms"]
        for what, (ours, direct) in results.drawings.items()
    ]
    isolation = [
        [what, f"{inside:.2f} ms", f"{isolated:.2f} ms"]
        for what, (inside, isolated) in results.isolation.items()
    ]
    studio = results.studio
    calls = [
        ["edit_design, 100 operations", f"{studio.edit:.1f} ms"],
        [f"list_designs, a page of 20 out of {studio.designs:,}", f"{studio.listing:.1f} ms"],
        [f"list_designs with a search in {studio.designs:,}", f"{studio.searching:.1f} ms"],
        ["render_preview of 100 elements", f"{studio.preview:.1f} ms"],
    ]
    parts = [
        f"{circumstances(effort)} The same boxes, gradients, discs, stars, lines and wrapped texts "
        "are drawn by the server's renderer and by a program of a page that calls skia and "
        "nothing else, in turns, in one process; CPU of the best round, encoding included, and no "
        "text is drawn twice. Calls are whole `tools/call` over stdio, median time, with the "
        "findings that every change is answered with.",
        "### Targets of the design server\n\n" + render_targets(targets),
        "### Drawings\n\n" + table(["", "dovetail", "directly"], drawings),
        "### Isolation\n\nDrawing runs in worker processes, so that a crash fails one call. Time "
        "of the best round, in one process and in a worker that has started:\n\n"
        + table(["", "in process", "in a worker"], isolation),
        "### Calls\n\n" + table(["", "median"], calls),
    ]
    return "\n\n".join(parts)

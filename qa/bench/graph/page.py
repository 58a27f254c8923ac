"""The part of the page about the memory server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qa.bench.graph.measure import ByMeaning, Figures, Side
from qa.bench.graph.opponent import PACKAGE, REFERENCE
from qa.bench.page import circumstances, render_targets, table
from qa.bench.targets import Target

__all__ = ["render_graph"]


def render_graph(
    sizes: Sequence[Figures], meaning: ByMeaning, effort: str, targets: Sequence[Target]
) -> str:
    """Everything that was measured."""
    parts = [
        f"{circumstances(effort)} Compared with {REFERENCE.version(PACKAGE)}. Entities have two "
        "observations of twelve words and three relations. Every figure is a whole `tools/call` "
        "over stdio, the median, with default arguments; the client is the same for both. Our "
        "server waits for the disk at every write; the reference does not. Our server returns the "
        "best 20 results of a search and one page of `read_graph`; the reference returns "
        "everything. An embedding model is used only in the last table.",
        "### Targets of the memory server\n\n" + render_targets(targets),
        "### Calls\n\n" + _calls(sizes, lambda side, what: side.median(what)),
        "### CPU of the server for a call\n\n"
        "CPU time does not depend on other load, and does not include waiting for the disk.\n\n"
        + _calls(sizes, lambda side, what: side.cpu[what]),
        "### Filling, memory, files\n\n" + _resources(sizes),
        "### Longest answers\n\n" + _answers(sizes),
        "### By meaning\n\n" + _by_meaning(meaning),
    ]
    return "\n\n".join(parts)


def _calls(sizes: Sequence[Figures], spent: Callable[[Side, str], float]) -> str:
    head = ["ms"]
    for size in sizes:
        head += [f"{size.size:,}", "reference", "ratio"]
    rows = []
    for what in sizes[0].ours.calls:
        row = [what]
        for size in sizes:
            ours = spent(size.ours, what)
            row.append(f"{ours * 1000:.2f}")
            if what in size.theirs.calls:
                theirs = spent(size.theirs, what)
                row += [f"{theirs * 1000:.1f}", f"{theirs / ours:.0f}x"]
            else:
                row += ["-", "-"]
        rows.append(row)
    return table(head, rows)


def _resources(sizes: Sequence[Figures]) -> str:
    rows = [
        [
            f"{size.size:,}",
            f"{size.ours.fill:.1f} s, {size.size / size.ours.fill:,.0f}/s",
            f"{size.ours.megabytes:.0f} MB",
            f"{size.theirs.megabytes:.0f} MB",
            f"{size.ours.file:.1f} MB",
            f"{size.theirs.file:.1f} MB",
        ]
        for size in sizes
    ]
    head = ["entities", "filled by calls of 100 entities and 300 relations", "maximum memory"]
    return table([*head, "reference", "file", "reference"], rows)


def _by_meaning(found: ByMeaning) -> str:
    rows = [
        [
            "a hundred new entities are found by meaning after",
            f"{found.hundred:.1f} s",
        ],
        ["vectors of a larger import", f"{found.rate:.0f}/s"],
        ["`semantic_search`, hybrid, a new question", f"{found.search * 1000:.0f} ms"],
    ]
    return table(["with all-MiniLM-L6-v2, one thread", ""], rows)


def _answers(sizes: Sequence[Figures]) -> str:
    head = ["characters"]
    for size in sizes:
        head += [f"{size.size:,}", "reference"]
    rows = []
    for what in sizes[0].ours.longest:
        row = [what]
        for size in sizes:
            row.append(f"{size.ours.longest[what]:,}")
            row.append(f"{size.theirs.longest[what]:,}" if what in size.theirs.longest else "-")
        rows.append(row)
    return table(head, rows)

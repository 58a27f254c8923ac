"""The part of the page about the notes server."""

from __future__ import annotations

from collections.abc import Sequence

from qa.bench.page import circumstances, render_targets, table
from qa.bench.targets import Target
from qa.bench.vault.measure import Figures

__all__ = ["render_vault"]


def render_vault(sizes: Sequence[Figures], effort: str, targets: Sequence[Target]) -> str:
    """Everything that was measured."""
    parts = [
        f"{circumstances(effort)} Notes of about 1.5 kB, made from words by Zipf's law. A search "
        "is a whole `tools/call` over stdio: ranked, 20 notes, with context lines. ripgrep runs "
        "with two threads on a warm cache and ranks nothing; the scan reads every file in Python. "
        "Memory is that of the server; during the first pass there is a helper process per core "
        "beside it, each with some 90 MB. No model of language is at work.",
        "### Targets of the notes server\n\n" + render_targets(targets),
        "### Searches\n\n" + _searches(sizes),
        "### Index and memory\n\n" + _index(sizes),
    ]
    return "\n\n".join(parts)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"


def _searches(sizes: Sequence[Figures]) -> str:
    head = ["ms"]
    for size in sizes:
        head += [f"{size.notes:,}: p50", "p99", "ripgrep"]
    rows = []
    for name in sizes[0].searches:
        row = [name]
        for size in sizes:
            row += [_ms(size.quantile(0.5, name)), _ms(size.quantile(0.99, name))]
            row.append(_ms(size.ripgrep[name]) if name in size.ripgrep else "-")
        rows.append(row)
    total = ["all"]
    for size in sizes:
        total += [_ms(size.quantile(0.5)), _ms(size.quantile(0.99)), "-"]
    scan = ["reading every file"]
    for size in sizes:
        scan += [_ms(size.scan), "-", "-"]
    return table(head, [*rows, total, scan])


def _index(sizes: Sequence[Figures]) -> str:
    rows = [
        [
            f"{size.notes:,}",
            f"{size.cold_seconds:.1f} s",
            f"{size.rate:,.0f}/s",
            f"{size.warm_ready:.2f} s",
            f"{size.warm_complete:.2f} s",
            f"{size.outside_edit:.2f} s",
            f"{size.listing:.1f} s",
            f"{size.memory_now:.0f} MB",
            f"{size.memory_most:.0f} MB",
            f"{size.index_megabytes:.0f} MB",
        ]
        for size in sizes
    ]
    head = ["notes", "first pass, from the start of the process", "rate"]
    head += ["warm: first answer", "warm: all files compared", "an outside edit is found after"]
    head += ["all notes listed as resources", "resident", "most", "index on disk"]
    return table(head, rows)

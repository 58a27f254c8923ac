"""The results as Markdown, and into the page between its markers."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.environments import REQUIREMENTS, versions
from bench.field import FIELD, FLOOR, OURS, Contestant
from bench.measures import Cell, Effort, Results
from bench.messages import ERAS
from bench.targets import Target

__all__ = ["render", "render_targets", "write_between_markers"]

_BEGIN = "<!-- bench: begin -->"
_END = "<!-- bench: end -->"
_EVERYBODY = (*FIELD, FLOOR)


def render(results: Results, effort: Effort, targets: Sequence[Target]) -> str:
    """Everything, as the page shows it."""
    parts = [
        _circumstances(effort),
        "## Targets\n\n" + render_targets(targets),
        "## Over stdio\n\n" + _stdio(results),
        "## In process\n\n" + _in_process(results),
        "## Cold start and memory\n\n" + _starts(results, effort),
        "## A list of 1,000 tools\n\n" + _listing(results),
        "## Many slow calls at once\n\n" + _naps(results),
    ]
    return "\n\n".join(parts)


def render_targets(targets: Iterable[Target]) -> str:
    """Each target with its verdict; comparisons that nobody promised stand below."""
    ordered = sorted(targets, key=lambda target: not target.is_promise)
    rows = [
        [
            target.what,
            f"{target.factor:g}x",
            f"{target.ratio:.1f}x",
            ("PASS" if target.is_reached else "FAIL")
            if target.is_promise
            else ("(yes)" if target.is_reached else "(no)"),
        ]
        for target in ordered
    ]
    return _table(["target", "wanted", "measured", "verdict"], rows)


def _circumstances(effort: Effort) -> str:
    rows = []
    for contestant in _EVERYBODY:
        if contestant is FLOOR or contestant.key == "mcp-low":
            continue
        found = versions(contestant.environment)
        names = [contestant.module]
        names += [name for name in ("mcp", "msgspec", "pydantic") if name in found]
        told = ", ".join(f"{name} {found[name]}" for name in dict.fromkeys(names))
        distributions = len(found.keys() - {"pip", "setuptools"})
        rows.append([contestant.title, told, str(distributions)])
    assert len(REQUIREMENTS) == len(rows)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return (
        f"Measured on {today}: {_cpu_model()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, Linux {platform.release().split('-')[0]}; {effort.rounds} "
        f"rounds, {effort.starts} cold starts.\n\n"
        + _table(["contestant", "versions", "distributions installed"], rows)
    )


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" + "--:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def _micro(cell: Cell | None, ours: Cell | None = None) -> str:
    if cell is None:
        return "-"
    text = f"{cell.best * 1e6:,.1f} us"
    if ours is not None and cell is not ours:
        text += f" ({cell.best / ours.best:.1f}x)"
    return text


def _stdio(results: Results) -> str:
    parts = []
    for in_flight, title in ((16, "sixteen in flight"), (1, "one at a time")):
        rows = []
        for contestant, tool, name in _rows_of_calls():
            cells = [results.stdio.get((contestant.key, tool, era, in_flight)) for era in ERAS]
            ours = [results.stdio["dovetail", _like(tool), era, in_flight] for era in ERAS]
            rates = [f"{1 / cell.best_wall:,.0f}/s" if cell else "-" for cell in cells]
            spread = max(cell.median / cell.best for cell in cells if cell is not None)
            figures = [_micro(cell, our) for cell, our in zip(cells, ours, strict=True)]
            rows.append([name, *figures, *rates, f"{spread - 1:.0%}"])
        head = ["CPU of the server per request, " + title, "legacy", "modern"]
        head += ["rate, legacy", "rate, modern", "median over best"]
        parts.append(_table(head, rows))
    return "\n\n".join(parts)


def _rows_of_calls() -> list[tuple[Contestant, str, str]]:
    rows = []
    for tool, kind in (("add", "async def"), ("add_sync", "def")):
        rows += [(contestant, tool, f"{contestant.title}, {kind}") for contestant in FIELD]
        if tool == "add_sync":
            rows.insert(
                -len(FIELD) + 1, (OURS, "add_inline", f"{OURS.title}, def with blocking=False")
            )
    return [*rows, (FLOOR, "add", FLOOR.title)]


def _like(tool: str) -> str:
    return "add_sync" if tool == "add_inline" else tool


def _in_process(results: Results) -> str:
    rows = []
    for contestant, tool, name in _rows_of_calls():
        keys = [(contestant.key, f"{name} ({contestant.in_process})")]
        if contestant is OURS and tool != "add_inline":
            keys.append(("dovetail client", f"{name} (in-memory client)"))
        for key, title in keys:
            cells = [results.in_process.get((key, tool, era)) for era in ERAS]
            ours = [results.in_process["dovetail", _like(tool), era] for era in ERAS]
            figures = [_micro(cell, our) for cell, our in zip(cells, ours, strict=True)]
            rates = [f"{1 / cell.best:,.0f}/s" if cell else "-" for cell in cells]
            rows.append([title, *figures, *rates])
    return _table(["CPU per call", "legacy", "modern", "rate, legacy", "rate, modern"], rows)


def _starts(results: Results, effort: Effort) -> str:
    rows = []
    names = {contestant.key: f"{contestant.title}, python file.py" for contestant in _EVERYBODY}
    for key in ("dovetail run", *names):
        row = [names.get(key, "dovetail, dovetail run file.py")]
        for era in ERAS:
            cell = results.starts.get((key, era))
            row.append(f"{cell.best_wall * 1e3:.0f} / {cell.best * 1e3:.0f} ms" if cell else "-")
        memory = results.memory.get(key)
        row += [f"{memory.first:.1f} MiB", f"{memory.later:.1f} MiB"] if memory else ["", ""]
        rows.append(row)
    head = ["from exec to the first answer, wall / CPU", "initialize", "server/discover"]
    head += ["resident then", f"after {effort.calls_for_memory:,} calls"]
    return _table(head, rows)


def _listing(results: Results) -> str:
    rows = []
    for contestant in FIELD:
        for era in contestant.eras:
            found, ours = results.listing[contestant.key, era], results.listing["dovetail", era]
            first = f"{found.first * 1e3:.1f} ms"
            rows.append(
                [
                    f"{contestant.title}, {era}",
                    _micro(found.next, ours.next),
                    first,
                    f"{found.size / 1024:.0f} KiB",
                ]
            )
    head = ["CPU of the server per tools/list", "later ones", "the very first", "answer"]
    return _table(head, rows)


def _naps(results: Results) -> str:
    rows = []
    for (key, tool, limit), naps in results.naps.items():
        title = next(contestant.title for contestant in FIELD if contestant.key == key)
        limited = next(contestant.is_limited for contestant in FIELD if contestant.key == key)
        setting = f"concurrency {limit}" if limited else "no limit of its own"
        kind = "asyncio.sleep" if tool == "nap" else "time.sleep"
        rows.append(
            [
                f"{title}, {naps.calls:,} x {kind}(0.2), {setting}",
                f"{naps.cell.best_wall:.2f} s",
                f"{naps.cell.best * 1e3:.0f} ms",
                f"{naps.peak:.1f} MiB",
            ]
        )
    return _table(["all answered, all rightly", "wall", "CPU", "most memory"], rows)


def write_between_markers(page: Path, text: str) -> None:
    """Put the text into the page; what stands around the markers stays."""
    before, begin, rest = page.read_text().partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{page} lacks the markers {_BEGIN} and {_END}")
    page.write_text(f"{before}{_BEGIN}\n\n{text}\n\n{_END}{after}")

"""The results as Markdown, and into the page between its markers."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from qa.bench.environments import REQUIREMENTS, ROOT, versions
from qa.bench.field import FIELD, FLOOR, OURS, Contestant
from qa.bench.measures import Cell, Effort, Results
from qa.bench.messages import ERAS
from qa.bench.targets import Target

__all__ = [
    "circumstances",
    "render_in_process",
    "render_stdio",
    "render_targets",
    "table",
    "write_between_markers",
]

_EVERYBODY = (*FIELD, FLOOR)


def render_stdio(results: Results, effort: Effort, targets: Sequence[Target]) -> str:
    """The part of a server process on pipes."""
    parts = [
        circumstances(f"{effort.rounds} rounds, {effort.starts} cold starts"),
        _distributions(),
        "### Targets of stdio\n\n" + render_targets(targets),
        "### Calls over stdio\n\n" + _stdio(results),
        "### Cold start and memory\n\n" + _starts(results, effort),
        "### A list of 1,000 tools\n\n" + _listing(results),
        "### Many slow calls at once\n\n" + _naps(results),
    ]
    return "\n\n".join(parts)


def render_in_process(results: Results, effort: Effort, targets: Sequence[Target]) -> str:
    """The part of calls without a transport."""
    parts = [
        circumstances(f"{effort.rounds} rounds"),
        "### Targets in process\n\n" + render_targets(targets),
        "### Calls in process\n\n" + _in_process(results),
    ]
    return "\n\n".join(parts)


def render_targets(targets: Iterable[Target]) -> str:
    """Each target with its verdict; comparisons that nobody promised stand below."""
    ordered = sorted(targets, key=lambda target: not target.is_promise)
    rows = [
        [
            target.what,
            f"{'at most ' if target.is_ceiling else ''}{target.factor:g}x",
            f"{target.ratio:.{2 if target.factor < 2 else 1}f}x" if target.is_measured else "-",
            _verdict(target),
        ]
        for target in ordered
    ]
    return table(["target", "wanted", "measured", "verdict"], rows)


def _verdict(target: Target) -> str:
    if not target.is_measured:
        return "NOT MEASURED"
    if target.is_promise:
        return "PASS" if target.is_reached else "FAIL"
    return "(yes)" if target.is_reached else "(no)"


def circumstances(effort: str) -> str:
    """When, where and how much."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return (
        f"Measured on {today}: {_cpu_model()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, Linux {platform.release().split('-')[0]}; {effort}.\n\n"
        f"{_told_versions()}"
    )


# Environments with another version of the SDK than the one that is measured.
_OTHER_SDKS = {"minimcp": "mcp (for MiniMCP)", "mcp-proxy": "mcp (for mcp-proxy)"}


def _told_versions() -> str:
    told: dict[str, str] = {}
    for environment in REQUIREMENTS:
        found = versions(environment)
        for name in ("dovetail", "msgspec", "fastmcp", "minimcp", "mcp", "pydantic"):
            if name in found:
                shown = _OTHER_SDKS.get(environment, name) if name == "mcp" else name
                told[shown] = found[name] + (_revision() if name == "dovetail" else "")
    return ", ".join(f"{name} {version}" for name, version in told.items()) + "."


def _revision() -> str:
    """The commit that was measured, as far as there is one."""
    git = ["git", "-C", str(ROOT)]
    found = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    if found.returncode:
        return ""
    changed = subprocess.check_output([*git, "status", "--porcelain", "--", "packages"])
    return f" ({found.stdout.strip()}{' with uncommitted changes' if changed else ''})"


def _distributions() -> str:
    rows = []
    for contestant in FIELD:
        if contestant.key == "mcp-low":
            continue
        found = versions(contestant.environment).keys() - {"pip", "setuptools"}
        if contestant is not OURS:
            # These the benchmark has added; the peers do not ask for them.
            found -= {"uvloop", "httptools"}
        rows.append([contestant.title, str(len(found))])
    return table(["contestant", "distributions installed"], rows)


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text."""
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
        parts.append(table(head, rows))
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
    return table(["CPU per call", "legacy", "modern", "rate, legacy", "rate, modern"], rows)


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
    return table(head, rows)


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
    head = ["CPU of the server per tools/list", "later requests", "first request", "size"]
    return table(head, rows)


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
    return table(["calls, all correct", "wall", "CPU", "maximum memory"], rows)


def write_between_markers(page: Path, part: str, text: str) -> None:
    """Put a part's text into the page; the text around its markers stays."""
    first, last = f"<!-- bench {part}: begin -->", f"<!-- bench {part}: end -->"
    before, begin, rest = page.read_text().partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"{page} lacks the markers {first} and {last}")
    page.write_text(f"{before}{first}\n\n{text}\n\n{last}{after}")

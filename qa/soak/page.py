"""The results as Markdown, and into the page between its markers."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from qa.soak.verdicts import Verdict

__all__ = ["render", "write_between_markers"]

_WORDS = {True: "PASS", False: "FAIL", None: ""}


def render(verdicts: Sequence[Verdict], seconds: float, load: float) -> str:
    """Circumstances and table; `load` is that of the machine before the run."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    lines = [
        f"Measured on {today}: {_cpu_model()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, Linux {platform.release().split('-')[0]}; the whole run "
        f"took {seconds:.0f} s, with a load of {load:.1f} from other processes at the start.",
        "",
        "| what | wanted | measured | verdict |",
        "|---|--:|--:|--:|",
    ]
    lines += [
        f"| {verdict.what} | {verdict.wanted} | {verdict.measured} | {_WORDS[verdict.is_reached]} |"
        for verdict in verdicts
    ]
    return "\n".join(lines)


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def write_between_markers(page: Path, text: str, name: str = "soak") -> None:
    """Put the text into the page; the text around the markers stays."""
    first, last = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, begin, rest = page.read_text().partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"{page} lacks the markers {first} and {last}")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")

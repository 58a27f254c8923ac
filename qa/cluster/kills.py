"""Processes that are killed while they run tasks: the durability tests of clusters, in full."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

from qa.cluster.effort import Effort, percentile
from qa.soak.processes import ROOT
from qa.soak.verdicts import Verdict

__all__ = ["measure_kills"]

# Seconds until the last task is finished by another process.
_MOST = 5.0
_TEST = "packages/dovetail/tests/deep/durability/test_cluster_killed.py"
_SECONDS = re.compile(r"seconds from the kill to the last task:((?: [\d.]+)+)")


async def measure_kills(effort: Effort, folder: Path) -> list[Verdict]:
    """Run the tests with the counts of the full run; they assert at most five seconds."""
    log = folder / "pytest.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pytest", "-q", "-s", "--timeout=0", _TEST),
            cwd=ROOT,
            stdout=output,
            stderr=output,
            env={
                **os.environ,
                "CLUSTER_KILLS": str(effort.kills),
                "CLUSTER_TASKS": str(effort.tasks),
            },
        )
        code = await process.wait()
    printed = log.read_text(errors="replace")
    found = _SECONDS.search(printed)
    seconds = [float(each) for each in found[1].split()] if found else []
    if code != 0:
        print(printed, file=sys.stderr)
    # The steps are counted before the time is judged.
    is_exact = bool(seconds) and ">       assert len(counts)" not in printed
    what = f"{effort.kills} kills of a process with {effort.tasks:,} tasks"
    return [
        Verdict(
            f"{what}: until the last one was finished elsewhere, median and longest",
            f"<= {_MOST:.0f} s",
            f"{percentile(seconds, 50):.1f}, {max(seconds):.1f} s" if seconds else "none",
            bool(seconds) and max(seconds) <= _MOST,
        ),
        Verdict(
            f"{what}: each step done once, each client notified of the end",
            "all",
            "all" if is_exact else "see the output",
            is_exact,
        ),
    ]

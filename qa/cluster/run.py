"""`make cluster`: four processes on one Redis, behind a balancer that picks one at random.

.venv/bin/python -m qa.cluster.run                    the whole run, writes docs/cluster.md
.venv/bin/python -m qa.cluster.run --quick            a short one, for a look; writes nothing
.venv/bin/python -m qa.cluster.run --only events      one part; writes nothing
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from qa.cluster.effort import Effort
from qa.cluster.events import measure_events
from qa.cluster.faults import measure_faults
from qa.cluster.kills import measure_kills
from qa.cluster.listeners import measure_listeners
from qa.cluster.questions import measure_questions
from qa.cluster.rates import measure_rates
from qa.cluster.restarts import measure_restarts
from qa.soak.page import render, write_between_markers
from qa.soak.processes import ROOT
from qa.soak.servers.watched import raise_limit_of_files
from qa.soak.verdicts import Verdict

__all__ = ["main"]

_FULL = Effort(
    questions=500,
    streams=200,
    events_per_stream=50,
    listeners=1000,
    pause=10.0,
    kills=20,
    tasks=1000,
    requests=100_000,
    rate_seconds=10,
)
_QUICK = Effort(
    questions=30,
    streams=8,
    events_per_stream=20,
    listeners=40,
    pause=3.0,
    kills=1,
    tasks=20,
    requests=3_000,
    rate_seconds=3,
)

# Each gets a folder of its own and does its work there.
_PARTS: dict[str, Callable[[Effort, Path], Awaitable[list[Verdict]]]] = {
    "questions": measure_questions,
    "events": measure_events,
    "listeners": measure_listeners,
    "kills": measure_kills,
    "faults": measure_faults,
    "restarts": measure_restarts,
    "rates": measure_rates,
}


def main() -> int:
    """Measure, print, write; 1 where a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a short run that writes nothing")
    parser.add_argument("--only", choices=_PARTS, help="one part alone; writes nothing")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "cluster.md")
    arguments = parser.parse_args()
    raise_limit_of_files()
    began, load = time.monotonic(), os.getloadavg()[0]
    parts = [arguments.only] if arguments.only else list(_PARTS)
    verdicts = asyncio.run(_measure(parts, _QUICK if arguments.quick else _FULL))
    text = render(verdicts, time.monotonic() - began, load)
    print(text)
    if not arguments.quick and not arguments.only:
        write_between_markers(arguments.output, text, "cluster")
    missed = [verdict for verdict in verdicts if verdict.is_reached is False]
    print(f"\n{len(missed)} targets missed")
    return 1 if missed else 0


async def _measure(parts: list[str], effort: Effort) -> list[Verdict]:
    verdicts = []
    for part in parts:
        print(part, file=sys.stderr, flush=True)
        with TemporaryDirectory() as folder:
            verdicts += await _PARTS[part](effort, Path(folder))
    return verdicts


if __name__ == "__main__":
    raise SystemExit(main())

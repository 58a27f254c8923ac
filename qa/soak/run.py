"""`make soak`: load on real servers, over loopback.

.venv/bin/python -m qa.soak.run                    the whole run, writes docs/soak.md
.venv/bin/python -m qa.soak.run --quick            a short one, for a look; writes nothing
.venv/bin/python -m qa.soak.run --only streams     one part; writes nothing
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from qa.soak.connections import measure_connections
from qa.soak.million import measure_million
from qa.soak.page import render, write_between_markers
from qa.soak.processes import ROOT
from qa.soak.servers.watched import raise_limit_of_files
from qa.soak.sessions import measure_sessions
from qa.soak.shutdown import measure_shutdown
from qa.soak.streams import measure_legacy_streams, measure_streams
from qa.soak.vanishing import measure_vanishing
from qa.soak.verdicts import Effort, Verdict

__all__ = ["main"]

_FULL = Effort(
    connections=1000,
    calls_per_connection=50,
    sessions=10_000,
    peer_sessions=2000,
    requests=1_000_000,
    seconds_per_burst=10,
    streams=5000,
    seconds_of_killing=60.0,
    shutdowns=5,
)
_QUICK = Effort(
    connections=100,
    calls_per_connection=20,
    sessions=1000,
    peer_sessions=300,
    requests=30_000,
    seconds_per_burst=2,
    streams=300,
    seconds_of_killing=5.0,
    shutdowns=1,
)

_PARTS: dict[str, Callable[[Effort], Awaitable[list[Verdict]]]] = {
    "connections": measure_connections,
    "sessions": measure_sessions,
    "million": measure_million,
    "streams": measure_streams,
    "legacy-streams": measure_legacy_streams,
    "vanishing": measure_vanishing,
    "shutdown": measure_shutdown,
}


def main() -> int:
    """Measure, print, write; 1 where a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a short run that writes nothing")
    parser.add_argument("--only", choices=_PARTS, help="one part alone; writes nothing")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "soak.md")
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("wrk is missing; `make soak` installs it, or: apt-get install wrk")
    raise_limit_of_files()
    began, load = time.monotonic(), os.getloadavg()[0]
    parts = [arguments.only] if arguments.only else list(_PARTS)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        verdicts = runner.run(_measure(parts, _QUICK if arguments.quick else _FULL))
    text = render(verdicts, time.monotonic() - began, load)
    print(text)
    if not arguments.quick and not arguments.only:
        write_between_markers(arguments.output, text)
    missed = [verdict for verdict in verdicts if verdict.is_reached is False]
    print(f"\n{len(missed)} targets missed")
    return 1 if missed else 0


async def _measure(parts: list[str], effort: Effort) -> list[Verdict]:
    verdicts = []
    for part in parts:
        print(part, file=sys.stderr)
        verdicts += await _PARTS[part](effort)
    return verdicts


if __name__ == "__main__":
    raise SystemExit(main())

"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from qa.bench.environments import ROOT, prepare
from qa.bench.measures import Effort
from qa.bench.page import write_between_markers
from qa.bench.parts import PARTS

__all__ = ["main"]

_FULL = Effort(
    rounds=7,
    turn=0.3,
    starts=7,
    calls_for_memory=10_000,
    naps=1000,
    naps_in_threads=64,
    http_rounds=7,
    http_turn=1,
)
_QUICK = Effort(
    rounds=2,
    turn=0.1,
    starts=2,
    calls_for_memory=1000,
    naps=200,
    naps_in_threads=32,
    http_rounds=1,
    http_turn=1,
)


def main() -> int:
    """Measure, print, write; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run that writes nothing")
    parser.add_argument("--only", choices=PARTS, help="this part alone; the page keeps the others")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmarks.md")
    arguments = parser.parse_args()
    # So that whoever ends the run ends the servers with it.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    effort = _QUICK if arguments.quick else _FULL
    prepare()
    missed = 0
    for part in [arguments.only] if arguments.only else PARTS:
        print(f"part: {part}", file=sys.stderr)
        text, targets = PARTS[part](effort)
        print(text, end="\n\n")
        if not arguments.quick:
            write_between_markers(arguments.output, part, text)
        missed += sum(target.is_promise and not target.is_reached for target in targets)
    print(f"{missed} targets missed")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())

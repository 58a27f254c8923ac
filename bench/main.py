"""The command line of the benchmark."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.environments import ROOT, prepare
from bench.measures import Effort, measure_all
from bench.page import render, write_between_markers
from bench.targets import judge

__all__ = ["main"]

_FULL = Effort(rounds=7, turn=0.3, starts=7, calls_for_memory=10_000, naps=1000, naps_in_threads=64)
_QUICK = Effort(rounds=2, turn=0.1, starts=2, calls_for_memory=1000, naps=200, naps_in_threads=32)


def main() -> int:
    """Measure, print, write; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run that writes nothing")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmarks.md")
    arguments = parser.parse_args()
    effort = _QUICK if arguments.quick else _FULL
    prepare()
    results = measure_all(effort)
    targets = judge(results)
    text = render(results, effort, targets)
    print(text)
    if not arguments.quick:
        write_between_markers(arguments.output, text)
    missed = [target for target in targets if target.is_promise and not target.is_reached]
    print(f"\n{len(missed)} targets missed")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())

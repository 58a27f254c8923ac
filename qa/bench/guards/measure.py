"""Runs the gatehouse: what a guard adds to a call."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

from qa.bench.environments import python_of

__all__ = ["GuardResults", "measure_guards"]

_SCRIPT = Path(__file__).with_name("gatehouse.py")


class GuardResults(NamedTuple):
    """CPU of a call in microseconds, by what stands around it."""

    calls: int
    cpu: dict[str, float]
    # The same for keys that are not let in, by what is wrong with them.
    refused: dict[str, float]

    def added(self, way: str) -> float:
        """What a guard adds."""
        return self.cpu[way] - self.cpu["none"]


def measure_guards(rounds: int, calls: int) -> GuardResults:
    """All ways in turns, in one process of their own."""
    words = [str(python_of("bench-dovetail")), str(_SCRIPT), str(calls), str(rounds)]
    done = subprocess.run(words, capture_output=True, check=True, text=True)
    found = json.loads(done.stdout)
    return GuardResults(calls, found["passed"], found["refused"])

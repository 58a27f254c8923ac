"""Runs both: drawing in one process, the server in another."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import NamedTuple

from bench.design.studio import StudioFigures, measure_studio
from bench.environments import ROOT

__all__ = ["DesignResults", "measure_design"]


class DesignResults(NamedTuple):
    """What was measured."""

    # CPU milliseconds of the best round, ours and direct, by what was drawn.
    drawings: dict[str, list[float]]
    studio: StudioFigures


def measure_design(rounds: int, designs: int) -> DesignResults:
    """Draw, then serve."""
    words = [sys.executable, "-m", "bench.design.easel", str(rounds)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, check=True, text=True)
    return DesignResults(json.loads(done.stdout), measure_studio(designs, rounds))

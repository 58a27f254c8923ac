"""Runs both: drawing in one process, the server in another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import NamedTuple

from qa.bench.design.studio import StudioFigures, measure_studio
from qa.bench.environments import ROOT

__all__ = ["DesignResults", "measure_design"]


class DesignResults(NamedTuple):
    """What was measured."""

    # CPU milliseconds of the best round, ours and direct, by what was drawn.
    drawings: dict[str, list[float]]
    # Milliseconds of the best round, in the server's process and in a worker.
    isolation: dict[str, list[float]]
    studio: StudioFigures


def measure_design(rounds: int, designs: int) -> DesignResults:
    """Draw, then serve."""
    return DesignResults(
        _run("qa.bench.design.easel", rounds),
        _run("qa.bench.design.isolation", rounds),
        measure_studio(designs, rounds),
    )


def _run(module: str, rounds: int) -> dict[str, list[float]]:
    words = [sys.executable, "-m", module, str(rounds)]
    # Workers do not look for modules in the current folder.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True, text=True
    )
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found

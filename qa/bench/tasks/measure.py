"""Runs the yard: tasks in memory and in a file."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from qa.bench.environments import python_of

__all__ = ["TaskResults", "Turn", "measure_tasks"]

_SCRIPT = Path(__file__).with_name("yard.py")


class Turn(NamedTuple):
    """What tasks cost in one store."""

    # CPU of making a task that does nothing, until its end is kept; and of one look at it.
    create_us: float
    poll_us: float
    # Memory of one that waits for its client, and what it takes in a file.
    parked_bytes: float
    row_bytes: float = 0.0


class TaskResults(NamedTuple):
    """The costs in both stores."""

    tasks: int
    parked: int
    memory: Turn
    file: Turn


def measure_tasks(rounds: int, tasks: int, parked: int) -> TaskResults:
    """The best of several rounds for the time, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        files = iter(f"sqlite:///{folder}/{number}.sqlite3" for number in range(rounds))
        memory = _best([_run("memory://", tasks, parked) for _ in range(rounds)])
        file = _best([_run(next(files), tasks, parked) for _ in range(rounds)])
    return TaskResults(tasks, parked, memory, file)


def _run(store: str, tasks: int, parked: int) -> Turn:
    words = [str(python_of("bench-dovetail")), str(_SCRIPT), store, str(tasks), str(parked)]
    done = subprocess.run(words, capture_output=True, check=True, text=True)
    return Turn(**json.loads(done.stdout))


def _best(turns: list[Turn]) -> Turn:
    return Turn(*(min(figures) for figures in zip(*turns, strict=True)))

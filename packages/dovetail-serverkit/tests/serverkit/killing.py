"""Start writer processes that report what they have written, and kill them while they write."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
# Number of processes to kill; `make durability` sets DURABILITY_RUNS=100.
RUNS = int(os.environ.get("DURABILITY_RUNS", "10"))


def start_writer(
    module: str, place: Path, who: str, count: int, prefix: str = ""
) -> subprocess.Popen[str]:
    """Start `python -m MODULE PLACE WHO COUNT` in a shell, after the commands in `prefix`."""
    words = f"{prefix}exec {sys.executable} -m {module} {place} {who} {count}"
    return subprocess.Popen(
        ["/bin/sh", "-c", words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_writers(
    start: Callable[[str, int], subprocess.Popen[str]], assert_whole: Callable[[set[str]], int]
) -> None:
    """Kill one writer after the other; everything they reported must be stored, and complete."""
    answered: set[str] = set()
    for number in range(RUNS):
        writer = start(f"run{number}", 1_000_000)
        assert writer.stdout is not None
        # Kill each at another point: after so many reports, during the next change.
        lines = [writer.stdout.readline() for _ in range(1 + number % 7)]
        os.kill(writer.pid, signal.SIGKILL)
        rest, _ = writer.communicate()
        answered |= {
            line.strip()
            for line in [*lines, *rest.splitlines(keepends=True)]
            if line.endswith("\n")
        }
        if number % 10 == 9:
            assert_whole(answered)
    assert assert_whole(answered) >= len(answered) >= RUNS

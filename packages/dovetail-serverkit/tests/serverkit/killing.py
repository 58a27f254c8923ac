"""Programs that write and say what they have written; some of them are killed amid it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
# So many are killed; DURABILITY_RUNS=100 (make durability) is the whole proof.
RUNS = int(os.environ.get("DURABILITY_RUNS", "10"))


def start_writer(
    module: str, place: Path, who: str, count: int, prefix: str = ""
) -> subprocess.Popen[str]:
    """`python -m MODULE PLACE WHO COUNT`, behind what a shell is to do before."""
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
    """Kill one after the other; what they said they had written must be there, and whole."""
    answered: set[str] = set()
    for number in range(RUNS):
        writer = start(f"run{number}", 1_000_000)
        assert writer.stdout is not None
        # Each is killed at another point: after so many answers, amid the next change.
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

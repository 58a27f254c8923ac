"""CPU time and memory of a served server at its start, with and without the console."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from qa.bench.environments import ROOT, python_of
from qa.bench.processes import cpu_seconds, surroundings

__all__ = ["StartFigures", "measure_starts"]

_PATIENCE = 60.0
_FILE = Path(__file__).parent / "one_tool.py"
_WAYS = {"--no-console": False, "--console": True}


class StartFigures(NamedTuple):
    """Medians, after the server has answered the first request."""

    cpu_ms: float
    # Resident memory.
    megabytes: float


def measure_starts(rounds: int) -> dict[str, StartFigures]:
    """Start a server with one tool without and with the console, in turns."""
    found: dict[str, list[StartFigures]] = {option: [] for option in _WAYS}
    # The first round is to warm up.
    for number in range(rounds + 1):
        for option, has_page in _WAYS.items():
            figures = _start(option, has_page=has_page)
            found[option] += [figures] if number else []
    return {option: _median(each) for option, each in found.items()}


def _start(option: str, *, has_page: bool) -> StartFigures:
    command = [str(python_of("bench-dovetail")), "-m", "dovetail", "run", str(_FILE)]
    with subprocess.Popen(
        [*command, "--http", "127.0.0.1:0", option],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=surroundings(),
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            base = line.partition("serving ")[2].partition("/mcp")[0]
            if not base:
                raise ConnectionError(f"{command!r} does not listen: {line}")
            _wait_for(f"{base}/console/", 200 if has_page else 404)
            return StartFigures(cpu_seconds(process.pid) * 1000, _resident(process.pid))
        finally:
            process.kill()


def _wait_for(url: str, status: int) -> None:
    """Get the page, which exists only with the console."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=_PATIENCE) as answer:
                found = int(answer.status)
        except urllib.error.HTTPError as error:
            found = error.code
        except OSError:
            time.sleep(0.05)
            continue
        assert found == status, found
        return
    raise TimeoutError(url)


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return float(status.partition("VmRSS:")[2].split()[0]) / 1000


def _median(figures: Sequence[StartFigures]) -> StartFigures:
    return StartFigures(
        statistics.median(each.cpu_ms for each in figures),
        statistics.median(each.megabytes for each in figures),
    )


if __name__ == "__main__":
    print(measure_starts(int(sys.argv[1])))

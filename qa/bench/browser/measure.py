"""Each does the task on the same site: once with no browser there yet, then again and again."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from qa.bench.browser.contestants import CONTESTANTS, PEER_HOME, Contestant
from qa.bench.browser.site import serve_site
from qa.bench.piped_server import PipedServer

__all__ = ["BrowserFigures", "measure_browser"]


class BrowserFigures(NamedTuple):
    """Milliseconds; of the warm rounds the median."""

    # From the start of the process to the list of tools; no browser runs then.
    tools: float
    # The first fetch, which starts the browser.
    cold_fetch: float
    warm: dict[str, float]
    # What came back as text, by step, in one warm round.
    characters: dict[str, int]

    @property
    def all_characters(self) -> int:
        """Of the whole task."""
        return sum(self.characters.values())


def measure_browser(rounds: int) -> dict[str, BrowserFigures]:
    """All contestants, one after the other: two browsers at once would share two cores."""
    PEER_HOME.prepare()
    with serve_site() as site:
        return {name: _measure(one, site, rounds) for name, one in CONTESTANTS.items()}


def _measure(contestant: Contestant, site: str, rounds: int) -> BrowserFigures:
    # The peer leaves files where it runs.
    with tempfile.TemporaryDirectory() as folder:
        command = contestant.command(site)
        starts = [_start(command, Path(folder)) for _ in range(3)]
        with PipedServer(command, folder=Path(folder)) as server:
            times: dict[str, list[float]] = {name: [] for name in contestant.steps}
            characters = {}
            for _ in range(rounds + 1):
                for name, step in contestant.steps.items():
                    before, began = server.answered_in_all, time.perf_counter()
                    step(server, site)
                    times[name].append((time.perf_counter() - began) * 1000)
                    characters[name] = server.answered_in_all - before
    cold = times["fetch"][0]
    warm = {name: statistics.median(spent[1:]) for name, spent in times.items()}
    return BrowserFigures(min(starts), cold, warm, characters)


def _start(command: list[str], folder: Path) -> float:
    with PipedServer(command, folder=folder) as server:
        server.request("tools/list", {})
        return (time.perf_counter() - server.begun) * 1000

"""The figures: every search is a whole tools/call over stdio, with context lines."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from qa.bench.vault.corpus import EVERYWHERE, MIDDLE, RARE, make_vault
from qa.bench.vault.process import VaultProcess

__all__ = ["QUERIES", "Figures", "measure_vault"]

# What is searched, the words for ripgrep and the scan (None: they have no such search).
QUERIES: dict[str, tuple[str, str | None]] = {
    "a rare word": (RARE, RARE),
    "a word in one note of ten": (MIDDLE, MIDDLE),
    "a word in every note": (EVERYWHERE, EVERYWHERE),
    "part of a word": (EVERYWHERE[2:7], EVERYWHERE[2:7]),
    "two words": (f"{EVERYWHERE} {MIDDLE}", None),
    "either of two words": (f"{RARE} OR {MIDDLE}", None),
    "not a word": (f"{EVERYWHERE} NOT {MIDDLE}", None),
    "a tag and a word": (f"tag:tag7 {EVERYWHERE}", None),
}
_LIMIT = 20
_WARM_UP = 5
_OUTSIDE_EDITS = 9


class Figures(NamedTuple):
    """What was measured on a vault of one size."""

    notes: int
    # Seconds of every single search, by what was searched.
    searches: dict[str, list[float]]
    ripgrep: dict[str, float]
    scan: float
    cold_seconds: float
    warm_ready: float
    warm_complete: float
    # Until an edit by another program is found, and until every note has been listed.
    outside_edit: float
    listing: float
    memory_now: float
    memory_most: float
    index_megabytes: float

    def quantile(self, share: float, kind: str | None = None) -> float:
        """Of one kind of search, or of all."""
        every = self.searches.values() if kind is None else [self.searches[kind]]
        times = sorted(t for times in every for t in times)
        return times[min(len(times) - 1, int(share * len(times)))]

    @property
    def rate(self) -> float:
        """Notes per second of the first pass."""
        return self.notes / self.cold_seconds


def measure_vault(notes: int, repeats: int) -> Figures:
    """Make a vault, serve it, search it, and search it by other means."""
    home = Path(tempfile.mkdtemp(prefix="dovetail-bench-vault-"))
    try:
        vault, index = home / "vault", home / "index"
        make_vault(vault, notes)
        with VaultProcess(vault, index) as cold:
            cold_seconds = cold.wait_until_complete()
            _, most_cold = cold.memory()
        with VaultProcess(vault, index) as server:
            server.data("search-vault", {"query": RARE, "limit": _LIMIT})
            ready = time.perf_counter() - server.begun
            complete = server.wait_until_complete()
            searches = _search(server, repeats)
            fingerprint = _edit_outside(server, vault)
            listed, listing = server.list_everything()
            assert listed > notes, listed
            now, most = server.memory()
        commands = {name: text for name, (_, text) in QUERIES.items() if text is not None}
        few = 5 if notes <= 20_000 else 3
        return Figures(
            notes,
            searches,
            {name: _median(few, _ripgrep(vault, text)) for name, text in commands.items()},
            _median(few, lambda: _scan(vault, EVERYWHERE)),
            cold_seconds,
            ready,
            complete,
            fingerprint,
            listing,
            now,
            max(most, most_cold),
            (index / "index.sqlite").stat().st_size / 1e6,
        )
    finally:
        shutil.rmtree(home)


def _search(server: VaultProcess, repeats: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in QUERIES}
    for turn in range(repeats + _WARM_UP):
        for name, (query, _) in QUERIES.items():
            begun = time.perf_counter()
            found = server.data("search-vault", {"query": query, "limit": _LIMIT})
            spent = time.perf_counter() - begun
            assert found["files"], query
            if turn >= _WARM_UP:
                times[name].append(spent)
    return times


def _edit_outside(server: VaultProcess, vault: Path) -> float:
    """Seconds from the end of a write by another program until a search finds it."""
    times = []
    for number in range(_OUTSIDE_EDITS):
        word = f"outsideword{number}x"
        with open(vault / "folder000" / f"note{number}.md", "a", encoding="utf-8") as file:
            file.write(f"{word}\n")
        begun = time.perf_counter()
        while not server.data("search-vault", {"query": word, "limit": 1})["files"]:
            time.sleep(0.005)
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def _median(count: int, work: Callable[[], object]) -> float:
    times = []
    for _ in range(count + 1):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times[1:])


def _ripgrep(vault: Path, text: str) -> Callable[[], object]:
    program = Path(sys.executable).parent / "rg"
    words = [str(program), "--no-config", "-j2", "-i", "-l", "-F", text, str(vault)]
    return lambda: subprocess.run(words, stdout=subprocess.DEVNULL, check=True)


def _scan(vault: Path, text: str) -> int:
    """What a server without an index does on each search."""
    found = 0
    for folder, _, names in os.walk(vault):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found += text in file.read().lower()
    return found

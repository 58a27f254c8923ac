"""Many fetches, flat memory: of the server, of the browser's driver, and of the browser.

A small number of them in the usual run; BROWSER_FETCHES=1000 does as many.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deep.browser.driving import BrowserHarness, desk
from tests.deep.browser.processes import descendants

FETCHES = int(os.environ.get("BROWSER_FETCHES", "60"))
_WARM_UP = 30
# Megabytes that may come and go: garbage not collected yet, caches that fill up.
_SLACK = {"server": 12, "driver": 60, "browser": 120}
# What each further fetch may add, in megabytes; a page that stayed would be a hundred times that.
_PER_FETCH = 0.02


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserHarness]:
    with desk() as opened:
        yield opened


def kind_of(line: str) -> str | None:
    if "serve browser" in line:
        return "server"
    if "run-driver" in line:
        return "driver"
    return "browser" if "--type=" in line or "chromium" in line.partition(" ")[0] else None


def measure() -> dict[str, float]:
    """Megabytes of memory that the processes have to themselves, by kind."""
    sums = dict.fromkeys(_SLACK, 0.0)
    for pid, line in descendants().items():
        kind = kind_of(line)
        try:
            rolled = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        if kind is not None:
            sizes = (row.split() for row in rolled.splitlines() if row.startswith("Private_"))
            sums[kind] += sum(int(row[1]) for row in sizes) / 1024
    return sums


@pytest.mark.slow
def test_memory_is_flat_over_many_fetches(browser: BrowserHarness) -> None:
    def fetch(number: int) -> None:
        form = ("html", "markdown", "text", "snapshot")[number % 4]
        path = ("/", "/form", "/spa", "/long?n=300")[number // 4 % 4]
        browser.fetch(path, format=form, postLoadWait=0)

    for number in range(_WARM_UP):
        fetch(number)
    before = measure()
    assert all(before.values()), before
    for number in range(FETCHES):
        fetch(number)
    after = measure()
    for kind, slack in _SLACK.items():
        grown = after[kind] - before[kind]
        assert grown < slack + _PER_FETCH * FETCHES, (kind, before, after)
    print(f"\n{FETCHES} fetches, MB before {before}, after {after}")  # noqa: T201

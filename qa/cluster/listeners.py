"""One updated resource and many listeners, spread over all processes."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from dovetail.client import Client
from qa.cluster.effort import Effort, running_shop
from qa.soak.verdicts import Verdict
from tests.cluster.listening import listening
from tests.cluster.shop import NEWS
from tests.patience import CAP

__all__ = ["measure_listeners"]

_LAST = "shop://last"
_ROUNDS = 5


async def measure_listeners(effort: Effort, folder: Path) -> list[Verdict]:
    """Announce updates at any process, and count what each listener is told."""
    seconds: list[float] = []
    wrong = 0
    with running_shop(folder) as cluster:
        uris = [NEWS, _LAST]
        async with (
            listening(cluster.ports, effort.listeners, uris) as listeners,
            Client(cluster.url, mode="2026-07-28", timeout=CAP) as client,
        ):
            for _ in range(_ROUNDS):
                began = time.perf_counter()
                await client.call("announce", {"uri": NEWS})
                await asyncio.gather(*(each.until_told(NEWS) for each in listeners))
                seconds.append(time.perf_counter() - began)
                # Messages between processes are in order, so a second one would be here before.
                await client.call("announce", {"uri": _LAST})
                await asyncio.gather(*(each.until_told(_LAST) for each in listeners))
                wrong += sum(sorted(each.told) != sorted(uris) for each in listeners)
                for each in listeners:
                    each.told.clear()
    what = f"{effort.listeners:,} listeners over all processes"
    return [
        Verdict(
            f"{what}: not notified exactly once, {_ROUNDS} updates", "0", str(wrong), wrong == 0
        ),
        Verdict(f"{what}: until all are notified", "", f"{1000 * max(seconds):.0f} ms"),
    ]

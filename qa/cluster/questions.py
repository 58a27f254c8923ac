"""A question asked by one process and answered by a POST to another one."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx

from qa.cluster.effort import Effort, percentile, running_shop
from qa.soak.verdicts import Verdict
from tests.cluster.legacy_client import LegacyClient
from tests.patience import CAP

__all__ = ["measure_questions"]

# Milliseconds that the way through Redis may add at p99.
_MOST = 15.0


async def measure_questions(effort: Effort, folder: Path) -> list[Verdict]:
    """Elicitations of a legacy session, answered at the same process and at another one in turn."""
    times: dict[bool, list[float]] = {False: [], True: []}
    with running_shop(folder) as cluster:
        urls = [process.url for process in cluster.processes]
        async with httpx.AsyncClient(timeout=CAP) as http:
            client = LegacyClient(http, urls)
            await client.start(0, elicitation={})
            await client.ready(0)
            for number in range(effort.questions + 10):
                for elsewhere in (False, True):
                    asked = number % len(urls)
                    answered = (asked + 1 + number % (len(urls) - 1)) % len(urls)
                    seconds = await _ask(client, number, asked, answered if elsewhere else asked)
                    if number >= 10:
                        times[elsewhere].append(seconds * 1000)
    here, there = times[False], times[True]
    added = percentile(there, 99) - percentile(here, 99)
    return [
        Verdict(
            f"{len(here):,} questions asked and answered at one process: p50, p99",
            "",
            f"{percentile(here, 50):.1f}, {percentile(here, 99):.1f} ms",
        ),
        Verdict(
            f"{len(there):,} questions asked at A, answered at B: p50, p99",
            "",
            f"{percentile(there, 50):.1f}, {percentile(there, 99):.1f} ms",
        ),
        Verdict("added at p99", f"<= {_MOST:.0f} ms", f"{added:.1f} ms", added <= _MOST),
    ]


async def _ask(client: LegacyClient, number: int, asked: int, answered: int) -> float:
    """Seconds from the call to its result."""
    id = f"{number}-{asked}-{answered}"
    began = time.perf_counter()
    async with client.streamed_call(asked, "order", id) as events:
        async for _, data in events:
            message = json.loads(data) if data else {}
            if message.get("method") == "elicitation/create":
                result = {"action": "accept", "content": {"amount": number}}
                sent = await client.send(answered, {"id": message["id"], "result": result})
                assert sent.status_code == 202, sent.text
            elif message.get("id") == id:
                assert message["result"]["content"][0]["text"] == f"{number} ordered", message
                return time.perf_counter() - began
    raise AssertionError("the stream ended without a result")

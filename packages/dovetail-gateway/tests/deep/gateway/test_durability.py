"""An upstream that is killed again and again under load: every call gets an answer.

A few kills by default; DURABILITY_RUNS=100 (make durability) is the whole test, which also measures
how long a call took at most: it is answered, or the error names the upstream, within a second.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest

from dovetail import Client, Proxy
from dovetail.client import CallResult
from tests.patience import CAP
from tests.proxy.pairing import LEGACY, MODERN, UPSTREAM

KILLS = int(os.environ.get("DURABILITY_RUNS", "2"))
# Seconds that a call may take on a machine that does nothing else.
MOST_SECONDS = 1.0 if "DURABILITY_RUNS" in os.environ else CAP
CALLERS = 4


class Load:
    """Callers that call without a pause, and what they were told."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.is_over = False
        self.answers = 0
        self.told: list[str] = []
        self.wrong: list[str] = []
        self.slowest = 0.0

    async def run(self) -> None:
        """Call until the load is over; a call without an answer would never end."""
        number = 0
        while not self.is_over:
            number += 1
            begun = time.perf_counter()
            result = await self._client.call("add", {"a": number, "b": 1}, timeout=CAP)
            self.slowest = max(self.slowest, time.perf_counter() - begun)
            self._take(result, number + 1)
            await asyncio.sleep(0)

    def _take(self, result: CallResult, wanted: int) -> None:
        if not result.is_error and result.text == str(wanted):
            self.answers += 1
        elif "The upstream server 'shop' is unavailable" in result.text:
            self.told.append(result.text)
        else:
            self.wrong.append(result.text)

    async def until_answered(self, more: int) -> None:
        """Wait for so many more right answers."""
        wanted = self.answers + more
        while self.answers < wanted and not self.wrong:
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_a_child_process_is_killed_under_load(mode: str) -> None:
    async def scenario() -> Load:
        proxy = Proxy(UPSTREAM, name="shop", mode=mode)
        async with asyncio.timeout(CAP * 4), Client(proxy, timeout=CAP) as client:
            load = Load(client)
            callers = [asyncio.create_task(load.run()) for _ in range(CALLERS)]
            sizes = []
            tracemalloc.start()
            for _ in range(KILLS):
                await load.until_answered(5)
                result = await client.call("pid", timeout=CAP)
                if not result.is_error:
                    os.kill(int(result.text), signal.SIGKILL)
                sizes.append(tracemalloc.get_traced_memory()[0])
            await load.until_answered(20)
            tracemalloc.stop()
            load.is_over = True
            await asyncio.gather(*callers)
            assert len(proxy._upstream._open) <= 1
        await proxy.close()
        # Memory is flat: the second half needs no more than the first, but for noise.
        half = len(sizes) // 2
        assert min(sizes[half:]) < max(sizes[: half + 1]) * 1.5 + 2_000_000
        return load

    load = asyncio.run(scenario())
    assert not load.wrong
    assert load.answers >= KILLS * 5
    assert load.slowest <= MOST_SECONDS


class Served:
    """An upstream over HTTP that always has the same port."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "log"
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; without waiting, except for its first port."""
        with self._log.open("w") as errors:
            words = [*UPSTREAM, "--http", f"127.0.0.1:{self._port}"]
            assert words[0] == sys.executable
            self._process = subprocess.Popen(words, stderr=errors)
        while not self._port:
            found = re.search(r"http://127.0.0.1:(\d+)/", self._log.read_text())
            self._port = int(found[1]) if found else 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/mcp"

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_a_server_is_killed_under_load(mode: str, tmp_path: Path) -> None:
    async def scenario(served: Served) -> Load:
        proxy = Proxy(served.url, name="shop", mode=mode)
        async with asyncio.timeout(CAP * 4), Client(proxy, timeout=CAP) as client:
            load = Load(client)
            callers = [asyncio.create_task(load.run()) for _ in range(CALLERS)]
            for _ in range(KILLS):
                await load.until_answered(5)
                served.kill()
                served.start()
            await load.until_answered(20)
            load.is_over = True
            await asyncio.gather(*callers)
        await proxy.close()
        return load

    served = Served(tmp_path)
    served.start()
    try:
        load = asyncio.run(scenario(served))
    finally:
        served.kill()
    assert not load.wrong
    assert load.told
    assert load.answers >= KILLS * 5
    assert load.slowest <= MOST_SECONDS

"""Rate limits over several processes: how exact they are, and what they cost.

    python -m qa.cluster.rate_limits redis://127.0.0.1:6379/0

Four processes make calls as fast as they can under one common rate, until the bucket is empty at
the end. What passed is compared with the burst and the rate over the time between the first call
and the last, so the result does not depend on how many calls a busy machine manages to make.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import subprocess
import sys
import time
from typing import NamedTuple

from dovetail import Options, Server
from dovetail.auth import Guard, Limits, Rate

__all__ = ["RateCost", "RateExactness", "measure_cost", "measure_exactness"]

_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
_PARAMS = {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": _META}
_CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": _PARAMS}).encode()
_KEY = b"the state key of the measurements"
# Seconds in which all processes start.
_START = 5.0
# Calls at the same time in each process.
_CALLERS = 4


class RateExactness(NamedTuple):
    """Calls that passed, and how many the rate allows."""

    processes: int
    offered: int
    passed: int
    allowed: float

    @property
    def error(self) -> float:
        """The deviation in percent."""
        return 100 * (self.passed / self.allowed - 1)


class _Count(NamedTuple):
    """The calls of one process, and when the first and the last were made."""

    offered: int
    passed: int
    first: float
    last: float


class RateCost(NamedTuple):
    """CPU of a call of this process in microseconds."""

    without_guard: float
    in_process: float
    in_cluster: float

    @property
    def added(self) -> float:
        """What a rate limit of a cluster adds to a call without one."""
        return self.in_cluster - self.without_guard


def measure_exactness(
    url: str, *, processes: int = 4, rate: float = 200.0, seconds: float = 10.0
) -> RateExactness:
    """Let processes make more calls than the rate allows."""
    name = secrets.token_hex(6)
    begin = time.monotonic() + _START
    settings = [f"{url}?name={name}", rate, begin, begin + seconds]
    command = [sys.executable, "-m", "qa.cluster.rate_limits", "--count", json.dumps(settings)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(processes)]
    counts = [_Count(*json.loads(each.communicate()[0])) for each in started]
    took = max(each.last for each in counts) - min(each.first for each in counts)
    return RateExactness(
        processes,
        sum(each.offered for each in counts),
        sum(each.passed for each in counts),
        # The burst is the calls of one second.
        rate + rate * took,
    )


async def measure_cost(
    url: str, *, calls: int = 2000, callers: int = 16, rounds: int = 5
) -> RateCost:
    """Measure calls of callers who each wait for their answer; the best round counts."""
    limits = Limits(per_principal=Rate(1e6), total=Rate(1e6))
    servers = [
        _make_server(None, None),
        _make_server(None, limits),
        _make_server(f"{url}?name={secrets.token_hex(6)}", limits),
    ]
    best = [float("inf")] * len(servers)
    for server in servers:
        await server.start()
    try:
        for _ in range(rounds):
            for place, server in enumerate(servers):
                started = time.process_time()
                waiting = [_call_often(server, calls // callers) for _ in range(callers)]
                await asyncio.gather(*waiting)
                took = (time.process_time() - started) / calls * 1e6
                best[place] = min(best[place], took)
    finally:
        for server in servers:
            await server.close()
    return RateCost(*best)


async def _call_often(server: Server, calls: int) -> None:
    for _ in range(calls):
        await server.handle(_CALL, principal="ada")


def _make_server(url: str | None, limits: Limits | None) -> Server:
    options = Options(state=url, state_keys=[_KEY])
    guard = None if limits is None else Guard(limits=limits)
    server = Server("rates", options=options, guard=guard)

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    return server


async def _count(url: str, rate: float, begin: float, end: float) -> _Count:
    """Make calls until one is rejected after the end."""
    server = _make_server(url, Limits(total=Rate(rate)))
    await server.start()
    await asyncio.sleep(begin - time.monotonic())
    offered = passed = 0
    first = time.monotonic()

    async def keep_calling() -> float:
        nonlocal offered, passed
        while True:
            answer = await server.handle(_CALL)
            is_passed = answer is not None and b'"result"' in answer
            offered, passed = offered + 1, passed + is_passed
            now = time.monotonic()
            if now >= end and not is_passed:
                return now

    ends = await asyncio.gather(*(keep_calling() for _ in range(_CALLERS)))
    await server.close()
    return _Count(offered, passed, first, max(ends))


def main(arguments: list[str]) -> None:
    """Print the figures, or the counts of one process."""
    if arguments[0] == "--count":
        sys.stdout.write(json.dumps(asyncio.run(_count(*json.loads(arguments[1])))))
        return
    exact = measure_exactness(arguments[0])
    lines = [
        f"{exact.processes} processes: {exact.passed} of {exact.offered} calls passed, "
        f"{exact.allowed:.0f} allowed: {exact.error:+.2f} %"
    ]
    for callers in (1, 16):
        cost = asyncio.run(measure_cost(arguments[0], callers=callers))
        lines.append(
            f"{callers} at the same time, CPU per call: {cost.without_guard:.1f} us without a "
            f"guard, {cost.in_process:.1f} us with rates of a process, {cost.in_cluster:.1f} us "
            f"with rates of a cluster ({cost.added:+.1f})"
        )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

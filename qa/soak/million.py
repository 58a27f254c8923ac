"""A million requests of both eras, mixed, at one server: its memory must not grow with them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import NamedTuple

from qa.soak.http_client import Connection, open_session
from qa.soak.processes import HttpServer
from qa.soak.verdicts import Effort, Verdict

__all__ = ["measure_million"]

_MOST_GROWTH = 5_000_000
_SESSIONS = 8
_CONNECTIONS = 32
_SCRIPT = Path(__file__).with_name("million.lua")
# Bursts until there are enough; a machine on which they take this many is too slow for this.
_MOST_BURSTS = 60


class _Burst(NamedTuple):
    right: int
    wrong: int
    # Of sockets: refused, reset, timed out.
    errors: int
    p50: int
    p99: int
    example: str


class _Sample(NamedTuple):
    done: int
    rss: int


async def measure_million(effort: Effort) -> list[Verdict]:
    """Memory between a tenth of the requests and the last one."""
    with HttpServer() as server:
        sessions = [await _session(server) for _ in range(_SESSIONS)]
        bursts: list[_Burst] = []
        samples: list[_Sample] = []
        cpu, began = server.cpu, time.perf_counter()
        while (done := sum(burst.right for burst in bursts)) < effort.requests:
            if len(bursts) == _MOST_BURSTS or any(b.wrong or b.errors for b in bursts):
                break
            bursts.append(await _burst(server, sessions, effort.seconds_per_burst, samples, done))
        took, cpu = time.perf_counter() - began, server.cpu - cpu
        counts = await server.counts()
    done = sum(burst.right for burst in bursts)
    wrong = sum(burst.wrong + burst.errors for burst in bursts)
    growth, first, most = _growth(samples, done)
    told = f"{done:,} right, {wrong:,} wrong"
    if wrong:
        told += f": {next((burst.example for burst in bursts if burst.wrong), 'of sockets')}"
    return [
        Verdict(
            f"{effort.requests:,} requests, both eras mixed, {_CONNECTIONS} connections",
            "all correct",
            told,
            done >= effort.requests and not wrong,
        ),
        Verdict(
            "growth of memory from a tenth of them to the end",
            f"under {_MOST_GROWTH / 1e6:.0f} MB",
            f"{growth / 1e6:.2f} MB (from {first / 1e6:.1f} to at most {most / 1e6:.1f} MB)",
            growth < _MOST_GROWTH,
        ),
        Verdict(
            "open at the end: sessions, calls, streams",
            f"{_SESSIONS}, 0, 0",
            f"{counts['sessions']}, {counts['calls']}, {counts['streams']}",
            (counts["sessions"], counts["calls"], counts["streams"]) == (_SESSIONS, 0, 0),
        ),
        Verdict(
            "rate, and CPU of the server for one",
            "-",
            f"{done / took:,.0f}/s, {cpu / max(1, done) * 1e6:.0f} us",
        ),
        Verdict(
            "response time, p50 and p99, worst burst",
            "-",
            f"{max(b.p50 for b in bursts) / 1e3:.1f} ms, {max(b.p99 for b in bursts) / 1e3:.1f} ms",
        ),
    ]


async def _session(server: HttpServer) -> str:
    connection = await Connection.open(server.port)
    session = await open_session(connection)
    await connection.close()
    return session


async def _burst(
    server: HttpServer, sessions: list[str], seconds: int, samples: list[_Sample], done: int
) -> _Burst:
    command = ["wrk", "--threads=1", f"--connections={_CONNECTIONS}", f"--duration={seconds}s"]
    command += [f"--script={_SCRIPT}", f"http://127.0.0.1:{server.port}/mcp", "--", *sessions]
    wrk = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    talk = asyncio.create_task(wrk.communicate())
    seen: list[int] = []
    while not (await asyncio.wait({talk}, timeout=0.5))[0]:
        seen.append(server.rss)
    output, _ = await talk
    line = next((line for line in output.decode().splitlines() if line.startswith("SOAK ")), None)
    if line is None:
        raise RuntimeError(f"wrk told nothing: {output.decode()[-500:]}")
    *numbers, example = line.split(" ", 6)[1:]
    right, wrong, errors, p50, p99 = map(int, numbers)
    burst = _Burst(right, wrong, errors, p50, p99, example)
    # wrk tells its count at the end only; meanwhile the rate is as good as even.
    samples += [
        _Sample(done + burst.right * (place + 1) // len(seen), rss)
        for place, rss in enumerate(seen)
    ]
    return burst


def _growth(samples: list[_Sample], done: int) -> tuple[int, int, int]:
    """Growth, the memory at a tenth of the requests, the most after that."""
    later = [sample.rss for sample in samples if sample.done >= done / 10]
    if not later:
        return 0, 0, 0
    return max(later) - later[0], later[0], max(later)

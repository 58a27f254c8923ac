"""Calls of an addition through each gateway, one in flight and sixteen."""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import NamedTuple

from qa.bench.environments import ROOT, python_of
from qa.bench.gateway.field import DIRECT, GATEWAYS, Gateway, adder_command
from qa.bench.listening import free_port, listening
from qa.bench.over_http.client import FIRST_ID, check, open_session, template_of
from qa.bench.over_http.load import run_wrk, write_script
from qa.bench.processes import cpu_seconds, surroundings

__all__ = ["IN_FLIGHT", "GatewayResults", "measure_gateways"]

IN_FLIGHT = (1, 16)
_TURN = 1_000_000


class Figures(NamedTuple):
    """Seconds: half of the calls took at most this, and CPU of a call in all processes."""

    p50: float
    cpu: float


class GatewayResults(NamedTuple):
    """The best round by gateway and calls in flight, and what a mount costs."""

    figures: Mapping[tuple[Gateway, int], Figures]
    # CPU seconds of a call in process: to a server, and where that server is mounted.
    direct: float
    mounted: float

    def added(self, gateway: Gateway, in_flight: int = 1) -> float:
        """CPU seconds that a gateway adds to a call, in its own process and in the server."""
        direct = self.figures[DIRECT[gateway.era], in_flight]
        return self.figures[gateway, in_flight].cpu - direct.cpu


def measure_gateways(rounds: int, seconds: int) -> GatewayResults:
    """All gateways in turns."""
    best: dict[tuple[Gateway, int], Figures] = {}
    first_ids = count(FIRST_ID, _TURN)
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
        for gateway in GATEWAYS:
            for in_flight, found in _take_turn(gateway, first_ids, seconds):
                known = best.get((gateway, in_flight), found)
                best[gateway, in_flight] = Figures(*map(_lower, known, found))
    return GatewayResults(best, *_measure_mount())


def _measure_mount() -> tuple[float, float]:
    command = [str(python_of("bench-dovetail")), "-m", "qa.bench.gateway.mounted"]
    found = subprocess.run(
        command, cwd=ROOT, env=surroundings({}), capture_output=True, text=True, check=True
    )
    direct, mounted = (float(word) / 1e6 for word in found.stdout.split())
    return direct, mounted


def _take_turn(
    gateway: Gateway, first_ids: Iterator[int], seconds: int
) -> Iterator[tuple[int, Figures]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server_port, port = free_port(), free_port()
        command = adder_command(server_port)
        running = [stack.enter_context(listening(command, server_port, {}, folder / "server.log"))]
        if gateway.command is None:
            port = server_port
        else:
            env = {
                "UPSTREAM": f"http://127.0.0.1:{server_port}/mcp",
                "UPSTREAM_MODE": gateway.upstream,
                "PORT": str(port),
                "FASTMCP_LOG_LEVEL": "ERROR",
            }
            log = folder / "gateway.log"
            running.append(stack.enter_context(listening(gateway.command(port), port, env, log)))
        session = open_session(port) if gateway.era == "legacy" else None
        template = template_of(port, gateway.era, session)
        script = folder / "load.lua"
        write_script(script, template)
        size = check(port, template, next(first_ids)).size
        # The first second is to warm up.
        run_wrk(script, port, next(first_ids), 1, 1, size)
        for in_flight in IN_FLIGHT:
            before = sum(map(_cpu_of, running))
            try:
                load = run_wrk(script, port, next(first_ids), in_flight, seconds, size)
            except AssertionError as error:
                # Only one gateway fails at this: none of its answers comes within the turn.
                print(f"{gateway.title}: {error}", file=sys.stderr)
                yield in_flight, Figures(math.nan, math.nan)
                continue
            spent = sum(map(_cpu_of, running)) - before
            yield in_flight, Figures(load.p50, spent / load.requests)


def _lower(one: float, other: float) -> float:
    """The lower of two figures; not a number stands for none."""
    return min((each for each in (one, other) if not math.isnan(each)), default=math.nan)


def _cpu_of(pid: int) -> float:
    """CPU seconds of a process and of the servers that it has started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return cpu_seconds(pid) + sum(_cpu_of(int(child)) for child in children)

"""Calls of an addition through each gateway, one in flight and sixteen."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

from bench.environments import ROOT, python_of
from bench.gateway.field import DIRECT, GATEWAYS, Gateway, adder_command
from bench.over_http.client import FIRST_ID, check, open_session, template_of
from bench.over_http.load import run_wrk, write_script
from bench.processes import cpu_seconds, surroundings

__all__ = ["IN_FLIGHT", "GatewayResults", "measure_gateways"]

IN_FLIGHT = (1, 16)
_TURN = 1_000_000
_PATIENCE = 30.0


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
    command = [str(python_of("bench-dovetail")), "-m", "bench.gateway.mounted"]
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
        server_port, port = _free_port(), _free_port()
        running = [stack.enter_context(_running(adder_command(server_port), server_port))]
        if gateway.command is None:
            port = server_port
        else:
            env = {
                "UPSTREAM": f"http://127.0.0.1:{server_port}/mcp",
                "UPSTREAM_MODE": gateway.upstream,
                "PORT": str(port),
            }
            running.append(stack.enter_context(_running(gateway.command(port), port, env)))
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


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def _running(
    command: Sequence[str], port: int, env: Mapping[str, str] | None = None
) -> Iterator[int]:
    """A process that listens; its id."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env={**surroundings(env), "FASTMCP_LOG_LEVEL": "ERROR"},
        start_new_session=True,
    ) as process:
        try:
            deadline = time.monotonic() + _PATIENCE
            while process.poll() is None and time.monotonic() < deadline:
                with contextlib.suppress(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                time.sleep(0.05)
            else:
                raise ConnectionError(f"{command!r} does not listen")
            yield process.pid
        finally:
            # With the servers that it has started.
            os.killpg(process.pid, 9)

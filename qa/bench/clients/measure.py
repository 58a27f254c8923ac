"""Clients of three libraries against the same server, in turns; the best round counts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

from qa.bench.environments import python_of
from qa.bench.measures import Cell
from qa.bench.messages import ERAS, Era
from qa.bench.over_http.field import Launch
from qa.bench.over_http.process import HttpServer
from qa.bench.processes import Spent, surroundings

__all__ = ["CALLERS", "Caller", "ClientResults", "measure_clients"]

_SCRIPT = Path(__file__).with_name("caller.py")
_SERVER = Launch("bench-dovetail", "dovetail")
# The server has the other core.
_CORE = "1"


class Caller(NamedTuple):
    """A client that takes part."""

    key: str
    title: str
    environment: str


CALLERS = (
    Caller("dovetail", "dovetail", "bench-dovetail"),
    Caller("mcp", "mcp", "bench-mcp"),
    Caller("fastmcp", "FastMCP", "bench-fastmcp"),
)

ClientResults = dict[tuple[str, Era], Cell]


def measure_clients(rounds: int, calls: int) -> ClientResults:
    """CPU and time of one call, by client and era."""
    results: ClientResults = {(caller.key, era): Cell() for caller in CALLERS for era in ERAS}
    with HttpServer(_SERVER) as server:
        url = f"http://127.0.0.1:{server.port}/mcp"
        for _ in range(rounds):
            for caller in CALLERS:
                for era in ERAS:
                    results[caller.key, era].add(_run(caller, url, era, calls))
    return results


def _run(caller: Caller, url: str, era: Era, calls: int) -> Spent:
    python = str(python_of(caller.environment))
    command = ["taskset", "-c", _CORE, python, str(_SCRIPT), caller.key, url, era, str(calls)]
    settings = {"FASTMCP_LOG_LEVEL": "ERROR"}
    done = subprocess.run(
        command, capture_output=True, check=True, text=True, env=surroundings(settings)
    )
    return Spent(**json.loads(done.stdout))

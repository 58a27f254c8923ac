"""Sessions that nobody uses: what one of them costs while it is kept."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from qa.bench.environments import prepare, python_of
from qa.soak.http_client import Connection, open_session
from qa.soak.processes import HttpServer
from qa.soak.verdicts import Effort, Verdict

__all__ = ["measure_sessions"]

_MOST_BYTES = 10_000
_CONNECTIONS = 20
# What the first sessions bring with them, code and caches, is not theirs.
_WARM_UP = 200

_PEERS = {"mcp MCPServer": ("with_mcp", "bench-mcp"), "FastMCP": ("with_fastmcp", "bench-fastmcp")}


class _Cost(NamedTuple):
    sessions: int
    bytes_each: float

    def __str__(self) -> str:
        return f"{self.bytes_each / 1000:.1f} KB"


async def measure_sessions(effort: Effort) -> list[Verdict]:
    """Memory of the process over sessions, ours and the peers'."""
    with HttpServer() as server:
        ours = await _cost(server, effort.sessions)
        held = (await server.counts()).get("sessions")
    verdicts = [
        Verdict(
            f"{ours.sessions:,} idle legacy sessions, memory of one",
            f"at most {_MOST_BYTES / 1000:.0f} KB",
            str(ours),
            ours.bytes_each <= _MOST_BYTES and held == effort.sessions,
        )
    ]
    if not all(python_of(environment).exists() for _, environment in _PEERS.values()):
        prepare()
    for title, (module, environment) in _PEERS.items():
        with HttpServer(module, python=python_of(environment)) as server:
            theirs = await _cost(server, effort.peer_sessions)
        verdicts.append(
            Verdict(f"{theirs.sessions:,} idle legacy sessions of {title}", "-", str(theirs))
        )
    return verdicts


async def _cost(server: HttpServer, count: int) -> _Cost:
    await _open(server, min(_WARM_UP, count // 2))
    await server.counts(collect=True)
    before = server.rss
    rest = count - min(_WARM_UP, count // 2)
    await _open(server, rest)
    await server.counts(collect=True)
    return _Cost(count, (server.rss - before) / rest)


async def _open(server: HttpServer, count: int) -> None:
    """Shake hands so many times, over a few connections, which are closed then."""
    left = iter(range(count))

    async def work() -> None:
        connection = await Connection.open(server.port)
        for _ in left:
            await open_session(connection)
        await connection.close()

    await asyncio.gather(*(work() for _ in range(_CONNECTIONS)))

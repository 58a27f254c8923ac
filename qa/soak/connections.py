"""Many connections that stay open, half of them in each era, all calling at once."""

from __future__ import annotations

import asyncio
import time

from qa.soak.http_client import Connection, WrongAnswerError, check_sum, open_session
from qa.soak.messages import ERAS, Era, call
from qa.soak.processes import HttpServer
from qa.soak.verdicts import Effort, Verdict

__all__ = ["measure_connections"]

_OPENING = 100


async def measure_connections(effort: Effort) -> list[Verdict]:
    """Every call is answered, and rightly."""
    with HttpServer() as server:
        room = asyncio.Semaphore(_OPENING)
        clients = await asyncio.gather(
            *(_Caller.open(server, ERAS[n % 2], room) for n in range(effort.connections))
        )
        cpu, began = server.cpu, time.perf_counter()
        await asyncio.gather(*(client.call(effort.calls_per_connection) for client in clients))
        took, cpu = time.perf_counter() - began, server.cpu - cpu
        await asyncio.gather(*(client.close() for client in clients))
    waits = sorted(wait for client in clients for wait in client.waits)
    wrong = sum(client.wrong for client in clients)
    wanted = effort.connections * effort.calls_per_connection
    return [
        Verdict(
            f"{effort.connections:,} connections, both eras, {wanted:,} calls",
            "all correct",
            f"{len(waits):,} right, {wrong:,} wrong",
            len(waits) == wanted and not wrong,
        ),
        Verdict("rate, and CPU of the server", "-", f"{wanted / took:,.0f}/s, {cpu:.1f} s"),
        Verdict(
            "response time, p50 and p99",
            "-",
            f"{_part(waits, 0.5) * 1e3:.0f} ms, {_part(waits, 0.99) * 1e3:.0f} ms",
        ),
    ]


def _part(ordered: list[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0.0


class _Caller:
    def __init__(self, connection: Connection, session: str | None) -> None:
        self._connection = connection
        self._session = session
        self.waits: list[float] = []
        self.wrong = 0

    @classmethod
    async def open(cls, server: HttpServer, era: Era, room: asyncio.Semaphore) -> _Caller:
        async with room:
            connection = await Connection.open(server.port)
            session = await open_session(connection) if era == "legacy" else None
            return cls(connection, session)

    async def call(self, count: int) -> None:
        for id in range(1, count + 1):
            request = call(self._session, id, "add", a=id, b=2)
            began = time.perf_counter()
            try:
                check_sum(await self._connection.exchange(request), id, id + 2)
            except (OSError, EOFError, TimeoutError, WrongAnswerError):
                self.wrong += 1
                return
            self.waits.append(time.perf_counter() - began)

    async def close(self) -> None:
        await self._connection.close()

"""Clients that are killed at random: nothing of theirs may stay, and nobody else may notice."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from qa.soak.http_client import Connection, WrongAnswerError, check_sum, open_session
from qa.soak.messages import call, get_stream
from qa.soak.processes import ROOT, HttpServer
from qa.soak.verdicts import Effort, Verdict

__all__ = ["Aftermath", "Steady", "kill_clients", "measure_vanishing", "settle"]

_VANDALS = 6
_SHORTEST_LIFE, _LONGEST_LIFE = 0.2, 1.5
_SESSION_LIFETIME = 5.0
# uvicorn forgets a connection that was reset when its keep-alive timer rings, and not before.
_KEEP_ALIVE = 75.0
# Each client has dozens of connections, so anything that stays of each is many times this.
_MOST_OBJECTS = 1000
# A call that nobody waits for ends in seconds (see the server's own times); then there is rest.
_SETTLE = 15.0


class Aftermath(NamedTuple):
    """What the server held at first, at most, and when all was over."""

    before: dict[str, int]
    after: dict[str, int]

    @property
    def left(self) -> dict[str, int]:
        """What is still held and was not held at first."""
        return {
            name: more for name, count in self.after.items() if (more := count - self.before[name])
        }


class Steady:
    """A client of each era that behaves, and expects the same."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.errors: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._stream: Connection | None = None

    async def start(self, port: int) -> None:
        """Begin to call."""
        for is_legacy in (True, False):
            connection = await Connection.open(port)
            session = await open_session(connection) if is_legacy else None
            if session is not None:
                # An open stream keeps the session, however long it takes until the next call.
                self._stream = await Connection.open(port)
                self._stream.send(get_stream(session))
            self._tasks.append(asyncio.create_task(self._go(connection, session)))

    async def _go(self, connection: Connection, session: str | None) -> None:
        id = 0
        try:
            while True:
                id += 1
                began = time.perf_counter()
                answer = await connection.exchange(call(session, id, "add", a=id, b=2))
                check_sum(answer, id, id + 2)
                self.waits.append(time.perf_counter() - began)
                await asyncio.sleep(0.01)
        except (OSError, EOFError, TimeoutError, WrongAnswerError) as error:
            self.errors.append(f"call {id}: {error!r}")
        finally:
            await connection.close()

    async def stop(self) -> None:
        """Call no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        if self._stream is not None:
            await self._stream.close()


async def kill_clients(port: int, seconds: float, vandals: int, dice: random.Random) -> int:
    """Keep so many vandals busy and kill them at random; how many were killed."""
    deadline = time.monotonic() + seconds
    killed = 0

    async def keep_one() -> None:
        nonlocal killed
        while time.monotonic() < deadline:
            with _vandal(port, dice.randrange(1 << 30)) as process:
                await asyncio.sleep(dice.uniform(_SHORTEST_LIFE, _LONGEST_LIFE))
                if process.poll() is not None:
                    raise RuntimeError(f"a client ended by itself: {process.returncode}")
            killed += 1

    await asyncio.gather(*(keep_one() for _ in range(vandals)))
    return killed


@contextmanager
def _vandal(port: int, seed: int) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "qa.soak.vandal", str(port), str(seed)]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def settle(server: HttpServer, before: dict[str, int], seconds: float) -> Aftermath:
    """Wait until the server holds no more than it did; what it holds when it does, or then."""
    deadline = time.monotonic() + seconds
    while True:
        # Sessions are looked through when a legacy request comes; this one is turned away.
        with suppress(WrongAnswerError):
            await _knock(server.port)
        aftermath = Aftermath(before, await server.counts())
        if not aftermath.left or time.monotonic() > deadline:
            return aftermath
        await asyncio.sleep(0.1)


async def _knock(port: int) -> None:
    connection = await Connection.open(port)
    answer = await connection.exchange(call("nobody", 1, "add", a=1, b=2))
    await connection.close()
    if answer.status != 404:
        raise WrongAnswerError(f"a session that never was: {answer.status}")


async def measure_vanishing(effort: Effort) -> list[Verdict]:
    """Kill for a while, then look what is left."""
    dice = random.Random(20260728)
    with HttpServer(session_lifetime=_SESSION_LIFETIME) as server:
        # One of each first, so that what is made once and kept is there before.
        before = await server.counts()
        objects = (await server.counts(collect=True))["objects"]
        await kill_clients(server.port, 0.1, 1, dice)
        before = (await settle(server, before, _SETTLE)).after
        rss = server.rss
        steady = Steady()
        await steady.start(server.port)
        killing = asyncio.create_task(
            kill_clients(server.port, effort.seconds_of_killing, _VANDALS, dice)
        )
        most = dict(before)
        while not (await asyncio.wait({killing}, timeout=0.25))[0]:
            now = await server.counts()
            most = {name: max(count, now[name]) for name, count in most.items()}
        killed = await killing
        await steady.stop()
        aftermath = await settle(server, before, _SETTLE + _SESSION_LIFETIME)
        grown = [server.rss - rss]
        await asyncio.sleep(_KEEP_ALIVE + 1)
        objects = (await server.counts(collect=True))["objects"] - objects
        grown.append(server.rss - rss)
    waits = sorted(steady.waits)
    return [
        Verdict(
            f"{killed:,} clients killed in {effort.seconds_of_killing:.0f} s: resources left open",
            "nothing",
            ", ".join(f"{more} {name}" for name, more in aftermath.left.items()) or "nothing",
            not aftermath.left,
        ),
        Verdict(
            "a well-behaved client of each era, meanwhile",
            "no error",
            f"{len(waits):,} answers, {len(steady.errors)} errors"
            + "".join(f"; {error}" for error in steady.errors[:1]),
            bool(waits) and not steady.errors,
        ),
        Verdict(
            "its response time, p50 and p99",
            "-",
            f"{waits[len(waits) // 2] * 1e3:.0f} ms, {waits[len(waits) * 99 // 100] * 1e3:.0f} ms"
            if waits
            else "-",
        ),
        Verdict(
            "most at one time",
            "-",
            ", ".join(f"{count:,} {name}" for name, count in most.items()),
        ),
        Verdict(
            f"Python objects more than before, {_KEEP_ALIVE:.0f} s later",
            f"under {_MOST_OBJECTS:,}",
            f"{objects:,}",
            objects < _MOST_OBJECTS,
        ),
        Verdict(
            f"memory of the server more than before, at once and {_KEEP_ALIVE:.0f} s later",
            "-",
            ", ".join(f"{more / 1e6:.0f} MB" for more in grown),
        ),
    ]

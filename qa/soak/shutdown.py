"""SIGTERM while clients call: how long the server takes to exit, and what each call gets."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import re
import signal
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from qa.soak.messages import ERAS, Era
from qa.soak.processes import ROOT
from qa.soak.stopping_clients import (
    ANSWERED,
    CLOSED,
    REFUSED,
    Client,
    HttpClient,
    SseClient,
    StdioClient,
    read_until_closed,
)
from qa.soak.verdicts import Effort, Verdict

__all__ = [
    "COMBINATIONS",
    "SHORT_LOADS",
    "Combination",
    "Stopped",
    "measure_shutdown",
    "stop_under_load",
]

# Seconds.
_GRACE = 2.0
_ALLOWED_AFTER_GRACE = 1.0
_PATIENCE = 60.0
_WITHIN, _BEYOND = 0.8, 600.0

_SERVER = ROOT / "qa" / "soak" / "servers" / "stopping.py"


class Combination(NamedTuple):
    """A way to serve, and the era of the clients."""

    transport: Literal["stdio", "http", "sse"]
    era: Era
    parser: str = ""
    workers: int = 1

    def __str__(self) -> str:
        parts = [self.transport, self.era, self.parser]
        return " ".join([*filter(None, parts), *(["2 workers"] if self.workers > 1 else [])])

    @property
    def options(self) -> list[str]:
        """The options of `dovetail run`."""
        if self.transport == "stdio":
            return []
        options = ["--http", "0", "--http-parser", self.parser]
        # Workers do not share sessions.
        workers = ["--workers", str(self.workers), "--stateless"] if self.workers > 1 else []
        return options + workers


COMBINATIONS: Sequence[Combination] = (
    *(Combination("stdio", era) for era in ERAS),
    *(
        Combination("http", era, parser, workers)
        for era in ERAS
        for parser in ("httptools", "h11")
        for workers in (1, 2)
    ),
    *(Combination("sse", "legacy", parser) for parser in ("httptools", "h11")),
)


class _Load(NamedTuple):
    """The calls that run at the same time: a tool, how long it takes, and how many of them."""

    tool: str
    seconds: float
    clients: int


LOADS = (
    _Load("work", 0.0, 8),
    _Load("work_and_report", 0.0, 4),
    _Load("work_in_thread", 0.0, 2),
    _Load("work", _WITHIN, 4),
    _Load("work_and_report", _WITHIN, 4),
    _Load("work_in_thread", _WITHIN, 2),
    _Load("work", _BEYOND, 4),
    _Load("work_and_report", _BEYOND, 4),
)
# The calls that end within the grace period.
SHORT_LOADS = LOADS[:-2]


class Stopped(NamedTuple):
    """One shutdown."""

    seconds: float
    outcomes: Counter[str]
    complaints: list[str]


async def stop_under_load(
    combination: Combination, grace: float, loads: Sequence[_Load], dice: random.Random
) -> Stopped:
    """Start a server, call it from many clients, send SIGTERM, and wait until it has exited."""
    with tempfile.TemporaryDirectory() as folder:
        started = Path(folder, "started")
        log = Path(folder, "stderr")
        is_stdio = combination.transport == "stdio"
        with log.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "dovetail", "run", str(_SERVER), *combination.options),
                stdin=PIPE if is_stdio else DEVNULL,
                stdout=PIPE if is_stdio else DEVNULL,
                stderr=stderr,
                cwd=ROOT,
                env={**os.environ, "GRACE": str(grace), "STARTED": str(started)},
            )
        try:
            async with asyncio.timeout(grace + _PATIENCE):
                port = 0 if is_stdio else await _port(log)
                load = _RunningLoad(combination, started, process, port)
                await load.start(loads)
                await asyncio.sleep(dice.uniform(0.0, 0.3))
                began = time.monotonic()
                process.send_signal(signal.SIGTERM)
                code = await process.wait()
                seconds = time.monotonic() - began
                outcomes, complaints = await load.finish()
        finally:
            if process.returncode is None:
                process.kill()
        said = log.read_text()
        if code != 0:
            complaints.append(f"exit code {code}")
        if "Traceback" in said:
            complaints.append(f"traceback: {said[said.index('Traceback') :][:2000]}")
        return Stopped(seconds, outcomes, complaints)


async def _port(log: Path) -> int:
    while True:
        if found := re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text()):
            return int(found[1])
        await asyncio.sleep(0.02)


class _RunningLoad:
    """The clients of one server."""

    def __init__(
        self, combination: Combination, started: Path, process: Process, port: int
    ) -> None:
        self._combination = combination
        self._started_file = started
        self._process = process
        self._port = port
        self._ids = itertools.count(1)
        self._outcomes: dict[int, str] = {}
        self._clients: list[Client] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._listeners: list[asyncio.Task[None]] = []

    async def start(self, kinds: Sequence[_Load]) -> None:
        """Connect the clients, and wait until a call of each is running."""
        combination = self._combination
        if combination.transport == "http" and (
            combination.workers == 1 or combination.era == "modern"
        ):
            self._listeners = [
                asyncio.create_task(read_until_closed(self._port, combination.era))
                for _ in range(4)
            ]
        shared = (
            await StdioClient.open(self._process, combination.era)
            if combination.transport == "stdio"
            else None
        )
        loads = [load for load in kinds for _ in range(load.clients)]
        self._clients = [shared or await self._connect() for _ in loads]
        for client, load in zip(self._clients, loads, strict=True):
            self._tasks.append(asyncio.create_task(self._call(client, load, next(self._ids))))
        while not set(range(1, len(self._tasks) + 1)) <= self._started():
            for task in self._tasks:
                if task.done():
                    await task
            await asyncio.sleep(0.02)

    async def _connect(self) -> Client:
        if self._combination.transport == "sse":
            return await SseClient.open(self._port)
        return await HttpClient.open(self._port, self._combination.era)

    async def _call(self, client: Client, load: _Load, id: int) -> None:
        """Call one after the other, until the connection is closed."""
        while True:
            self._outcomes[id] = await client.call(id, load.tool, load.seconds)
            if self._outcomes[id] == CLOSED:
                return
            id = next(self._ids)

    def _started(self) -> set[int]:
        if not self._started_file.exists():
            return set()
        return {int(line) for line in self._started_file.read_text().splitlines()}

    async def finish(self) -> tuple[Counter[str], list[str]]:
        """How many calls had which outcome, and what is wrong."""
        await asyncio.gather(*self._tasks)
        for client in set(self._clients):
            await client.close()
        complaints = [
            f"the stream of a client that listens: {ended!r}"
            for ended in await asyncio.gather(*self._listeners, return_exceptions=True)
            if ended is not None
        ]
        started = self._started()
        outcomes: Counter[str] = Counter()
        for id, outcome in self._outcomes.items():
            if outcome == CLOSED and id in started:
                outcome = "begun, but closed without a response"
            if outcome not in (ANSWERED, REFUSED, CLOSED):
                complaints.append(f"call {id}: {outcome}")
            outcomes[outcome] += 1
        return outcomes, complaints


async def measure_shutdown(effort: Effort) -> list[Verdict]:
    """Stop a server of each combination under load, several times."""
    dice = random.Random(20260728)
    verdicts = []
    longest = _GRACE + _ALLOWED_AFTER_GRACE
    for combination in COMBINATIONS:
        print(f"  {combination}", file=sys.stderr)
        rounds = [
            await stop_under_load(combination, _GRACE, LOADS, dice) for _ in range(effort.shutdowns)
        ]
        slowest = max(stopped.seconds for stopped in rounds)
        outcomes = sum((stopped.outcomes for stopped in rounds), Counter[str]())
        complaints = [text for stopped in rounds for text in stopped.complaints]
        counts = f"{outcomes[ANSWERED]:,} answered, {outcomes[REFUSED]:,} refused"
        if outcomes[CLOSED]:
            counts += f", {outcomes[CLOSED]:,} not begun"
        verdicts.append(
            Verdict(
                f"SIGTERM under load, {combination}, {effort.shutdowns} times",
                f"exit within {longest:.0f} s, every call answered or refused, no traceback",
                f"{slowest:.2f} s; {counts}; {len(complaints)} complaints"
                + "".join(f"; {text}" for text in complaints[:1]),
                slowest <= longest and not complaints,
            )
        )
    return verdicts

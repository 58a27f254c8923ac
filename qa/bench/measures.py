"""The measurements. Contestants take turns within each round; the best round counts."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import NamedTuple

from qa.bench.environments import ROOT, python_of
from qa.bench.field import FIELD, FLOOR, OURS, Contestant
from qa.bench.messages import Era, call_messages, check_sums, list_messages
from qa.bench.processes import InProcess, Spent, StdioServer

__all__ = [
    "Cell",
    "Effort",
    "Listing",
    "Memory",
    "Naps",
    "Results",
    "measure_in_process",
    "measure_process",
]

_MANY_TOOLS = 1000


class Effort(NamedTuple):
    """How much to measure."""

    rounds: int
    # Seconds that one turn of one contestant should take.
    turn: float
    starts: int
    calls_for_memory: int
    naps: int
    naps_in_threads: int
    # Over HTTP a turn is a run of the load generator, which counts in whole seconds.
    http_rounds: int
    http_turn: int


class Cell:
    """One figure of one contestant, measured several times."""

    def __init__(self) -> None:
        self.cpu: list[float] = []
        self.wall: list[float] = []

    def add(self, spent: Spent, count: int = 1) -> None:
        """Note one round."""
        self.cpu.append(spent.cpu / count)
        self.wall.append(spent.wall / count)

    @property
    def best(self) -> float:
        """CPU seconds of the round that was disturbed least."""
        return min(self.cpu)

    @property
    def median(self) -> float:
        """CPU seconds of a usual round."""
        return statistics.median(self.cpu)

    @property
    def best_wall(self) -> float:
        """Wall seconds of the quickest round."""
        return min(self.wall)


class Memory(NamedTuple):
    """MiB resident."""

    first: float
    later: float


class Listing(NamedTuple):
    """A list of 1,000 tools: the first request, the next ones, the size of an answer."""

    first: float
    next: Cell
    size: int


class Naps(NamedTuple):
    """Many slow calls at once: how many, the best round, the most memory."""

    calls: int
    cell: Cell
    peak: float


@dataclass
class Results:
    """Everything that was measured, by contestant and circumstances."""

    in_process: dict[tuple[str, str, Era], Cell] = field(default_factory=dict)
    stdio: dict[tuple[str, str, Era, int], Cell] = field(default_factory=dict)
    starts: dict[tuple[str, Era], Cell] = field(default_factory=dict)
    memory: dict[str, Memory] = field(default_factory=dict)
    listing: dict[tuple[str, Era], Listing] = field(default_factory=dict)
    # The last part: the concurrency that was asked for, or "default".
    naps: dict[tuple[str, str, str], Naps] = field(default_factory=dict)


def measure_process(effort: Effort) -> Results:
    """Everything about a server process on pipes, in turn."""
    results = Results()
    for measure in (
        measure_starts,
        measure_stdio,
        measure_memory,
        measure_listing,
        measure_naps,
    ):
        print(measure.__name__.replace("_", " "), file=sys.stderr)
        measure(effort, results)
    return results


def _count_for(effort: Effort, seconds_per_call: float) -> int:
    return max(50, min(20_000, int(effort.turn / seconds_per_call)))


def _tools_of(contestant: Contestant) -> tuple[str, ...]:
    # Only dovetail lets the author say of a plain function that it does not block.
    return ("add", "add_sync", "add_inline") if contestant is OURS else ("add", "add_sync")


# -- cold start -----------------------------------------------------------------------------


def measure_starts(effort: Effort, results: Results) -> None:
    """From exec to the first answer."""
    dovetail_run = [str(python_of(OURS.environment).with_name("dovetail")), "run", OURS.command[1]]
    runs = [(contestant.key, contestant.command, contestant.eras) for contestant in FIELD]
    runs.append(("dovetail run", dovetail_run, OURS.eras))
    runs.append((FLOOR.key, FLOOR.command, FLOOR.eras))
    for number in range(effort.starts + 1):
        for key, command, eras in runs:
            for era in eras:
                with StdioServer(command, ROOT) as server:
                    spent = server.open(era)
                # The first round warms the disk cache and writes the byte code.
                if number:
                    results.starts.setdefault((key, era), Cell()).add(spent)


# -- in process -----------------------------------------------------------------------------


def measure_in_process(effort: Effort) -> Results:
    """Calls without a transport."""
    results = Results()
    with ExitStack() as stack:
        turns: list[tuple[Cell, Callable[[int], Spent], int]] = []
        for key, contestant, flavour in _in_process_field():
            process = stack.enter_context(InProcess(contestant.in_process_command(flavour), ROOT))
            for era in contestant.eras:
                for tool in _tools_of(contestant):

                    def run(
                        count: int, process: InProcess = process, tool: str = tool, era: Era = era
                    ) -> Spent:
                        return process.measure(tool, era, count)

                    cell = results.in_process[key, tool, era] = Cell()
                    turns.append((cell, run, _count_for(effort, run(100).cpu / 100)))
        _take_turns(effort, turns)
    return results


def _in_process_field() -> Iterator[tuple[str, Contestant, str]]:
    for contestant in (*FIELD, FLOOR):
        yield contestant.key, contestant, ""
    yield "dovetail client", OURS, "_client"


def _take_turns(effort: Effort, turns: list[tuple[Cell, Callable[[int], Spent], int]]) -> None:
    for _ in range(effort.rounds):
        for cell, run, count in turns:
            cell.add(run(count), count)


# -- stdio ----------------------------------------------------------------------------------


def measure_stdio(effort: Effort, results: Results) -> None:
    """Calls over pipes, one at a time and sixteen in flight."""
    with ExitStack() as stack:
        turns: list[tuple[Cell, Callable[[int], Spent], int]] = []
        for contestant in (*FIELD, FLOOR):
            for era in contestant.eras:
                server = stack.enter_context(StdioServer(contestant.command, ROOT))
                server.open(era)
                for tool in _tools_of(contestant):
                    for in_flight in (1, 16):
                        run = _caller(server, tool, era, in_flight)
                        run(50)
                        count = _count_for(effort, run(50).cpu / 50)
                        cell = results.stdio[contestant.key, tool, era, in_flight] = Cell()
                        turns.append((cell, run, count))
        _take_turns(effort, turns)


def _caller(server: StdioServer, tool: str, era: Era, in_flight: int) -> Callable[[int], Spent]:
    def run(count: int) -> Spent:
        first = server.claim_ids(count)
        spent, answers = server.measure(call_messages(tool, era, first, count), in_flight)
        check_sums(answers, first, count)
        return spent

    return run


# -- memory ---------------------------------------------------------------------------------


def measure_memory(effort: Effort, results: Results) -> None:
    """What is resident after the first answer and after many calls."""
    for contestant in (*FIELD, FLOOR):
        with StdioServer(contestant.command, ROOT) as server:
            server.open("legacy")
            first = server.memory()
            _caller(server, "add", "legacy", 16)(effort.calls_for_memory)
            results.memory[contestant.key] = Memory(first, server.memory())


# -- tools/list -----------------------------------------------------------------------------


def measure_listing(effort: Effort, results: Results) -> None:
    """A list of 1,000 tools."""
    settings = {"BENCH_TOOLS": str(_MANY_TOOLS)}
    with ExitStack() as stack:
        turns: list[tuple[Cell, Callable[[int], Spent], int]] = []
        for contestant in FIELD:
            for era in contestant.eras:
                server = stack.enter_context(StdioServer(contestant.command, ROOT, settings))
                server.open(era)

                def run(count: int, server: StdioServer = server, era: Era = era) -> Spent:
                    messages = list_messages(era, server.claim_ids(count), count)
                    return server.measure(messages, 1)[0]

                messages = list_messages(era, server.claim_ids(1), 1)
                spent, answers = server.measure(messages, 1)
                if answers[0].count(b"tool_") < _MANY_TOOLS:
                    raise AssertionError(f"{contestant.title} does not list every tool")
                cell = Cell()
                results.listing[contestant.key, era] = Listing(spent.cpu, cell, len(answers[0]))
                cost = run(3).cpu / 3
                turns.append((cell, run, max(3, min(300, int(effort.turn / cost)))))
        _take_turns(effort, turns)


# -- many slow calls --------------------------------------------------------------------------


def measure_naps(effort: Effort, results: Results) -> None:
    """Calls that sleep for 0.2 s, all at once."""
    for tool, count in (("nap", effort.naps), ("nap_sync", effort.naps_in_threads)):
        for contestant in FIELD:
            for limit in ("default", str(count)) if contestant.is_limited else ("default",):
                if limit != "default" and tool == "nap_sync":
                    continue
                settings = {} if limit == "default" else {"BENCH_CONCURRENCY": limit}
                with StdioServer(contestant.command, ROOT, settings) as server:
                    server.open("legacy")
                    run = _caller(server, tool, "legacy", count)
                    cell = Cell()
                    for _ in range(min(effort.rounds, 3)):
                        cell.add(run(count))
                    peak = server.memory("VmHWM")
                results.naps[contestant.key, tool, limit] = Naps(count, cell, peak)

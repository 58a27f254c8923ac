"""The rounds: every way takes its turn with few connections, then with many."""

from __future__ import annotations

import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import NamedTuple

from qa.bench.messages import Era
from qa.bench.over_http.client import FIRST_ID, Template, check, open_session, template_of
from qa.bench.over_http.field import BARE, OURS, OURS_RUN, WAYS, Launch, Way
from qa.bench.over_http.load import run_wrk, write_script
from qa.bench.over_http.process import HttpServer, core_time

__all__ = ["CONNECTIONS", "HttpResults", "Turn", "measure_http"]

CONNECTIONS = (16, 64)
# Ids that one turn may use.
_TURN = 1_000_000
# wrk always has requests waiting, so a server that is left alone is at work all the time. One
# that was not had to share its core, or wrk had to share its own.
_LEFT_ALONE = 0.9
# How often a disturbed comparison with the bare application is tried again in its round.
_MORE_TRIES = 2


class Turn(NamedTuple):
    """One turn of one way."""

    rate: float
    # Seconds of CPU per request.
    cpu: float
    p50: float
    p99: float
    # Shares of the turn in which the server's core worked for others, or was not there.
    others: float
    stolen: float

    @property
    def is_undisturbed(self) -> bool:
        """Whether the server was at work for nearly the whole turn."""
        return self.rate * self.cpu >= _LEFT_ALONE


@dataclass
class HttpResults:
    """All turns by way and number of connections, in the order of the rounds."""

    turns: dict[tuple[Way, int], list[Turn]] = field(default_factory=dict)
    # Media type and length of an answer.
    answers: dict[Way, tuple[str, int]] = field(default_factory=dict)

    def best(self, way: Way, connections: int, figure: str) -> float:
        """The best round: the highest rate, the lowest of anything else."""
        pick = max if figure == "rate" else min
        found: float = pick(getattr(turn, figure) for turn in self.turns[way, connections])
        return found

    def best_undisturbed_rate(self, way: Way, connections: int) -> float:
        """The highest rate of a turn that left the server alone; not a number where none did.

        For verdicts: dovetail has more tries than its peers (see `_MORE_TRIES`), and must not
        win because one of theirs was disturbed.
        """
        turns = self.turns[way, connections]
        return max((turn.rate for turn in turns if turn.is_undisturbed), default=math.nan)

    def fastest(self, contestant: str, era: Era, connections: int) -> Way:
        """Of a contestant's ways, the one with the highest rate."""
        ways = [way for way in WAYS if (way.contestant, way.era) == (contestant, era)]
        return max(ways, key=lambda way: self.best(way, connections, "rate"))

    def by_round(self, who: str, era: Era, connections: int, figure: str) -> list[float]:
        """dovetail's figure over the bare application's, in each round that left both alone.

        A disturbed turn makes the ratio any number: the bare application cannot be slower than
        what does more, and yet it is whenever somebody else has the core in its turn only.
        """
        ours = self.turns[self.fastest(who, era, connections), connections]
        bare = self.turns[self.fastest(BARE, era, connections), connections]
        return [
            getattr(our, figure) / getattr(their, figure)
            for our, their in zip(ours, bare, strict=True)
            if our.is_undisturbed and their.is_undisturbed
        ]

    def unrest(self, figure: str) -> tuple[float, float]:
        """Median and maximum over all turns of `others` or `stolen`."""
        shares = [getattr(turn, figure) for turns in self.turns.values() for turn in turns]
        return statistics.median(shares), max(shares)

    def drift(self) -> float:
        """How much dearer the bare application's requests were in its worst round than its best."""
        costs = [
            [turn.cpu for turn in turns]
            for (way, _), turns in self.turns.items()
            if way.contestant == BARE
        ]
        return max(max(cost) / min(cost) for cost in costs) - 1


class _Runner(NamedTuple):
    """A way that is up: its server, what is asked of it, how long its answers are."""

    server: HttpServer
    template: Template
    script: Path
    size: int
    # The id in the answer; the bare application has only one.
    expected_id: Callable[[int], int]

    def take_turn(self, first_id: int, connections: int, seconds: int) -> Turn:
        """Check, load, check."""
        self.check(first_id)
        cpu, core = self.server.cpu(), core_time()
        load = run_wrk(
            self.script, self.server.port, first_id + 10, connections, seconds, self.size
        )
        spent, core_then = self.server.cpu() - cpu, core_time()
        self.check(first_id + _TURN - 1)
        return Turn(
            rate=load.requests / load.seconds,
            cpu=spent / load.requests,
            p50=load.p50,
            p99=load.p99,
            others=max(0.0, core_then.busy - core.busy - spent) / load.seconds,
            stolen=(core_then.stolen - core.stolen) / load.seconds,
        )

    def check(self, id: int) -> None:
        """A right answer of the right length, or none of the others counts."""
        answer = check(self.server.port, self.template, id, self.expected_id(id))
        if answer.size != self.size:
            raise AssertionError(f"an answer of {answer.size} bytes, {self.size} before")


def measure_http(rounds: int, seconds: int) -> HttpResults:
    """All ways, all rounds."""
    results = HttpResults()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        runners = _start_all(stack, folder, results)
        first_ids = count(FIRST_ID, _TURN)
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
            for connections in CONNECTIONS:
                for group in _groups():
                    turns = _take_turns(runners, group, first_ids, connections, seconds)
                    for way, turn in zip(group, turns, strict=True):
                        results.turns.setdefault((way, connections), []).append(turn)
    return results


def _groups() -> list[tuple[Way, ...]]:
    """Who goes together: the bare application and dovetail both ways, everybody else alone."""
    groups = [
        (way, _ours(OURS_RUN, way.era), _ours(OURS, way.era))
        for way in WAYS
        if way.contestant == BARE
    ]
    grouped = {way for group in groups for way in group}
    return [*groups, *((way,) for way in WAYS if way not in grouped)]


def _take_turns(
    runners: dict[Way, _Runner],
    group: tuple[Way, ...],
    first_ids: Iterator[int],
    connections: int,
    seconds: int,
) -> list[Turn]:
    tries = 1 + (_MORE_TRIES if len(group) > 1 else 0)
    turns: list[Turn] = []
    for _ in range(tries):
        turns = [runners[way].take_turn(next(first_ids), connections, seconds) for way in group]
        if all(turn.is_undisturbed for turn in turns):
            break
    return turns


def _start_all(stack: ExitStack, folder: Path, results: HttpResults) -> dict[Way, _Runner]:
    servers: dict[Launch, HttpServer] = {}
    runners: dict[Way, _Runner] = {}
    # dovetail before the bare application, which repeats its answer.
    for way in sorted(WAYS, key=lambda way: way.contestant == BARE):
        if way.launch not in servers:
            more = _answer_of_ours(runners, way) if way.contestant == BARE else None
            servers[way.launch] = stack.enter_context(HttpServer(way.launch, more))
        server = servers[way.launch]
        session = open_session(server.port) if way.has_session else None
        template = template_of(server.port, way.era, session)
        answer = check(server.port, template, FIRST_ID)
        server.check_stack()
        results.answers[way] = (answer.kind, answer.size)
        script = folder / f"{len(runners)}.lua"
        write_script(script, template)
        fixed = way.contestant == BARE
        runners[way] = _Runner(
            server, template, script, answer.size, _always_first if fixed else _same
        )
        run_wrk(script, server.port, FIRST_ID + 10, min(CONNECTIONS), 1, answer.size)
    for way in WAYS:
        if way.contestant == BARE and results.answers[way] != results.answers[_ours(OURS, way.era)]:
            raise AssertionError(f"the bare application differs from dovetail: {results.answers}")
    return {way: runners[way] for way in WAYS}


def _same(id: int) -> int:
    return id


def _always_first(id: int) -> int:
    return FIRST_ID


def _ours(contestant: str, era: Era) -> Way:
    return next(way for way in WAYS if (way.contestant, way.era) == (contestant, era))


def _answer_of_ours(runners: dict[Way, _Runner], bare: Way) -> dict[str, object]:
    ours = runners[_ours(OURS, bare.era)]
    answer = check(ours.server.port, ours.template, FIRST_ID)
    # uvicorn adds the date itself.
    headers = [pair for pair in answer.headers if pair[0] != "date"]
    return {"answer": answer.body.decode(), "headers": headers}

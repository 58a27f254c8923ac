"""The figures: every one is a whole tools/call over stdio, its answer read and checked."""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from qa.bench.graph.corpus import COMMON, MIDDLE, RARE, Graph, make_graph, new_entity
from qa.bench.graph.opponent import command, write_file
from qa.bench.piped_server import PipedServer

__all__ = ["SEARCHES", "ByMeaning", "Figures", "Side", "measure_graph", "measure_meaning"]

# What is searched -> the query.
SEARCHES = {
    "search: a name": "Node{middle}",
    "search: a rare word": RARE,
    "search: a word in one of ten": MIDDLE,
    "search: a word in all": COMMON,
}
_BATCH = 100
_OPENED = 10


class Side(NamedTuple):
    """What one server took: seconds of each call, by what was done."""

    calls: dict[str, list[float]]
    # CPU seconds of the process for one call.
    cpu: dict[str, float]
    # Characters of the longest answer, by what was done.
    longest: dict[str, int]
    fill: float
    megabytes: float
    file: float

    def median(self, what: str) -> float:
        """Seconds of the median call."""
        return statistics.median(self.calls[what])


class ByMeaning(NamedTuple):
    """The model at work, in seconds."""

    # From the answer to the call that wrote a hundred entities until all have their vectors.
    hundred: float
    # Vectors a second of a larger import, and a search with a question that is new.
    rate: float
    search: float


class Figures(NamedTuple):
    """Both at one size."""

    size: int
    ours: Side
    theirs: Side


class _Clock:
    """Calls and what they took."""

    def __init__(self, server: PipedServer) -> None:
        self._server = server
        self.calls: dict[str, list[float]] = {}
        self.cpu: dict[str, float] = {}
        self.longest: dict[str, int] = {}

    def time(
        self, what: str, count: int, tool: str, arguments: Callable[[int], dict[str, Any]]
    ) -> Any:
        """Call it so often, after one call that does not count; the last answer."""
        for number in range(count + 1):
            if number == 1:
                before = self._server.cpu
            given = arguments(number)
            begun = time.perf_counter()
            answer = self._server.data(tool, given)
            spent = time.perf_counter() - begun
            if number:
                self.calls.setdefault(what, []).append(spent)
            self.longest[what] = max(self.longest.get(what, 0), self._server.answered)
        self.cpu[what] = (self._server.cpu - before) / count
        return answer


def measure_graph(size: int, repeats: int) -> Figures:
    """Make a graph, give it to both, and ask both the same."""
    graph = make_graph(size)
    home = Path(tempfile.mkdtemp(prefix="dovetail-bench-graph-"))
    try:
        return Figures(size, _ours(home, graph, repeats), _theirs(home, graph, repeats))
    finally:
        shutil.rmtree(home)


def _ours(home: Path, graph: Graph, repeats: int) -> Side:
    file = home / "graph.db"
    words = ["-m", "dovetail", "serve", "graph", "--db", str(file), "--embeddings", "off"]
    with PipedServer([sys.executable, *words]) as server:
        begun = time.perf_counter()
        for start in range(0, len(graph.entities), _BATCH):
            some = graph.entities[start : start + _BATCH]
            made = server.data("create_entities", {"entities": some})
            assert made["created"] == len(some), made
        for start in range(0, len(graph.relations), 3 * _BATCH):
            links = graph.relations[start : start + 3 * _BATCH]
            server.data("create_relations", {"relations": links})
        fill = time.perf_counter() - begun
    # A process of its own: what it has in memory is what it needs to answer.
    with PipedServer([sys.executable, *words]) as server:
        clock = _Clock(server)
        _ask(clock, len(graph.entities), repeats)
        found = clock.time(
            "walk three steps", repeats, "traverse_graph", _walk(len(graph.entities))
        )
        assert len(found["nodes"]) > 10, found
        for tool in ("graph_stats", "recent_changes", "get_decayed_graph"):
            clock.time(tool, 3, tool, lambda _: {})
        past = {"timestamp": "now"}
        clock.time("get_graph_at_time", 3, "get_graph_at_time", lambda _: past)
        megabytes = server.memory()[1]
    return Side(clock.calls, clock.cpu, clock.longest, fill, megabytes, file.stat().st_size / 1e6)


def measure_meaning(size: int, repeats: int) -> ByMeaning:
    """Write, wait until it is found by meaning, and search."""
    home = Path(tempfile.mkdtemp(prefix="dovetail-bench-meaning-"))
    words = ["-m", "dovetail", "serve", "graph", "--db", str(home / "graph.db")]
    try:
        with PipedServer(
            [sys.executable, *words, "--embeddings", "minilm", "--debug-tools"]
        ) as server:
            # Loads the model.
            server.data("create_entities", {"entities": [new_entity(0)]})
            _wait_for_vectors(server)
            server.data(
                "create_entities", {"entities": [new_entity(number) for number in range(1, 101)]}
            )
            hundred = _wait_for_vectors(server)
            for start in range(1_000, 1_000 + size, _BATCH):
                some = [new_entity(number) for number in range(start, start + _BATCH)]
                server.data("create_entities", {"entities": some})
            rate = 2 * size / _wait_for_vectors(server)
            clock = _Clock(server)
            clock.time(
                "search",
                repeats,
                "semantic_search",
                lambda number: {"query": f"which of them has the fresh word {number}"},
            )
        return ByMeaning(hundred, rate, statistics.median(clock.calls["search"]))
    finally:
        shutil.rmtree(home)


def _wait_for_vectors(server: PipedServer) -> float:
    begun = time.perf_counter()
    while server.data("diagnose_vector_search", {})["withoutVectors"]:
        time.sleep(0.1)
    return time.perf_counter() - begun


def _walk(size: int) -> Callable[[int], dict[str, Any]]:
    return lambda number: {"start": [f"Node{(number * 37) % size}"], "depth": 3, "limit": 100}


def _theirs(home: Path, graph: Graph, repeats: int) -> Side:
    file = home / "memory.jsonl"
    begun = time.perf_counter()
    write_file(file, graph.entities, graph.relations)
    fill = time.perf_counter() - begun
    words, settings = command(file)
    with PipedServer(words, settings) as server:
        clock = _Clock(server)
        # Each of its calls reads the whole file: seconds at 100,000.
        _ask(clock, len(graph.entities), max(3, min(repeats, 300_000 // len(graph.entities))))
        megabytes = server.memory()[1]
    return Side(clock.calls, clock.cpu, clock.longest, fill, megabytes, file.stat().st_size / 1e6)


def _same(given: dict[str, Any], _number: int) -> dict[str, Any]:
    return given


def _ask(clock: _Clock, size: int, repeats: int) -> None:
    """What both can do, with the same arguments."""
    middle = size // 2
    for what, query in SEARCHES.items():
        given = {"query": query.format(middle=middle)}
        found = clock.time(what, repeats, "search_nodes", partial(_same, given))
        assert found.get("results") or found.get("entities"), what
    names = [f"Node{number}" for number in range(middle, middle + _OPENED)]
    opened = clock.time("open ten", repeats, "open_nodes", lambda _: {"names": names})
    assert len(opened["entities"]) == _OPENED, opened
    few = min(repeats, 10)
    clock.time("read_graph", few, "read_graph", lambda _: {})
    clock.time(
        "create one", repeats, "create_entities", lambda number: {"entities": [new_entity(number)]}
    )
    clock.time(
        "create a hundred",
        few,
        "create_entities",
        lambda number: {
            "entities": [new_entity(1_000_000 + number * _BATCH + each) for each in range(_BATCH)]
        },
    )

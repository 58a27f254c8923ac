"""The parts of the benchmark. Each can run alone and has a section of the page to itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from qa.bench.browser.measure import measure_browser
from qa.bench.browser.page import render_browser
from qa.bench.browser.targets import judge_browser
from qa.bench.clients.measure import measure_clients
from qa.bench.clients.page import render_clients
from qa.bench.clients.targets import judge_clients
from qa.bench.cluster.measure import measure_cluster
from qa.bench.cluster.page import render_cluster
from qa.bench.cluster.targets import judge_cluster
from qa.bench.console.measure import measure_console
from qa.bench.console.page import render_console
from qa.bench.console.targets import judge_console
from qa.bench.design.measure import measure_design
from qa.bench.design.page import render_design
from qa.bench.design.targets import judge_design
from qa.bench.gateway.measure import measure_gateways
from qa.bench.gateway.page import render_gateways
from qa.bench.gateway.targets import judge_gateways
from qa.bench.graph.measure import measure_graph, measure_meaning
from qa.bench.graph.opponent import REFERENCE
from qa.bench.graph.page import render_graph
from qa.bench.graph.targets import judge_graph
from qa.bench.guards.measure import measure_guards
from qa.bench.guards.page import render_guards
from qa.bench.guards.targets import judge_guards
from qa.bench.measures import Effort, measure_in_process, measure_process
from qa.bench.over_http.measure import measure_http
from qa.bench.over_http.page import render_http
from qa.bench.over_http.targets import judge_http
from qa.bench.page import render_in_process, render_stdio
from qa.bench.targets import Target, judge_in_process, judge_stdio
from qa.bench.tasks.measure import measure_tasks
from qa.bench.tasks.page import render_tasks
from qa.bench.tasks.targets import judge_tasks
from qa.bench.vault.measure import measure_vault
from qa.bench.vault.page import render_vault
from qa.bench.vault.targets import judge_vault

__all__ = ["PARTS", "Outcome"]


class Outcome(NamedTuple):
    """What a part found."""

    text: str
    targets: list[Target]


def _run_stdio(effort: Effort) -> Outcome:
    results = measure_process(effort)
    targets = judge_stdio(results)
    return Outcome(render_stdio(results, effort, targets), targets)


def _run_in_process(effort: Effort) -> Outcome:
    results = measure_in_process(effort)
    targets = judge_in_process(results)
    return Outcome(render_in_process(results, effort, targets), targets)


def _run_http(effort: Effort) -> Outcome:
    results = measure_http(effort.http_rounds, effort.http_turn)
    targets = judge_http(results)
    told = f"{effort.http_rounds} rounds, {effort.http_turn} s a turn"
    return Outcome(render_http(results, told, targets), targets)


def _run_clients(effort: Effort) -> Outcome:
    rounds, calls = (effort.rounds, 1000) if effort.rounds > 2 else (1, 200)
    results = measure_clients(rounds, calls)
    targets = judge_clients(results)
    told = f"best of {rounds} rounds of {calls:,} calls, one at a time"
    return Outcome(render_clients(results, told, targets), targets)


def _run_vault(effort: Effort) -> Outcome:
    # A short run shows that it works; its figures decide nothing.
    small, large = (10_000, 100_000) if effort.rounds > 2 else (1_000, 2_000)
    repeats = 30 * effort.rounds
    sizes = [measure_vault(notes, repeats) for notes in (small, large)]
    targets = judge_vault(*sizes)
    return Outcome(render_vault(sizes, f"{repeats} searches of each kind", targets), targets)


def _run_graph(effort: Effort) -> Outcome:
    REFERENCE.prepare()
    sizes, repeats = ((1_000, 10_000, 100_000), 50) if effort.rounds > 2 else ((200, 500, 1_000), 5)
    figures = [measure_graph(size, repeats) for size in sizes]
    meaning = measure_meaning(sizes[0], repeats)
    targets = judge_graph(*figures)
    told = f"{repeats} calls of each kind"
    return Outcome(render_graph(figures, meaning, told, targets), targets)


def _run_tasks(effort: Effort) -> Outcome:
    # The memory is the same in every round.
    rounds, parked = (2, 10_000) if effort.rounds > 2 else (1, 2_000)
    results = measure_tasks(rounds, 5_000, parked)
    targets = judge_tasks(results)
    return Outcome(render_tasks(results, f"best of {rounds} rounds", targets), targets)


def _run_guards(effort: Effort) -> Outcome:
    rounds, calls = (20, 5_000) if effort.rounds > 2 else (3, 1_000)
    results = measure_guards(rounds, calls)
    targets = judge_guards(results)
    return Outcome(render_guards(results, f"Best of {rounds} rounds", targets), targets)


def _run_cluster(effort: Effort) -> Outcome:
    rounds, calls = (7, 2_000) if effort.rounds > 2 else (2, 300)
    results = measure_cluster(rounds, calls)
    targets = judge_cluster(results)
    return Outcome(render_cluster(results, f"Best of {rounds} rounds", targets), targets)


def _run_gateway(effort: Effort) -> Outcome:
    # With sixteen calls in flight, a call takes FastMCP longer than a second.
    rounds, seconds = (3, 6) if effort.rounds > 2 else (1, 6)
    results = measure_gateways(rounds, seconds)
    targets = judge_gateways(results)
    return Outcome(render_gateways(results, f"Best of {rounds} rounds", targets), targets)


def _run_design(effort: Effort) -> Outcome:
    rounds, designs = (20, 10_000) if effort.rounds > 2 else (3, 200)
    results = measure_design(rounds, designs)
    targets = judge_design(results)
    return Outcome(render_design(results, f"best of {rounds} rounds", targets), targets)


def _run_console(effort: Effort) -> Outcome:
    rounds = 9 if effort.rounds > 2 else 2
    figures = measure_console(rounds)
    targets = judge_console(figures)
    return Outcome(render_console(figures, f"median of {rounds} rounds", targets), targets)


def _run_browser(effort: Effort) -> Outcome:
    rounds = 15 if effort.rounds > 2 else 2
    figures = measure_browser(rounds)
    targets = judge_browser(figures)
    return Outcome(render_browser(figures, f"median of {rounds} rounds", targets), targets)


PARTS: dict[str, Callable[[Effort], Outcome]] = {
    "stdio": _run_stdio,
    "in-process": _run_in_process,
    "http": _run_http,
    "clients": _run_clients,
    "guards": _run_guards,
    "cluster": _run_cluster,
    "gateway": _run_gateway,
    "tasks": _run_tasks,
    "vault": _run_vault,
    "browser": _run_browser,
    "console": _run_console,
    "design": _run_design,
    "graph": _run_graph,
}

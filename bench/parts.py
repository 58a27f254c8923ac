"""The parts of the benchmark. Each can run alone and has a section of the page to itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bench.measures import Effort, measure_in_process, measure_process
from bench.over_http.measure import measure_http
from bench.over_http.page import render_http
from bench.over_http.targets import judge_http
from bench.page import render_in_process, render_stdio
from bench.targets import Target, judge_in_process, judge_stdio

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


PARTS: dict[str, Callable[[Effort], Outcome]] = {
    "stdio": _run_stdio,
    "in-process": _run_in_process,
    "http": _run_http,
}

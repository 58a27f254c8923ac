"""The HTTP part of the page."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import product

from qa.bench.environments import HTTP_STACK
from qa.bench.messages import ERAS, REVISIONS, Era
from qa.bench.over_http.field import OURS_RUN, SERVED, WAYS, Way
from qa.bench.over_http.measure import CONNECTIONS, HttpResults
from qa.bench.page import circumstances, render_targets, table
from qa.bench.targets import Target

__all__ = ["render_http"]

# The share of the server's core that others may have in the median turn.
_RESTLESS = 0.05
_TOO_RESTLESS = (
    " **Too noisy: repeat the run on a quiet machine before you rely on the verdicts below.**"
)


def render_http(results: HttpResults, effort: str, targets: Sequence[Target]) -> str:
    """Everything that was measured over HTTP."""
    stack = ", ".join(f"{name} {version}" for name, version in HTTP_STACK.items())
    parts = [
        f"{circumstances(effort)} All on {stack}.",
        _unrest(results),
        "### Targets over HTTP\n\n" + render_targets(targets),
        "### dovetail over the bare app, round by round\n\n" + _shares(results),
    ]
    for era in ERAS:
        parts.append(f"### Calls over HTTP, {era} ({REVISIONS[era]})")
        parts += [_calls(results, era, connections) for connections in CONNECTIONS]
    return "\n\n".join(parts)


def _unrest(results: HttpResults) -> str:
    usual, most = results.unrest("others")
    stolen_usual, stolen_most = results.unrest("stolen")
    return (
        f"Noise: other processes used {usual:.1%} of the server's core in the median turn and "
        f"{most:.1%} in the worst; the hypervisor took {stolen_usual:.1%} and {stolen_most:.1%}. "
        f"The same request cost the bare app up to {results.drift():.0%} more CPU in one round "
        "than in another, because the speed of the core itself varied."
        + (_TOO_RESTLESS if usual > _RESTLESS else "")
    )


def _shares(results: HttpResults) -> str:
    rows = []
    for (who, served), era, connections in product(SERVED, ERAS, CONNECTIONS):
        row = [f"{served}, {era}, {connections} connections"]
        row.append(str(len(results.by_round(who, era, connections, "rate"))))
        for figure, best in (("rate", max), ("cpu", min), ("p99", min)):
            shares = results.by_round(who, era, connections, figure)
            row.append(f"{best(shares):.2f}x" if shares else "-")
            row.append(f"{statistics.median(shares):.2f}x" if shares else "-")
        rows.append(row)
    head = ["", "undisturbed rounds", "rate, best", "rate, median", "CPU, best", "CPU, median"]
    head += ["p99, best", "p99, median"]
    return table(head, rows)


def _calls(results: HttpResults, era: Era, connections: int) -> str:
    ours = results.fastest(OURS_RUN, era, connections)
    rows = [
        _row(results, way, ours, connections)
        for way in sorted((way for way in WAYS if way.era == era), key=_order)
    ]
    head = [f"{connections} connections", "rate", "CPU per request", "p50", "p99", "answer"]
    return table([*head, "median under best"], rows)


def _order(way: Way) -> int:
    return next(number for number, other in enumerate(WAYS) if other.contestant == way.contestant)


def _row(results: HttpResults, way: Way, ours: Way, connections: int) -> list[str]:
    rate, cpu, p50, p99 = (
        results.best(way, connections, figure) for figure in ("rate", "cpu", "p50", "p99")
    )
    our_rate, our_cpu = (results.best(ours, connections, figure) for figure in ("rate", "cpu"))
    usual = statistics.median(turn.rate for turn in results.turns[way, connections])
    kind, size = results.answers[way]
    is_counted = results.fastest(way.contestant, way.era, connections) is way
    against = way is not ours
    return [
        f"{way.name} *" if is_counted and _has_choice(way) else way.name,
        f"{rate:,.0f}/s" + (f" ({our_rate / rate:.2f}x)" if against else ""),
        f"{cpu * 1e6:,.1f} us" + (f" ({cpu / our_cpu:.2f}x)" if against else ""),
        f"{p50 * 1e3:.2f} ms",
        f"{p99 * 1e3:.2f} ms",
        f"{'stream' if kind == 'text/event-stream' else 'JSON'}, {size} B",
        f"{1 - usual / rate:.0%}",
    ]


def _has_choice(way: Way) -> bool:
    return sum((w.contestant, w.era) == (way.contestant, way.era) for w in WAYS) > 1

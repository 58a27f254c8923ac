"""What every tool has in common: how it is described, and how an answer is put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from dovetail import Server, ToolAnnotations, ToolError, ToolResult
from dovetail_graph.examples import EXAMPLES
from dovetail_graph.results import BatchResult, Outcome
from dovetail_graph.showing import MAX_CHARS
from dovetail_serverkit import describing
from dovetail_serverkit.budget import Budget

__all__ = [
    "answer",
    "batch_answer",
    "describe",
    "refuse_partial",
    "tool",
]


def describe(
    name: str, text: str, hints: ToolAnnotations, result: type[msgspec.Struct]
) -> dict[str, Any]:
    """What a tool is registered with, its example among it."""
    return describing.describe(name, text, hints, result, EXAMPLES[name])


def tool(
    server: Server, name: str, text: str, hints: ToolAnnotations, result: type[msgspec.Struct]
) -> Callable[[Callable[..., Any]], Any]:
    """Register a tool."""
    return server.tool(**describe(name, text, hints, result))


def answer(result: msgspec.Struct) -> ToolResult:
    """The result as data, and as JSON for clients that read text."""
    return ToolResult(structured=result)


def refuse_partial(outcomes: Iterable[Outcome], atomic: bool) -> None:
    """Where all or nothing was asked for, one rejected item refuses the whole batch."""
    rejected = [one for one in outcomes if one.outcome == "rejected"]
    if atomic and rejected:
        reasons = "; ".join(f"{one.name!r}: {one.reason}" for one in rejected[:10])
        more = f"; and {len(rejected) - 10} more" if len(rejected) > 10 else ""
        raise ToolError(f"Nothing was changed, because atomic is set and {reasons}{more}")


def batch_answer(outcomes: list[Outcome], recorded_at: str | None) -> ToolResult:
    """What became of each item; a failure where all were rejected."""
    counts = dict.fromkeys(("created", "updated", "unchanged", "deleted", "purged", "rejected"), 0)
    for one in outcomes:
        counts[one.outcome] += 1
    budget = Budget(MAX_CHARS)
    items = []
    for one in sorted(outcomes, key=lambda one: one.outcome != "rejected"):
        if not budget.take(one):
            one = Outcome(name=one.name, outcome=one.outcome, count=one.count)
            if not budget.take(one):
                break
        items.append(one)
    is_refused = bool(outcomes) and counts["rejected"] == len(outcomes)
    result = BatchResult(
        **counts,
        items=items,
        not_listed=len(outcomes) - len(items),
        recorded_at=None if is_refused else recorded_at,
    )
    return ToolResult(structured=result, is_error=is_refused)

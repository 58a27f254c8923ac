"""Shared by all tools: registration, and building of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from dovetail import Server, ToolAnnotations, ToolError, ToolResult
from dovetail_graph.examples import EXAMPLES
from dovetail_graph.rendering import MAX_CHARS
from dovetail_graph.results import BatchResult, Outcome
from dovetail_serverkit import tool_descriptions
from dovetail_serverkit.text_budget import Budget

__all__ = [
    "answer",
    "batch_answer",
    "describe",
    "reject_partial",
    "tool",
]


def describe(
    name: str, text: str, hints: ToolAnnotations, result: type[msgspec.Struct]
) -> dict[str, Any]:
    """Return the arguments to register a tool with, including its example call."""
    return tool_descriptions.describe(name, text, hints, result, EXAMPLES[name])


def tool(
    server: Server, name: str, text: str, hints: ToolAnnotations, result: type[msgspec.Struct]
) -> Callable[[Callable[..., Any]], Any]:
    """Register a tool."""
    return server.tool(**describe(name, text, hints, result))


def answer(result: msgspec.Struct) -> ToolResult:
    """Return the result as structured content, and as JSON text for clients that need it."""
    return ToolResult(structured=result)


def reject_partial(outcomes: Iterable[Outcome], atomic: bool) -> None:
    """Raise ToolError if `atomic` is set and an item was rejected."""
    rejected = [one for one in outcomes if one.outcome == "rejected"]
    if atomic and rejected:
        reasons = "; ".join(f"{one.name!r}: {one.reason}" for one in rejected[:10])
        more = f"; and {len(rejected) - 10} more" if len(rejected) > 10 else ""
        raise ToolError(f"Nothing was changed, because atomic is set and {reasons}{more}")


def batch_answer(outcomes: list[Outcome], recorded_at: str | None) -> ToolResult:
    """Build the result of a batch; it is an error if every item was rejected."""
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
    is_rejected = bool(outcomes) and counts["rejected"] == len(outcomes)
    result = BatchResult(
        **counts,
        items=items,
        not_listed=len(outcomes) - len(items),
        recorded_at=None if is_rejected else recorded_at,
    )
    return ToolResult(structured=result, is_error=is_rejected)

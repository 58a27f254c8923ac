"""Shared by all tools: building of results, within the limit."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dovetail import ToolError, ToolResult
from dovetail_graph.inputs import MAX_CHARS
from dovetail_graph.results import BatchResult, Outcome
from dovetail_serverkit.answer_size import AnswerBudget, answer_size

__all__ = [
    "answer",
    "batch_answer",
    "reject_partial",
]


# What surrounds the data in an answer: names of fields and brackets.
_ENVELOPE = 100


def answer(result: msgspec.Struct, max_chars: int = MAX_CHARS) -> ToolResult:
    """Return the result as structured content, and as JSON text for clients that need it.

    Raises ToolError if both together are longer than allowed.
    """
    size = answer_size(result) + _ENVELOPE
    if size > max_chars:
        raise ToolError(
            f"The answer has {size} characters, more than the {max_chars} allowed; ask for less, "
            "or increase maxChars"
        )
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
    budget = AnswerBudget(MAX_CHARS)
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

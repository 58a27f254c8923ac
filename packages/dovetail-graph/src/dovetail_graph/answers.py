"""Shared by all tools: registration, and building of results."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import msgspec

from dovetail import Param, Server, ToolAnnotations, ToolError, ToolResult
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
    register = server.tool(**describe(name, text, hints, result))
    return lambda function: register(_accept_spellings(function))


def _accept_spellings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Accept optional parameters in snake_case and camelCase; only their own name is listed."""
    signature = inspect.signature(function, eval_str=True)
    others = {
        _other_spelling(name): one
        for name, one in signature.parameters.items()
        if one.default is not one.empty
    }
    extra = [
        one.replace(
            name=other, annotation=Annotated[one.annotation | None, Param(listed=False)]
        ).replace(default=None)
        for other, one in others.items()
        if other not in signature.parameters
    ]

    @functools.wraps(function)
    def call(**given: Any) -> Any:
        for one in extra:
            value = given.pop(one.name, None)
            if value is not None:
                given[others[one.name].name] = value
        return function(**given)

    # The signature is not that of the wrapped function.
    del call.__wrapped__
    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), *extra]
    )
    return call


def _other_spelling(name: str) -> str:
    if "_" in name:
        first, *others = name.split("_")
        return first + "".join(map(str.capitalize, others))
    return re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", name)


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

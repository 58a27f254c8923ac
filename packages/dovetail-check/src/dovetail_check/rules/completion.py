"""server/utilities/completion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.exchanges import Exchange
from dovetail_check.noting import expect_codes, expect_error, note_each, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__: list[str] = []

_MOST_VALUES = 100
_INVALID_PARAMS = (-32602,)
_METHOD_NOT_FOUND = -32601
_UNDECLARED = "undeclared/completion/complete"


def _absence(seen: ProbeSession) -> Iterator[Note]:
    if seen.revision.completions_capability:
        yield from undeclared(seen, "completions")
    elif any(exchange.code == _METHOD_NOT_FOUND for exchange in seen.tagged("complete/fitting")):
        # The first revision has no capability for it: the method tells.
        yield absent("the server has no completions")


def _values(exchange: Exchange) -> Any:
    completion = (exchange.result or {}).get("completion")
    return completion.get("values") if isinstance(completion, dict) else None


@rule("completion.capability", reads=("undeclared",))
def completions_are_declared(seen: ProbeSession) -> Iterator[Note]:
    """Nobody suggests anything without having said so."""
    if seen.has("completions"):
        yield kept(seen.opening)
    for exchange in seen.tagged(_UNDECLARED):
        if exchange.result is None:
            yield absent("the server has no completions")
        elif _values(exchange):
            yield broken(exchange, "completion/complete has values, but completions is undeclared")
        else:
            yield unsettled(
                exchange,
                "completion/complete answers with nothing, but completions is undeclared: "
                "supported and empty, or a polite refusal",
            )


@rule("completion.shape", reads=("complete",))
def results_have_their_shape(seen: ProbeSession) -> Iterator[Note]:
    """completion.values is an array of texts."""
    yield from _absence(seen)

    def problem(result: dict[str, Any]) -> str | None:
        found = shapes.result_problems(result, "completion/complete", seen.revision)
        return f"the result of completion/complete: {'; '.join(found[:3])}" if found else None

    found = [
        (exchange, exchange.result)
        for exchange in seen.tagged("complete")
        if exchange.result is not None
    ]
    yield from note_each(found, problem)


@rule("completion.max-100", reads=("complete",))
def values_are_not_too_many(seen: ProbeSession) -> Iterator[Note]:
    """100 at the most."""
    yield from _absence(seen)
    for exchange in seen.tagged("complete"):
        values = _values(exchange)
        if not isinstance(values, list):
            continue
        if len(values) > _MOST_VALUES:
            yield broken(exchange, f"{len(values)} values came; {_MOST_VALUES} are allowed")
        else:
            yield kept(exchange)


@rule("completion.unsupported-32601", reads=("undeclared",))
def completion_is_refused_where_there_is_none(seen: ProbeSession) -> Iterator[Note]:
    """-32601, as for a method that does not exist."""
    if seen.has("completions"):
        yield absent("the server declares completions")
    found = seen.tagged(_UNDECLARED)
    yield from expect_codes(found, "completion/complete, which is not declared,", (-32601,))


@rule("completion.unknown-prompt-32602", reads=("complete",))
def unknown_prompts_are_refused(seen: ProbeSession) -> Iterator[Note]:
    """-32602."""
    yield from _absence(seen)
    found = seen.tagged("complete/unknown")
    yield from expect_codes(found, "completion for a prompt that does not exist", _INVALID_PARAMS)


@rule("completion.missing-args-32602", reads=("complete",))
def missing_arguments_are_refused(seen: ProbeSession) -> Iterator[Note]:
    """-32602."""
    yield from _absence(seen)
    found = seen.tagged("complete/missing")
    yield from expect_codes(found, "completion without an argument", _INVALID_PARAMS)


@rule("completion.validate", reads=("complete",))
def inputs_are_validated(seen: ProbeSession) -> Iterator[Note]:
    """A ref that is a text, a value that is a number."""
    yield from _absence(seen)
    found = [
        exchange
        for exchange in seen.tagged("complete/wrong-type")
        if exchange.code != _METHOD_NOT_FOUND
    ]
    yield from expect_error(found, "completion with a wrong type")


unjudged.update(
    {
        "completion.error.internal": "needs a completion that fails",
        "completion.sorted": "only a reader can tell what is relevant",
        "completion.fuzzy": "only a reader can tell where it fits",
        "completion.rate-limit": "it would take a load test, which nobody asked for",
        "completion.rate-limit-security": "it would take a load test, which nobody asked for",
        "completion.access": "nothing on the wire shows which suggestions are sensitive",
        "completion.no-disclosure": "nothing on the wire shows what should not be known",
    }
)

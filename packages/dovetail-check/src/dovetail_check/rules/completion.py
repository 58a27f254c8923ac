"""server/utilities/completion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.exchanges import Exchange
from dovetail_check.notes import expect_codes, expect_error, note_each, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__: list[str] = []

_MAX_VALUES = 100
_INVALID_PARAMS = (-32602,)
_METHOD_NOT_FOUND = -32601
_UNDECLARED = "undeclared/completion/complete"


def _absence(session: ProbeSession) -> Iterator[Note]:
    if session.revision.completions_capability:
        yield from undeclared(session, "completions")
    elif any(exchange.code == _METHOD_NOT_FOUND for exchange in session.tagged("complete/fitting")):
        # The first revision has no capability for completions: only the method shows support.
        yield not_applicable("the server has no completions")


def _values(exchange: Exchange) -> Any:
    completion = (exchange.result or {}).get("completion")
    return completion.get("values") if isinstance(completion, dict) else None


@rule("completion.capability", reads=("undeclared",))
def completions_are_declared(session: ProbeSession) -> Iterator[Note]:
    """A server that completes values declares completions."""
    if session.has("completions"):
        yield satisfied(session.opening)
    for exchange in session.tagged(_UNDECLARED):
        if exchange.result is None:
            yield not_applicable("the server has no completions")
        elif _values(exchange):
            yield violated(
                exchange, "completion/complete returns values, but completions is not declared"
            )
        else:
            yield ambiguous(
                exchange,
                "completion/complete returns no values, and completions is not declared: "
                "supported but empty, or a rejection",
            )


@rule("completion.shape", reads=("complete",))
def results_have_their_shape(session: ProbeSession) -> Iterator[Note]:
    """The result has the right shape: completion.values is an array of strings."""
    yield from _absence(session)

    def problem(result: dict[str, Any]) -> str | None:
        found = shapes.result_problems(result, "completion/complete", session.revision)
        return f"the result of completion/complete: {'; '.join(found[:3])}" if found else None

    found = [
        (exchange, exchange.result)
        for exchange in session.tagged("complete")
        if exchange.result is not None
    ]
    yield from note_each(found, problem)


@rule("completion.max-100", reads=("complete",))
def values_are_not_too_many(session: ProbeSession) -> Iterator[Note]:
    """At most 100 values."""
    yield from _absence(session)
    for exchange in session.tagged("complete"):
        values = _values(exchange)
        if not isinstance(values, list):
            continue
        if len(values) > _MAX_VALUES:
            yield violated(exchange, f"got {len(values)} values; {_MAX_VALUES} are allowed")
        else:
            yield satisfied(exchange)


@rule("completion.unsupported-32601", reads=("undeclared",))
def undeclared_completion_is_rejected(session: ProbeSession) -> Iterator[Note]:
    """Error -32601, as for an unknown method."""
    if session.has("completions"):
        yield not_applicable("the server declares completions")
    found = session.tagged(_UNDECLARED)
    yield from expect_codes(found, "completion/complete without the capability", (-32601,))


@rule("completion.unknown-prompt-32602", reads=("complete",))
def unknown_prompts_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """Error -32602."""
    yield from _absence(session)
    found = session.tagged("complete/unknown")
    yield from expect_codes(found, "completion for an unknown prompt", _INVALID_PARAMS)


@rule("completion.missing-args-32602", reads=("complete",))
def missing_arguments_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """Error -32602."""
    yield from _absence(session)
    found = session.tagged("complete/missing")
    yield from expect_codes(found, "completion without an argument", _INVALID_PARAMS)


@rule("completion.validate", reads=("complete",))
def inputs_are_validated(session: ProbeSession) -> Iterator[Note]:
    """A ref that is a string, or a value that is a number, gets an error."""
    yield from _absence(session)
    found = [
        exchange
        for exchange in session.tagged("complete/wrong-type")
        if exchange.code != _METHOD_NOT_FOUND
    ]
    yield from expect_error(found, "completion with a wrong type")


unjudged.update(
    {
        "completion.error.internal": "needs a completion handler that fails",
        "completion.sorted": "needs a human to judge relevance",
        "completion.fuzzy": "needs a human to judge where it is appropriate",
        "completion.rate-limit": "needs a load test, which a check does not run",
        "completion.rate-limit-security": "needs a load test, which a check does not run",
        "completion.access": "not visible on the wire: which suggestions are sensitive",
        "completion.no-disclosure": "not visible on the wire: what must stay private",
    }
)

"""client/roots."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import answered_as, missing_capability, questions_in
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import still_answers, unhandled
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

_ROOTS = "roots/list"
_ASKED = ("asking", "input-rounds")

unjudged["roots.boundaries"] = "needs to know which tools work on files"
unjudged["roots.validate-paths"] = "needs to know which tools work on files"
unjudged["roots.cache"] = "how long roots may be cached depends on their use"


@rule("roots.capability", reads=("tool-calls", "asking", "input-rounds"))
def roots_are_requested_only_if_declared(session: ProbeSession) -> Iterator[Note]:
    """The server sends no roots/list to a client without the capability."""
    asked = questions_in(session, _ROOTS)
    wrong = [question for question in asked if missing_capability(question) is not None]
    for question in wrong:
        yield violated(question.where, "roots/list, but the client did not declare roots")
    if not wrong and session.opening is not None:
        yield satisfied(session.opening)


@rule("roots.unavailable", reads=_ASKED)
def unavailable_roots_are_handled(session: ProbeSession) -> Iterator[Note]:
    """A missing folder or an empty list leads neither to silence nor to an internal error."""
    for variant in ("decline", "fail", "follow"):
        for exchange, questions in answered_as(session, variant):
            if all(question.method != _ROOTS for question in questions):
                continue
            problem = unhandled(exchange)
            if problem is None:
                yield satisfied(exchange)
            else:
                yield violated(exchange, f"with unavailable roots, {problem}")


@rule("roots.changes", reads=("roots-changed", "asking"))
def changes_of_roots_are_handled(session: ProbeSession) -> Iterator[Note]:
    """After roots/list_changed the server still responds."""
    for exchange in session.tagged("roots-changed"):
        if exchange.answer is not None:
            yield violated(
                exchange, f"a notification got {exchange.describe()}; expected no response"
            )
        elif still_answers(session, exchange) is False:
            yield violated(
                exchange, "the server stopped responding after notifications/roots/list_changed"
            )
        elif questions_in(session, _ROOTS):
            yield satisfied(exchange)


@rule("roots.deprecated", reads=("input-rounds",))
def roots_are_deprecated(session: ProbeSession) -> Iterator[Note]:
    """Ambiguous if the server requests roots: only new servers must not."""
    asked = questions_in(session, _ROOTS)
    for question in asked[:1]:
        yield ambiguous(
            question.where,
            "the server requests roots, which are deprecated: new servers should not, existing "
            "ones may",
        )
    if not asked:
        yield from (satisfied(exchange) for exchange in session.tagged("input-rounds/ask")[:1])

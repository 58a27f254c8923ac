"""client/elicitation: how servers handle the answers."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.escaping import shown
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import (
    answered_as,
    got_misfit_reply,
    is_asking,
    subject_of,
)
from dovetail_check.replies import MISFIT
from dovetail_check.rulebook import rule
from dovetail_check.rules.reading import as_json, unhandled
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

_ASKED = ("asking", "input-rounds")
_ELICIT = "elicitation/create"


def _elicited(session: ProbeSession, *variants: str) -> Iterator[Exchange]:
    """Requests whose elicitations were answered in one of these ways."""
    for variant in variants:
        for exchange, questions in answered_as(session, variant):
            if any(question.method == _ELICIT for question in questions):
                yield exchange


@rule("elicit.handle-decline", reads=_ASKED)
def declined_elicitations_are_handled(session: ProbeSession) -> Iterator[Note]:
    """After a decline or cancel, the request gets an answer other than an internal error."""
    for exchange in _elicited(session, "decline", "cancel"):
        problem = unhandled(exchange)
        if problem is None:
            yield satisfied(exchange)
        else:
            yield violated(exchange, f"after a declined elicitation, {problem}")


@rule("elicit.not-assume-success", reads=_ASKED)
def decline_is_not_treated_as_accept(session: ProbeSession) -> Iterator[Note]:
    """A declined elicitation does not lead to the same result as an accepted one."""
    accepted = {
        subject_of(exchange): as_json(exchange.result)
        for exchange in session.tagged("input-rounds/follow")
        if exchange.result is not None and not is_asking(exchange)
    }
    for exchange in _elicited(session, "decline", "cancel"):
        if exchange.result is None or is_asking(exchange):
            if exchange.answer is not None:
                yield satisfied(exchange)
        elif subject_of(exchange) not in accepted:
            continue
        elif as_json(exchange.result) != accepted[subject_of(exchange)]:
            yield satisfied(exchange)
        else:
            yield ambiguous(
                exchange,
                "a declined elicitation led to the same result as an accepted one: a violation "
                "if the result depends on the answer",
            )


@rule("elicit.validate-response", reads=_ASKED)
def answers_are_checked_against_the_form(session: ProbeSession) -> Iterator[Note]:
    """Content that violates the requestedSchema is not used."""
    for exchange in _elicited(session, "misfit"):
        if not got_misfit_reply(session, exchange) or exchange.answer is None:
            continue
        result = exchange.result
        if result is None or is_asking(exchange) or result.get("isError") is True:
            yield satisfied(exchange)
        elif MISFIT in str(result):
            yield violated(
                exchange, f"content that violates the requestedSchema was used: {shown(result)}"
            )
        else:
            yield ambiguous(
                exchange,
                "content that violates the requestedSchema led to a result: a violation unless the "
                "server ignored the content",
            )

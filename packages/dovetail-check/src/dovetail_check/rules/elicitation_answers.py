"""client/elicitation: what servers make of the answers."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import (
    answered_as,
    is_asking,
    is_told_misfit,
    subject_of,
)
from dovetail_check.replies import MISFIT
from dovetail_check.rulebook import rule
from dovetail_check.rules.reading import as_json, unhandled
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

_ASKED = ("asking", "input-rounds")
_ELICIT = "elicitation/create"


def _elicited(seen: ProbeSession, *variants: str) -> Iterator[Exchange]:
    """Requests whose elicitations were answered in one of these ways."""
    for variant in variants:
        for exchange, questions in answered_as(seen, variant):
            if any(question.method == _ELICIT for question in questions):
                yield exchange


@rule("elicit.handle-decline", reads=_ASKED)
def a_no_is_handled(seen: ProbeSession) -> Iterator[Note]:
    """Whoever declines or cancels gets an answer that is no internal error."""
    for exchange in _elicited(seen, "decline", "cancel"):
        problem = unhandled(exchange)
        if problem is None:
            yield kept(exchange)
        else:
            yield broken(exchange, f"an elicitation was refused, and {problem}")


@rule("elicit.not-assume-success", reads=_ASKED)
def a_no_is_no_yes(seen: ProbeSession) -> Iterator[Note]:
    """What is refused does not come to the same as what is accepted."""
    accepted = {
        subject_of(exchange): as_json(exchange.result)
        for exchange in seen.tagged("input-rounds/follow")
        if exchange.result is not None and not is_asking(exchange)
    }
    for exchange in _elicited(seen, "decline", "cancel"):
        if exchange.result is None or is_asking(exchange):
            if exchange.answer is not None:
                yield kept(exchange)
        elif subject_of(exchange) not in accepted:
            continue
        elif as_json(exchange.result) != accepted[subject_of(exchange)]:
            yield kept(exchange)
        else:
            yield unsettled(
                exchange,
                "a refused elicitation came to the same result as an accepted one: wrong if the "
                "result depends on the answer, fine if it does not",
            )


@rule("elicit.validate-response", reads=_ASKED)
def answers_are_checked_against_the_form(seen: ProbeSession) -> Iterator[Note]:
    """What does not fit the requestedSchema is not used."""
    for exchange in _elicited(seen, "misfit"):
        if not is_told_misfit(seen, exchange) or exchange.answer is None:
            continue
        result = exchange.result
        if result is None or is_asking(exchange) or result.get("isError") is True:
            yield kept(exchange)
        elif MISFIT in str(result):
            yield broken(
                exchange, f"content that breaks the requestedSchema was used: {result!r:.160}"
            )
        else:
            yield unsettled(
                exchange,
                "content that breaks the requestedSchema came to a result: wrong if it was used, "
                "fine if it was taken for no answer",
            )

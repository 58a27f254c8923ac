"""What a server asked of the client, whichever way its era asks: found in the frames.

In the legacy era a question is a request of the server. In the modern era it is an entry of the
`inputRequests` of a result, and the client answers it by sending its own request once more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from dovetail.spec import keys
from dovetail.wire import codec
from dovetail_check.exchanges import Exchange, Heard
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.replies import MISFIT

__all__ = [
    "ASKS",
    "INPUT_REQUIRED",
    "Question",
    "answered_as",
    "input_requests",
    "is_asking",
    "is_told_misfit",
    "lacking",
    "questions_behind",
    "questions_in",
    "subject_of",
]

INPUT_REQUIRED = "input_required"
# What a client can be asked, and the capability that says so.
ASKS = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
# What a retry has that the first request had not.
_OF_THE_RETRY = ("_meta", "inputResponses", "requestState")


class Question(NamedTuple):
    """One thing asked."""

    where: Heard
    # One of ASKS.
    method: str
    params: dict[str, Any]
    # What the client had declared; None where that is not known.
    declared: dict[str, Any] | None

    @property
    def is_form(self) -> bool:
        """Whether the user is to fill in a form."""
        return self.method == "elicitation/create" and not self.is_page

    @property
    def is_page(self) -> bool:
        """Whether the user is to visit a page."""
        params = self.params
        named = params.get("mode") == "url"
        return self.method == "elicitation/create" and (
            named or ("url" in params and "requestedSchema" not in params)
        )


def questions_in(seen: ProbeSession, *methods: str) -> list[Question]:
    """Everything that was asked, of these methods; all where none is named."""
    found = _modern(seen) if seen.is_modern else _legacy(seen)
    return [question for question in found if not methods or question.method in methods]


def _legacy(seen: ProbeSession) -> Iterator[Question]:
    for heard in seen.requests:
        if heard.method in ASKS:
            yield Question(heard, heard.method or "", heard.params, _declared_on(seen, heard))


def _declared_on(seen: ProbeSession, heard: Heard) -> dict[str, Any] | None:
    """What the handshake of the line said."""
    hellos = [
        exchange.params.get("capabilities")
        for exchange in seen.sent("initialize")
        if exchange.line == heard.frame.line and exchange.sent.n < heard.frame.n
    ]
    return hellos[-1] if hellos and isinstance(hellos[-1], dict) else None


def _modern(seen: ProbeSession) -> Iterator[Question]:
    for exchange in seen.exchanges:
        yield from _questions_of(exchange)


def _questions_of(exchange: Exchange) -> Iterator[Question]:
    if exchange.answer is None or not is_asking(exchange):
        return
    meta = exchange.params.get("_meta")
    declared = meta.get(keys.CLIENT_CAPABILITIES) if isinstance(meta, dict) else None
    for asked in input_requests(exchange).values():
        method = asked.get("method") if isinstance(asked, dict) else None
        params = asked.get("params") if isinstance(asked, dict) else None
        if isinstance(method, str) and method in ASKS:
            yield Question(
                exchange.answer,
                method,
                params if isinstance(params, dict) else {},
                declared if isinstance(declared, dict) else None,
            )


def is_asking(exchange: Exchange) -> bool:
    """Whether the result says that input is required."""
    # Most answers do not even have the word, and need not be read for it.
    has_word = any(INPUT_REQUIRED in (frame.text or "") for frame in exchange.replies)
    return has_word and (exchange.result or {}).get("resultType") == INPUT_REQUIRED


def input_requests(exchange: Exchange) -> dict[str, Any]:
    """The entries of `inputRequests`; empty where there are none."""
    asked = (exchange.result or {}).get("inputRequests")
    return asked if isinstance(asked, dict) else {}


# -- which question was answered how ---------------------------------------------------------------


def answered_as(seen: ProbeSession, variant: str) -> list[tuple[Exchange, list[Question]]]:
    """Requests whose questions got replies of one kind (`replies.REPLIES`), with the questions."""
    found = seen.tagged(f"asking/{variant}", f"input-rounds/{variant}")
    pairs = [(exchange, questions_behind(seen, exchange)) for exchange in found]
    return [(exchange, questions) for exchange, questions in pairs if questions]


def questions_behind(seen: ProbeSession, exchange: Exchange) -> list[Question]:
    """What was asked before a request could be answered; probes see to it that this is clear."""
    if not seen.is_modern:
        end = _end_of(exchange)
        return [
            question
            for question in _legacy(seen)
            if question.where.frame.line == exchange.line
            and exchange.sent.n < question.where.frame.n < end
        ]
    before = [
        other
        for other in seen.tagged("input-rounds")
        if other.sent.n < exchange.sent.n
        and subject_of(other) == subject_of(exchange)
        and is_asking(other)
    ]
    return list(_questions_of(before[-1])) if before else []


def _end_of(exchange: Exchange) -> float:
    """The number of the frame that answered it."""
    return math.inf if exchange.answer is None else exchange.answer.frame.n


def subject_of(exchange: Exchange) -> bytes:
    """What was asked for, the same for a request and its retries."""
    params = {name: v for name, v in exchange.params.items() if name not in _OF_THE_RETRY}
    return codec.encode([exchange.method, sorted(params.items())])


def is_told_misfit(seen: ProbeSession, exchange: Exchange) -> bool:
    """Whether an answer that does not fit was given on the way."""
    if seen.is_modern:
        return MISFIT.encode() in exchange.sent.data
    end = _end_of(exchange)
    return any(
        frame.kind == "sent"
        and frame.tag == "answer"
        and frame.line == exchange.line
        and exchange.sent.n < frame.n < end
        and MISFIT.encode() in frame.data
        for frame in seen.frames
    )


# -- what the client had declared ------------------------------------------------------------------


def lacking(question: Question) -> str | None:
    """The capability that a question needs and the client did not declare."""
    capability = ASKS[question.method]
    declared = question.declared
    if declared is None:
        return None
    able = declared.get(capability)
    if not isinstance(able, dict):
        return capability
    if question.is_page:
        return None if "url" in able else "elicitation.url"
    # A client that names no mode means forms.
    if question.is_form and "url" in able and "form" not in able:
        return "elicitation.form"
    return None

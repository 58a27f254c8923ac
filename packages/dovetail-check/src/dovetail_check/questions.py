"""Questions: elicitation, sampling and roots requests that the server sent to the client.

In the legacy era a question is a request from the server. In the modern era it is an entry of
`inputRequests` in a result, and the client repeats its request with the answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from dovetail.spec import keys
from dovetail.wire import codec
from dovetail_check.exchanges import Exchange, Incoming
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.replies import MISFIT

__all__ = [
    "ASKS",
    "INPUT_REQUIRED",
    "Question",
    "answered_as",
    "got_misfit_reply",
    "input_requests",
    "is_asking",
    "missing_capability",
    "questions_behind",
    "questions_in",
    "subject_of",
]

INPUT_REQUIRED = "input_required"
# Methods that a client can be asked, and the capability that allows them.
ASKS = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
# Params that a retry adds to the request.
_RETRY_PARAMS = ("_meta", "inputResponses", "requestState")


class Question(NamedTuple):
    """One question."""

    where: Incoming
    # One of ASKS.
    method: str
    params: dict[str, Any]
    # The capabilities that the client declared; None if unknown.
    declared: dict[str, Any] | None

    @property
    def is_form(self) -> bool:
        """Whether it is form elicitation."""
        return self.method == "elicitation/create" and not self.is_url

    @property
    def is_url(self) -> bool:
        """Whether it is URL elicitation."""
        params = self.params
        named = params.get("mode") == "url"
        return self.method == "elicitation/create" and (
            named or ("url" in params and "requestedSchema" not in params)
        )


def questions_in(session: ProbeSession, *methods: str) -> list[Question]:
    """The questions with one of these methods; all if none is given."""
    found = _modern(session) if session.is_modern else _legacy(session)
    return [question for question in found if not methods or question.method in methods]


def _legacy(session: ProbeSession) -> Iterator[Question]:
    for incoming in session.requests:
        if incoming.method in ASKS:
            yield Question(
                incoming, incoming.method or "", incoming.params, _declared_on(session, incoming)
            )


def _declared_on(session: ProbeSession, incoming: Incoming) -> dict[str, Any] | None:
    """The client capabilities in the last initialize on the same connection."""
    declared = [
        exchange.params.get("capabilities")
        for exchange in session.sent("initialize")
        if exchange.connection == incoming.frame.connection and exchange.sent.n < incoming.frame.n
    ]
    return declared[-1] if declared and isinstance(declared[-1], dict) else None


def _modern(session: ProbeSession) -> Iterator[Question]:
    for exchange in session.exchanges:
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
    """Whether the result requires input."""
    # A cheap text search avoids parsing most responses.
    has_word = any(INPUT_REQUIRED in (frame.text or "") for frame in exchange.replies)
    return has_word and (exchange.result or {}).get("resultType") == INPUT_REQUIRED


def input_requests(exchange: Exchange) -> dict[str, Any]:
    """The entries of `inputRequests`; empty if there are none."""
    asked = (exchange.result or {}).get("inputRequests")
    return asked if isinstance(asked, dict) else {}


# -- questions and their replies -------------------------------------------------------------------


def answered_as(session: ProbeSession, variant: str) -> list[tuple[Exchange, list[Question]]]:
    """The requests whose questions got one kind of reply (`replies.REPLIES`)."""
    found = session.tagged(f"asking/{variant}", f"input-rounds/{variant}")
    pairs = [(exchange, questions_behind(session, exchange)) for exchange in found]
    return [(exchange, questions) for exchange, questions in pairs if questions]


def questions_behind(session: ProbeSession, exchange: Exchange) -> list[Question]:
    """The questions of the server before it answered a request. Probes send one at a time."""
    if not session.is_modern:
        end = _end_of(exchange)
        return [
            question
            for question in _legacy(session)
            if question.where.frame.connection == exchange.connection
            and exchange.sent.n < question.where.frame.n < end
        ]
    before = [
        other
        for other in session.tagged("input-rounds")
        if other.sent.n < exchange.sent.n
        and subject_of(other) == subject_of(exchange)
        and is_asking(other)
    ]
    return list(_questions_of(before[-1])) if before else []


def _end_of(exchange: Exchange) -> float:
    """The number of the frame with the response."""
    return math.inf if exchange.answer is None else exchange.answer.frame.n


def subject_of(exchange: Exchange) -> bytes:
    """A key that is the same for a request and its retries."""
    params = {name: v for name, v in exchange.params.items() if name not in _RETRY_PARAMS}
    return codec.encode([exchange.method, sorted(params.items())])


def got_misfit_reply(session: ProbeSession, exchange: Exchange) -> bool:
    """Whether the client sent an invalid reply during the exchange."""
    if session.is_modern:
        return MISFIT.encode() in exchange.sent.data
    end = _end_of(exchange)
    return any(
        frame.kind == "sent"
        and frame.tag == "answer"
        and frame.connection == exchange.connection
        and exchange.sent.n < frame.n < end
        and MISFIT.encode() in frame.data
        for frame in session.frames
    )


# -- client capabilities ---------------------------------------------------------------------------


def missing_capability(question: Question) -> str | None:
    """The capability that a question requires and the client did not declare."""
    capability = ASKS[question.method]
    declared = question.declared
    if declared is None:
        return None
    able = declared.get(capability)
    if not isinstance(able, dict):
        return capability
    if question.is_url:
        return None if "url" in able else "elicitation.url"
    # Without a declared mode, a client supports forms.
    if question.is_form and "url" in able and "form" not in able:
        return "elicitation.form"
    return None

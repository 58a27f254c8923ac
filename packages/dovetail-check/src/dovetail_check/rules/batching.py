"""basic/index#batching."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check.exchanges import Exchange
from dovetail_check.http_traffic import is_rejected
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import still_answers
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

unjudged["batch.send"] = "a permission: nothing to violate; rules read arrays like single messages"


def _unanswered(exchange: Exchange) -> list[Any]:
    """The ids in a batch that got no response."""
    asked = _asked(exchange)
    answered = [
        incoming.message.get("id") for incoming in exchange.incoming if incoming.is_response
    ]
    return [id for id in asked if id not in answered]


def _asked(exchange: Exchange) -> list[Any]:
    parts = exchange.request if isinstance(exchange.request, list) else []
    return [part["id"] for part in parts if isinstance(part, dict) and "id" in part]


@rule("batch.receive", reads=("batch",))
def batches_are_received(session: ProbeSession) -> Iterator[Note]:
    """Each request in the array gets a response."""
    for exchange in session.tagged("batch/mixed"):
        missing = _unanswered(exchange)
        if missing:
            got = exchange.describe()
            yield violated(exchange, f"requests in a batch without answer: {missing}; {got}")
        else:
            yield satisfied(exchange)


@rule("batch.http.all-answered", reads=("batch",))
def streams_answer_the_whole_batch(session: ProbeSession) -> Iterator[Note]:
    """One response per request, also if they come in a stream."""
    for exchange in session.tagged("batch/mixed"):
        missing = _unanswered(exchange)
        if len(missing) == len(_asked(exchange)):
            continue
        if missing:
            yield violated(exchange, f"the response ends without answers to {missing}")
        else:
            yield satisfied(exchange)


@rule("batch.http.notifications-202", reads=("batch",))
def batches_without_requests_are_accepted(session: ProbeSession) -> Iterator[Note]:
    """202 and no body."""
    for exchange in session.tagged("batch/notifications"):
        body = exchange.head.data if exchange.head is not None else b""
        if exchange.status == 202 and not body.strip():
            yield satisfied(exchange)
        elif is_rejected(exchange):
            # 202 is for accepted input, an error status for input that cannot be accepted.
            yield ambiguous(
                exchange,
                f"two notifications in a batch got status {exchange.status}: correct for input "
                "that cannot be accepted, but batches must be accepted (see batch.receive)",
            )
        else:
            got = f"status {exchange.status} and {len(body)} bytes"
            yield violated(
                exchange, f"two notifications in a batch got {got}; expected 202, no body"
            )


# batch.removed (2025-11-25 basic/transports): the client sends one message at a time. The page
# does not say how a server treats an array, so only a crash is a violation.
@rule("batch.removed", reads=("batch-removed",))
def arrays_do_no_harm(session: ProbeSession) -> Iterator[Note]:
    """The server still responds after an array. Its reaction is reported, not judged."""
    for exchange in session.tagged("batch-removed"):
        if still_answers(session, exchange) is False:
            yield violated(exchange, "the server stopped responding after an array")
        else:
            yield satisfied(exchange, f"an array got {exchange.describe()}")

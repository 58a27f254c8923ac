"""basic/index#batching."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check.exchanges import Exchange
from dovetail_check.http_traffic import is_refused
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import lived_on
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

unjudged["batch.send"] = "a permission: nothing to break; arrays are read like single messages"


def _unanswered(exchange: Exchange) -> list[Any]:
    """The ids in a batch that got no response."""
    asked = _asked(exchange)
    answered = [heard.message.get("id") for heard in exchange.heard if heard.is_response]
    return [id for id in asked if id not in answered]


def _asked(exchange: Exchange) -> list[Any]:
    parts = exchange.request if isinstance(exchange.request, list) else []
    return [part["id"] for part in parts if isinstance(part, dict) and "id" in part]


@rule("batch.receive", reads=("batch",))
def batches_are_received(seen: ProbeSession) -> Iterator[Note]:
    """Each request in the array is answered."""
    for exchange in seen.tagged("batch/mixed"):
        missing = _unanswered(exchange)
        if missing:
            came = exchange.describe()
            yield broken(exchange, f"two requests in a batch, without answer: {missing}; {came}")
        else:
            yield kept(exchange)


@rule("batch.http.all-answered", reads=("batch",))
def streams_answer_the_whole_batch(seen: ProbeSession) -> Iterator[Note]:
    """One response per request, also where they come as a stream."""
    for exchange in seen.tagged("batch/mixed"):
        missing = _unanswered(exchange)
        if len(missing) == len(_asked(exchange)):
            continue
        if missing:
            yield broken(exchange, f"the response ends without answers to {missing}")
        else:
            yield kept(exchange)


@rule("batch.http.notifications-202", reads=("batch",))
def batches_without_requests_are_accepted(seen: ProbeSession) -> Iterator[Note]:
    """202 and no body."""
    for exchange in seen.tagged("batch/notifications"):
        body = exchange.head.data if exchange.head is not None else b""
        if exchange.status == 202 and not body.strip():
            yield kept(exchange)
        elif is_refused(exchange):
            # 202 is due where the input is accepted; where it cannot be, an error status is.
            yield unsettled(
                exchange,
                f"two notifications in a batch got status {exchange.status}: right for input that "
                "cannot be accepted, but batches must be; see batch.receive",
            )
        else:
            came = f"status {exchange.status} and {len(body)} bytes"
            yield broken(exchange, f"two notifications in a batch got {came}; 202 and none was due")


# batch.removed (2025-11-25 basic/transports): the client sends one message at a time; what a
# server makes of an array is not said, so that only its end would be a fault.
@rule("batch.removed", reads=("batch-removed",))
def arrays_do_no_harm(seen: ProbeSession) -> Iterator[Note]:
    """Refused or answered: told, not judged."""
    for exchange in seen.tagged("batch-removed"):
        if lived_on(seen, exchange) is False:
            yield broken(exchange, "an array, and nothing was answered any more")
        else:
            yield kept(exchange, f"an array got {exchange.describe()}")

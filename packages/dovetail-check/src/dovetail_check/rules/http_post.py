"""basic/transports, Streamable HTTP: responses to POST."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.exchanges import Exchange
from dovetail_check.http_traffic import (
    is_notification,
    is_rejected,
    is_request,
    is_response,
    media_type,
)
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, satisfied, violated

__all__: list[str] = []

unjudged["http.accept.406"] = (
    "a requirement for clients: the server decides how to treat an incomplete Accept"
)
unjudged["http.compat.old-sse"] = "a permission: nothing to violate"

_TYPES = ("application/json", "text/event-stream")


def _notified(session: ProbeSession) -> list[Exchange]:
    """Notifications and responses that were posted and got an HTTP response."""
    return [
        exchange
        for exchange in session.exchanges
        if exchange.status is not None
        and (is_notification(exchange) or (is_response(exchange) and not session.is_modern))
    ]


@rule("http.post.notification-202", reads=("http-post",))
def a_notification_gets_202(session: ProbeSession) -> Iterator[Note]:
    """An accepted notification gets 202. Another rule judges rejected ones."""
    for exchange in _notified(session):
        if exchange.status == 202:
            yield satisfied(exchange)
        elif is_rejected(exchange) or exchange.error is not None:
            continue
        else:
            yield violated(
                exchange, f"status {exchange.status}; expected 202 for an accepted message"
            )


@rule("http.post.notification-empty", reads=("http-post",))
def a_202_has_no_body(session: ProbeSession) -> Iterator[Note]:
    """A 202 response has no body."""
    for exchange in _notified(session):
        if exchange.status != 202:
            continue
        body = b"".join(f.data for f in exchange.replies if f.kind in ("received", "event"))
        if body:
            yield violated(exchange, f"202 came with a body of {len(body)} bytes; expected no body")
        else:
            yield satisfied(exchange)


@rule("http.post.notification-refused", reads=("http-post",))
def a_rejected_notification_gets_an_error_status(session: ProbeSession) -> Iterator[Note]:
    """An error does not come with a 2xx status."""
    for exchange in _notified(session):
        if is_rejected(exchange):
            yield satisfied(exchange)
        elif exchange.error is not None:
            what = exchange.describe()
            yield violated(exchange, f"a rejected message got {what}; expected 4xx")


@rule("http.post.refused-body", reads=("http-post",))
def the_body_of_a_rejection_has_no_id(session: ProbeSession) -> Iterator[Note]:
    """A JSON-RPC error for a rejected notification has no id."""
    for exchange in _notified(session):
        if is_rejected(exchange) and exchange.error is not None and exchange.answer is not None:
            message = exchange.answer.message
            if message.get("id") is None:
                yield satisfied(exchange)
            else:
                yield violated(exchange, f"the error has the id {message['id']!r}; expected no id")


@rule("http.post.content-type")
def a_request_is_answered_in_a_known_type(session: ProbeSession) -> Iterator[Note]:
    """The Content-Type is JSON or an event stream."""
    for exchange in session.exchanges:
        if not is_request(exchange) or not 200 <= (exchange.status or 0) < 300:
            continue
        if media_type(exchange) in _TYPES:
            yield satisfied(exchange)
        else:
            given = exchange.header("content-type")
            yield violated(exchange, f"Content-Type {given!r}; expected {' or '.join(_TYPES)}")

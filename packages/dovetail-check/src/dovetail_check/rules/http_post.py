"""basic/transports, Streamable HTTP: how what is posted is received."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.exchanges import Exchange
from dovetail_check.http_traffic import (
    is_notification,
    is_refused,
    is_request,
    is_response,
    media_type,
)
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

unjudged["http.accept.406"] = (
    "a duty of clients: what a server does with an Accept that lacks a type is left to it"
)
unjudged["http.compat.old-sse"] = "a permission: nothing to break"

_TYPES = ("application/json", "text/event-stream")


def _told(seen: ProbeSession) -> list[Exchange]:
    """What was posted that no answer is due to, and got a response."""
    return [
        exchange
        for exchange in seen.exchanges
        if exchange.status is not None
        and (is_notification(exchange) or (is_response(exchange) and not seen.is_modern))
    ]


@rule("http.post.notification-202", reads=("http-post",))
def a_notification_gets_202(seen: ProbeSession) -> Iterator[Note]:
    """Accepted: 202. Refused is another rule's business."""
    for exchange in _told(seen):
        if exchange.status == 202:
            yield kept(exchange)
        elif is_refused(exchange) or exchange.error is not None:
            continue
        elif seen.is_modern:
            text = "202 would be due if the revision had notifications of clients over HTTP"
            yield unsettled(exchange, f"status {exchange.status}; {text}")
        else:
            yield broken(exchange, f"status {exchange.status}; an accepted message gets 202")


@rule("http.post.notification-empty", reads=("http-post",))
def a_202_has_no_body(seen: ProbeSession) -> Iterator[Note]:
    """Nothing comes with 202."""
    for exchange in _told(seen):
        if exchange.status != 202:
            continue
        body = b"".join(f.data for f in exchange.replies if f.kind in ("received", "event"))
        if body:
            yield broken(exchange, f"202 came with a body of {len(body)} bytes; none was due")
        else:
            yield kept(exchange)


@rule("http.post.notification-refused", reads=("http-post",))
def a_refused_notification_gets_an_error_status(seen: ProbeSession) -> Iterator[Note]:
    """An error never comes with a status of success."""
    for exchange in _told(seen):
        if is_refused(exchange):
            yield kept(exchange)
        elif exchange.error is not None:
            what = exchange.describe()
            yield broken(exchange, f"a message that was refused got {what}; 4xx was due")


@rule("http.post.refused-body", reads=("http-post",))
def the_body_of_a_refusal_has_no_id(seen: ProbeSession) -> Iterator[Note]:
    """Where a refused notification is answered with an error, the error names no request."""
    for exchange in _told(seen):
        if is_refused(exchange) and exchange.error is not None and exchange.answer is not None:
            message = exchange.answer.message
            if message.get("id") is None:
                yield kept(exchange)
            else:
                yield broken(exchange, f"the error has the id {message['id']!r}; none was due")


@rule("http.post.content-type")
def a_request_is_answered_in_a_known_type(seen: ProbeSession) -> Iterator[Note]:
    """JSON or a stream of events, whatever the answer is."""
    for exchange in seen.exchanges:
        if not is_request(exchange) or not 200 <= (exchange.status or 0) < 300:
            continue
        if media_type(exchange) in _TYPES:
            yield kept(exchange)
        else:
            given = exchange.header("content-type")
            yield broken(exchange, f"Content-Type {given!r}; {' or '.join(_TYPES)} was due")

"""basic/transports, Streamable HTTP with sessions: GET streams."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.exchanges import Incoming
from dovetail_check.http_traffic import (
    end_of,
    events_of,
    get_streams,
    is_request,
    session_of,
    token_of,
)
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.http_streams import PROGRESS
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__: list[str] = []

unjudged["http.get.messages"] = "a permission: nothing to violate"

# Maximum seconds between two copies of one message on different streams.
_MAX_DELAY = 0.25
_NO_STREAM = "the server offers no stream for GET"


@rule("http.endpoint.post-get", reads=("http-get",))
def one_path_supports_post_and_get(session: ProbeSession) -> Iterator[Note]:
    """The POST endpoint also handles GET, even if only to reject it."""
    for exchange in session.tagged("http-get"):
        if exchange.status == 404:
            yield violated(exchange, "GET got 404 at the POST endpoint; expected a stream or 405")
        elif exchange.status is not None:
            yield satisfied(exchange)


@rule("http.get.sse-or-405", reads=("http-get",))
def get_opens_a_stream_or_gets_405(session: ProbeSession) -> Iterator[Note]:
    """No other response is allowed."""
    for exchange in session.tagged("http-get"):
        is_good = exchange.status == 405 or (exchange.status == 200 and exchange.is_stream)
        if is_good:
            yield satisfied(exchange)
        elif exchange.status not in (401, 403, 429, None):
            given = f"status {exchange.status}, {exchange.header('content-type')}"
            yield violated(exchange, f"GET got {given}; expected text/event-stream or 405")


@rule("http.get.no-response", reads=("http-get",))
def no_answers_on_a_get_stream(session: ProbeSession) -> Iterator[Note]:
    """Responses come on the stream of their request."""
    streams = get_streams(session)
    for exchange in streams:
        answers = [incoming for incoming in exchange.incoming if incoming.is_response]
        for incoming in answers:
            id = incoming.message.get("id")
            yield violated(incoming, f"the response to {id!r} came on a GET stream")
        if not answers:
            yield satisfied(exchange)
    if session.tagged("http-get") and not streams:
        yield not_applicable(_NO_STREAM)


@rule("http.get.unrelated", reads=("http-get",))
def no_progress_on_a_get_stream(session: ProbeSession) -> Iterator[Note]:
    """Messages related to a running request do not come on a GET stream."""
    tokens = [token for one in session.exchanges if is_request(one) and (token := token_of(one))]
    streams = get_streams(session)
    for exchange in streams:
        strays = [incoming for incoming in exchange.incoming if incoming.method == PROGRESS]
        for incoming in strays:
            token = incoming.params.get("progressToken")
            if token in tokens:
                yield violated(
                    incoming, f"progress for token {token!r} of a request came on a GET stream"
                )
        if not strays:
            yield satisfied(exchange)
    if session.tagged("http-get") and not streams:
        yield not_applicable(_NO_STREAM)


@rule("http.get.retry", reads=("http-get",))
def a_dropped_get_stream_sends_retry(session: ProbeSession) -> Iterator[Note]:
    """A server that closes the connection has sent a retry field."""
    streams = get_streams(session)
    for exchange in streams:
        end = end_of(exchange)
        if end is None or end.kind == "closed":
            continue
        if any(frame.retry is not None for frame in events_of(exchange)):
            yield satisfied(exchange)
        else:
            text = "required if only the connection was closed, not if the stream is finished"
            yield ambiguous(exchange, f"the server ended the stream without a retry; {text}")
    if streams and all((end := end_of(one)) and end.kind == "closed" for one in streams):
        yield not_applicable("the server ended no stream")


@rule("http.multi.one-stream", reads=("http-get", "http-get-twice"))
def messages_are_not_broadcast(session: ProbeSession) -> Iterator[Note]:
    """A message is not sent on two streams of one session."""
    by_session: dict[str, list[Incoming]] = {}
    for exchange in get_streams(session):
        by_session.setdefault(session_of(exchange), []).extend(exchange.incoming)
    for incoming in by_session.values():
        for n, one in enumerate(incoming):
            twins = [other for other in incoming[n + 1 :] if _is_copy(one, other)]
            yield from (_judge_copy(one, twin) for twin in twins)
            if not twins:
                yield satisfied(one)


def _is_copy(one: Incoming, other: Incoming) -> bool:
    return (
        one.exchange is not other.exchange
        and one.value == other.value
        and abs(one.frame.at - other.frame.at) <= _MAX_DELAY
    )


def _judge_copy(one: Incoming, twin: Incoming) -> Note:
    what = one.message.get("method")
    if one.is_request or one.params:
        return violated(twin, f"{what!r} came on two streams (#{one.frame.n}); expected one stream")
    text = "one message sent to both, or two equal messages"
    return ambiguous(twin, f"{what!r} came on two streams at the same time: {text}")

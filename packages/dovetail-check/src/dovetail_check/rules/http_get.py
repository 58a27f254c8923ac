"""basic/transports, Streamable HTTP with sessions: the streams that GET opens."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.exchanges import Heard
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
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__: list[str] = []

unjudged["http.get.messages"] = "a permission: nothing to break"

# Seconds between two copies of a message that is sent to every stream.
_AT_ONCE = 0.25
_NO_STREAM = "the server offers no stream for GET"


@rule("http.endpoint.post-get", reads=("http-get",))
def one_path_takes_post_and_get(seen: ProbeSession) -> Iterator[Note]:
    """What answers POST knows GET as well, be it to refuse it."""
    for exchange in seen.tagged("http-get"):
        if exchange.status == 404:
            yield broken(exchange, "GET got 404 where POST is served; a stream or 405 was due")
        elif exchange.status is not None:
            yield kept(exchange)


@rule("http.get.sse-or-405", reads=("http-get",))
def get_opens_a_stream_or_gets_405(seen: ProbeSession) -> Iterator[Note]:
    """Nothing else than these two."""
    for exchange in seen.tagged("http-get"):
        is_good = exchange.status == 405 or (exchange.status == 200 and exchange.is_stream)
        if is_good:
            yield kept(exchange)
        elif exchange.status not in (401, 403, 429, None):
            given = f"status {exchange.status}, {exchange.header('content-type')}"
            yield broken(exchange, f"GET got {given}; text/event-stream or 405 was due")


@rule("http.get.no-response", reads=("http-get",))
def no_answers_on_a_get_stream(seen: ProbeSession) -> Iterator[Note]:
    """Answers go to the stream of their request."""
    streams = get_streams(seen)
    for exchange in streams:
        answers = [heard for heard in exchange.heard if heard.is_response]
        for heard in answers:
            id = heard.message.get("id")
            yield broken(heard, f"the response to {id!r} came on a stream of GET")
        if not answers:
            yield kept(exchange)
    if seen.tagged("http-get") and not streams:
        yield absent(_NO_STREAM)


@rule("http.get.unrelated", reads=("http-get",))
def no_progress_on_a_get_stream(seen: ProbeSession) -> Iterator[Note]:
    """What belongs to a running request does not come on the stream for everything else."""
    tokens = [token for one in seen.exchanges if is_request(one) and (token := token_of(one))]
    streams = get_streams(seen)
    for exchange in streams:
        strays = [heard for heard in exchange.heard if heard.method == PROGRESS]
        for heard in strays:
            token = heard.params.get("progressToken")
            if token in tokens:
                yield broken(heard, f"progress of the request with {token!r} on a stream of GET")
        if not strays:
            yield kept(exchange)
    if seen.tagged("http-get") and not streams:
        yield absent(_NO_STREAM)


@rule("http.get.retry", reads=("http-get",))
def a_dropped_get_stream_says_when_to_come_back(seen: ProbeSession) -> Iterator[Note]:
    """A server that hangs up has sent a retry."""
    streams = get_streams(seen)
    for exchange in streams:
        end = end_of(exchange)
        if end is None or end.kind == "closed":
            continue
        if any(frame.retry is not None for frame in events_of(exchange)):
            yield kept(exchange)
        else:
            text = "a stream that is over needs none, a connection that is dropped does"
            yield unsettled(exchange, f"the server ended the stream without a retry; {text}")
    if streams and all((end := end_of(one)) and end.kind == "closed" for one in streams):
        yield absent("no stream was ended by the server")


@rule("http.multi.one-stream", reads=("http-get", "http-get-twice"))
def nothing_is_sent_to_every_stream(seen: ProbeSession) -> Iterator[Note]:
    """The same message does not come on two streams of a session at the same time."""
    by_session: dict[str, list[Heard]] = {}
    for exchange in get_streams(seen):
        by_session.setdefault(session_of(exchange), []).extend(exchange.heard)
    for heard in by_session.values():
        for n, one in enumerate(heard):
            twins = [other for other in heard[n + 1 :] if _is_copy(one, other)]
            yield from (_judge_copy(one, twin) for twin in twins)
            if not twins:
                yield kept(one)


def _is_copy(one: Heard, other: Heard) -> bool:
    return (
        one.exchange is not other.exchange
        and one.value == other.value
        and abs(one.frame.at - other.frame.at) <= _AT_ONCE
    )


def _judge_copy(one: Heard, twin: Heard) -> Note:
    what = one.message.get("method")
    if one.is_request or one.params:
        return broken(twin, f"{what!r} came on two streams (#{one.frame.n}); one was due")
    text = "one message sent to both streams, or the same said twice"
    return unsettled(twin, f"{what!r} came on two streams at the same time: {text}")

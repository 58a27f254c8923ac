"""basic/transports, Streamable HTTP: event streams that answer a POST."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check.connections.http_connection import END_OF_STREAM, JUNK
from dovetail_check.exchanges import Exchange, Incoming, parse
from dovetail_check.http_traffic import (
    end_of,
    events_of,
    get_streams,
    reply_streams,
    session_of,
    token_of,
)
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, not_applicable, satisfied, violated

__all__: list[str] = []

_PERMISSION = "a permission: nothing to violate"
unjudged["http.sse.close-anytime"] = _PERMISSION
unjudged["http.sse.server-messages"] = _PERMISSION
unjudged["http.sse.resumable"] = _PERMISSION
unjudged["http.sse.event-id"] = _PERMISSION
unjudged["http.resume.replay"] = _PERMISSION
unjudged["http.sse.disconnect-not-cancel"] = (
    "needs a slow tool whose stream is interrupted before the response"
)

PROGRESS = "notifications/progress"


@rule("http.sse.wire-format")
def an_event_carries_one_message(session: ProbeSession) -> Iterator[Note]:
    """The data of each event is one JSON message; events without data are ignored."""
    for exchange in session.exchanges:
        for frame in events_of(exchange) if exchange.is_stream else ():
            if not frame.data:
                continue
            if frame.event == JUNK:
                text = f"a stream has the line {frame.data[:80]!r}"
                yield violated(frame, f"{text}; expected a field of the SSE format")
                continue
            value = parse(frame.data)
            is_batch = isinstance(value, list) and session.revision.batching
            if isinstance(value, dict) or is_batch:
                yield satisfied(frame)
            else:
                text = frame.data[:80].decode("utf-8", "backslashreplace")
                yield violated(frame, f"the data of an event is {text!r}; expected one message")


@rule("http.sse.prime")
def a_stream_begins_with_an_id(session: ProbeSession) -> Iterator[Note]:
    """The first event has an id and empty data, so that a client can reconnect."""
    for exchange in reply_streams(session):
        version = exchange.sent.header("mcp-protocol-version")
        if version != session.revision.date and exchange.method != "initialize":
            # A request that does not name the revision may be treated as that of an older client.
            continue
        for first in events_of(exchange)[:1]:
            if first.event_id and not first.data:
                yield satisfied(first)
            else:
                what = "data" if first.data else "no id"
                yield violated(first, f"the first event has {what}; expected an id and no data")


def _is_dropped(exchange: Exchange) -> bool:
    """Whether the server ended a stream before the response."""
    end = end_of(exchange)
    return exchange.answer is None and end is not None and end.kind != "closed"


@rule("http.sse.retry")
def a_dropped_stream_sends_retry(session: ProbeSession) -> Iterator[Note]:
    """A stream that ends before the response has sent a retry field."""
    dropped = [exchange for exchange in reply_streams(session) if _is_dropped(exchange)]
    for exchange in dropped:
        if any(frame.retry is not None for frame in events_of(exchange)):
            yield satisfied(exchange)
        else:
            yield violated(exchange, "the stream ended before the response without a retry field")
    if not dropped and reply_streams(session):
        yield not_applicable("no stream ended before the response")


@rule("http.sse.response")
def a_stream_has_the_answer(session: ProbeSession) -> Iterator[Note]:
    """The response comes on the stream of its request."""
    for exchange in reply_streams(session):
        can_go_on = any(frame.event_id for frame in events_of(exchange))
        if exchange.answer is not None:
            yield satisfied(exchange)
        elif _is_dropped(exchange) and not can_go_on:
            yield violated(exchange, "the stream ended without a response to its request")


@rule("http.sse.no-early-close")
def a_stream_stays_until_the_answer(session: ProbeSession) -> Iterator[Note]:
    """The server does not end a stream before the response."""
    for exchange in reply_streams(session):
        if exchange.answer is not None:
            yield satisfied(exchange)
        elif _is_dropped(exchange):
            yield violated(exchange, "the stream was closed before the response to its request")


@rule("http.sse.end-after-response")
def a_stream_ends_with_the_answer(session: ProbeSession) -> Iterator[Note]:
    """The connection is closed soon after the response."""
    for exchange in reply_streams(session):
        end, answer = end_of(exchange), exchange.answer
        if end is None or answer is None:
            continue
        waited = end.at - answer.frame.at
        if end.kind != "closed":
            yield satisfied(exchange)
        elif waited >= 0.9 * END_OF_STREAM:
            yield violated(exchange, f"the stream was still open {waited:.1f} s after the response")


@rule("http.sse.related-only")
def a_stream_is_about_its_request(session: ProbeSession) -> Iterator[Note]:
    """Progress on a stream belongs to its request."""
    for exchange in reply_streams(session):
        for incoming in exchange.incoming:
            yield from judge_relation(exchange, incoming)


def judge_relation(exchange: Exchange, incoming: Incoming) -> Iterator[Note]:
    """Whether a message belongs to the request on whose stream it came."""
    if incoming.method != PROGRESS:
        if not incoming.is_response:
            yield satisfied(incoming)
        return
    token: Any = incoming.params.get("progressToken")
    mine = token_of(exchange)
    if token == mine and mine is not None:
        yield satisfied(incoming)
    else:
        yield violated(
            incoming, f"progress for token {token!r} on the stream of a request with token {mine!r}"
        )


@rule("http.sse.event-id-unique")
def event_ids_are_unique(seen: ProbeSession) -> Iterator[Note]:
    """No event id is used twice in a session. Resumed streams repeat ids and are not counted."""
    known: dict[tuple[str, str], int] = {}
    for exchange in [*reply_streams(seen), *get_streams(seen)]:
        session = session_of(exchange)
        for frame in events_of(exchange):
            if not frame.event_id:
                continue
            first = known.setdefault((session, frame.event_id), frame.n)
            if first == frame.n:
                yield satisfied(frame)
            else:
                yield violated(
                    frame, f"the event id {frame.event_id!r} was already used by #{first}"
                )

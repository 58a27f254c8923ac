"""basic/transports, Streamable HTTP: streams of events that answer a POST."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check.exchanges import Exchange, Heard, parse
from dovetail_check.http_traffic import (
    end_of,
    events_of,
    get_streams,
    reply_streams,
    session_of,
    token_of,
)
from dovetail_check.lines.http_line import END_OF_STREAM
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, absent, broken, kept

__all__: list[str] = []

_PERMISSION = "a permission: nothing to break"
unjudged["http.sse.close-anytime"] = _PERMISSION
unjudged["http.sse.server-messages"] = _PERMISSION
unjudged["http.sse.resumable"] = _PERMISSION
unjudged["http.sse.event-id"] = _PERMISSION
unjudged["http.resume.replay"] = _PERMISSION
unjudged["http.sse.disconnect-not-cancel"] = (
    "needs a slow call made for it: its stream must break while the answer is on the way"
)

PROGRESS = "notifications/progress"


@rule("http.sse.wire-format")
def an_event_carries_one_message(seen: ProbeSession) -> Iterator[Note]:
    """The data of each event is JSON; events without data carry nothing."""
    for exchange in seen.exchanges:
        for frame in events_of(exchange) if exchange.is_stream else ():
            if not frame.data:
                continue
            value = parse(frame.data)
            is_batch = isinstance(value, list) and seen.revision.batching
            if isinstance(value, dict) or is_batch:
                yield kept(frame)
            else:
                text = frame.data[:80].decode("utf-8", "backslashreplace")
                yield broken(frame, f"the data of an event is {text!r}; one message was due")


@rule("http.sse.prime")
def a_stream_begins_with_an_id(seen: ProbeSession) -> Iterator[Note]:
    """The first event has an id and empty data, so that a client can come back."""
    for exchange in reply_streams(seen):
        version = exchange.sent.header("mcp-protocol-version")
        if version != seen.revision.date and exchange.method != "initialize":
            # A request that does not name the revision may be served as one of an older client.
            continue
        for first in events_of(exchange)[:1]:
            if first.event_id and not first.data:
                yield kept(first)
            else:
                what = "data" if first.data else "no id"
                yield broken(first, f"the first event has {what}; an id and no data were due")


def _is_dropped(exchange: Exchange) -> bool:
    """Whether the server ended a stream before its answer."""
    end = end_of(exchange)
    return exchange.answer is None and end is not None and end.kind != "closed"


@rule("http.sse.retry")
def a_dropped_stream_says_when_to_come_back(seen: ProbeSession) -> Iterator[Note]:
    """A connection that ends before the answer has named a time to wait."""
    dropped = [exchange for exchange in reply_streams(seen) if _is_dropped(exchange)]
    for exchange in dropped:
        if any(frame.retry is not None for frame in events_of(exchange)):
            yield kept(exchange)
        else:
            yield broken(exchange, "the stream ended before its answer, and no retry was sent")
    if not dropped and reply_streams(seen):
        yield absent("no stream ended before its answer")


@rule("http.sse.response")
def a_stream_has_the_answer(seen: ProbeSession) -> Iterator[Note]:
    """The answer comes on the stream of its request."""
    for exchange in reply_streams(seen):
        can_go_on = any(frame.event_id for frame in events_of(exchange))
        if exchange.answer is not None:
            yield kept(exchange)
        elif _is_dropped(exchange) and not can_go_on:
            yield broken(exchange, "the stream ended without the answer to its request")


@rule("http.sse.no-early-close")
def a_stream_stays_until_the_answer(seen: ProbeSession) -> Iterator[Note]:
    """The server does not end a stream that still owes an answer."""
    for exchange in reply_streams(seen):
        if exchange.answer is not None:
            yield kept(exchange)
        elif _is_dropped(exchange):
            yield broken(exchange, "the stream was closed before the answer to its request")


@rule("http.sse.end-after-response")
def a_stream_ends_with_the_answer(seen: ProbeSession) -> Iterator[Note]:
    """The connection is closed soon after the answer."""
    for exchange in reply_streams(seen):
        end, answer = end_of(exchange), exchange.answer
        if end is None or answer is None:
            continue
        waited = end.at - answer.frame.at
        if end.kind != "closed":
            yield kept(exchange)
        elif waited >= 0.9 * END_OF_STREAM:
            yield broken(exchange, f"the stream was still open {waited:.1f} s after its answer")


@rule("http.sse.related-only")
def a_stream_is_about_its_request(seen: ProbeSession) -> Iterator[Note]:
    """Progress on a stream is that of its own request."""
    for exchange in reply_streams(seen):
        for heard in exchange.heard:
            yield from judge_relation(exchange, heard)


def judge_relation(exchange: Exchange, heard: Heard) -> Iterator[Note]:
    """Whether a message belongs to the request on whose stream it came."""
    if heard.method != PROGRESS:
        if not heard.is_response:
            yield kept(heard)
        return
    token: Any = heard.params.get("progressToken")
    mine = token_of(exchange)
    if token == mine and mine is not None:
        yield kept(heard)
    else:
        yield broken(heard, f"progress of {token!r} on the stream of a request with {mine!r}")


@rule("http.sse.event-id-unique")
def event_ids_are_unique(seen: ProbeSession) -> Iterator[Note]:
    """No id twice in a session; what is picked up again repeats ids, and is not counted."""
    known: dict[tuple[str, str], int] = {}
    for exchange in [*reply_streams(seen), *get_streams(seen)]:
        session = session_of(exchange)
        for frame in events_of(exchange):
            if not frame.event_id:
                continue
            first = known.setdefault((session, frame.event_id), frame.n)
            if first == frame.n:
                yield kept(frame)
            else:
                yield broken(frame, f"the id {frame.event_id!r} was that of #{first} already")

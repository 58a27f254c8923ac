"""basic/transports, resumability: what is sent again belongs to the stream that was named."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.exchanges import Exchange
from dovetail_check.http_traffic import events_of, reply_streams, session_of
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.verdicts import Note, absent, broken, kept

__all__: list[str] = []


@rule("http.resume.same-stream", reads=("http-resume",))
def nothing_of_another_stream_is_sent_again(seen: ProbeSession) -> Iterator[Note]:
    """Answers on a stream that was picked up are those to its own request."""
    yield from _judge_resumed(seen)


@rule("http.sse.event-id-stream", reads=("http-resume",))
def an_event_id_leads_to_its_stream(seen: ProbeSession) -> Iterator[Note]:
    """The id of an event is enough to find the stream that it was on."""
    yield from _judge_resumed(seen)


def _judge_resumed(seen: ProbeSession) -> Iterator[Note]:
    resumed = seen.tagged("http-resume")
    for exchange in resumed:
        origin = _origin(seen, exchange)
        if origin is None or not exchange.is_stream:
            continue
        answers = [heard for heard in exchange.heard if heard.is_response]
        strays = [heard for heard in answers if heard.message.get("id") != origin.id]
        for heard in strays:
            given = heard.message.get("id")
            text = f"the stream of {origin.id!r} was picked up"
            yield broken(heard, f"{text}, and the answer to {given!r} came")
        if answers and not strays:
            yield kept(exchange)
    if resumed and not any(exchange.is_stream for exchange in resumed):
        yield absent("no stream could be picked up again")
    elif not resumed and reply_streams(seen):
        yield absent("the events of streams have no ids")


def _origin(seen: ProbeSession, resumed: Exchange) -> Exchange | None:
    """The request on whose stream the event id was given out, in the same session."""
    event_id = resumed.sent.header("last-event-id")
    for exchange in reply_streams(seen):
        if session_of(exchange) != session_of(resumed):
            continue
        if any(frame.event_id == event_id for frame in events_of(exchange)):
            return exchange
    return None

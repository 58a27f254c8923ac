"""basic/transports, resumability: replayed messages belong to the resumed stream."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.exchanges import Exchange
from dovetail_check.http_traffic import events_of, reply_streams, session_of
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.verdicts import Note, not_applicable, satisfied, violated

__all__: list[str] = []


@rule("http.resume.same-stream", reads=("http-resume",))
def replayed_messages_belong_to_the_stream(session: ProbeSession) -> Iterator[Note]:
    """Responses on a resumed stream answer the request of that stream."""
    yield from _judge_resumed(session)


@rule("http.sse.event-id-stream", reads=("http-resume",))
def an_event_id_identifies_its_stream(session: ProbeSession) -> Iterator[Note]:
    """The server finds the stream of an event by the event id."""
    yield from _judge_resumed(session)


def _judge_resumed(session: ProbeSession) -> Iterator[Note]:
    resumed = session.tagged("http-resume")
    for exchange in resumed:
        origin = _origin(session, exchange)
        if origin is None or not exchange.is_stream:
            continue
        answers = [incoming for incoming in exchange.incoming if incoming.is_response]
        strays = [incoming for incoming in answers if incoming.message.get("id") != origin.id]
        for incoming in strays:
            given = incoming.message.get("id")
            text = f"on the resumed stream of request {origin.id!r}"
            yield violated(incoming, f"the response to {given!r} came {text}")
        if answers and not strays:
            yield satisfied(exchange)
    if resumed and not any(exchange.is_stream for exchange in resumed):
        yield not_applicable("no stream could be resumed")
    elif not resumed and reply_streams(session):
        yield not_applicable("stream events have no ids")


def _origin(session: ProbeSession, resumed: Exchange) -> Exchange | None:
    """The request of the same session whose stream sent the event id."""
    event_id = resumed.sent.header("last-event-id")
    for exchange in reply_streams(session):
        if session_of(exchange) != session_of(resumed):
            continue
        if any(frame.event_id == event_id for frame in events_of(exchange)):
            return exchange
    return None

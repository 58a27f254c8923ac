"""HTTP+SSE of 2024-11-05: two endpoints, and the event that tells of the second."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.http_traffic import events_of, is_notification, is_request
from dovetail_check.lines.old_sse import ENDPOINT, STREAM
from dovetail_check.probe_sessions import ProbeSession, Run
from dovetail_check.rulebook import overall, rule
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []


@rule("sse.two-endpoints")
def there_is_a_stream_and_a_url_to_post_to(seen: ProbeSession) -> Iterator[Note]:
    """What is posted to the URL of the endpoint event is taken."""
    for exchange in seen.exchanges:
        if exchange.tag.startswith("http-origin"):
            continue
        if not (is_request(exchange) or is_notification(exchange)) or exchange.status is None:
            continue
        if exchange.status in (404, 405):
            what = f"status {exchange.status} from {exchange.sent.url}"
            yield broken(exchange, f"a message got {what}; an endpoint for messages was due")
        elif exchange.status < 300:
            yield kept(exchange)


@rule("sse.endpoint-event")
def the_stream_begins_with_the_endpoint(seen: ProbeSession) -> Iterator[Note]:
    """The first event says where to post."""
    for exchange in seen.tagged(STREAM):
        for first in events_of(exchange)[:1]:
            if first.event != ENDPOINT:
                text = f"{ENDPOINT!r} must be sent to a client that connects; that it comes first"
                text = f"{text} is what later revisions tell clients to expect"
                yield unsettled(first, f"the first event is {first.event!r}: {text}")
            elif not first.data.strip():
                yield broken(first, f"the event {ENDPOINT!r} is empty; a URI was due")
            else:
                yield kept(first)


@overall("http2.deprecated.http-sse")
def the_old_transport_is_deprecated(run: Run) -> Iterator[Note]:
    """Whoever offers it is told; whether it is all the server has cannot be seen from its URL."""
    for session in run.sessions:
        for exchange in session.tagged(STREAM)[:1]:
            text = (
                "fine beside Streamable HTTP for old clients; new servers should not begin with it"
            )
            yield unsettled(exchange, f"HTTP+SSE is deprecated: {text}")

"""HTTP+SSE of 2024-11-05: two endpoints, and the event that announces the second."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.connections.old_sse import ENDPOINT, STREAM
from dovetail_check.http_traffic import events_of, is_notification, is_request
from dovetail_check.probe_sessions import ProbeSession, Run
from dovetail_check.rulebook import overall, rule
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []


@rule("sse.two-endpoints")
def there_is_a_stream_and_a_url_to_post_to(session: ProbeSession) -> Iterator[Note]:
    """Messages posted to the URL of the endpoint event are accepted."""
    for exchange in session.exchanges:
        if exchange.tag.startswith("http-origin"):
            continue
        if not (is_request(exchange) or is_notification(exchange)) or exchange.status is None:
            continue
        if exchange.status in (404, 405):
            what = f"status {exchange.status} from {exchange.sent.url}"
            yield violated(exchange, f"a message got {what}; expected a message endpoint")
        elif exchange.status < 300:
            yield satisfied(exchange)


@rule("sse.endpoint-event")
def the_stream_begins_with_the_endpoint(session: ProbeSession) -> Iterator[Note]:
    """The first event names the URL for POST."""
    for exchange in session.tagged(STREAM):
        for first in events_of(exchange)[:1]:
            if first.event != ENDPOINT:
                text = f"{ENDPOINT!r} must be sent on connect, but only later revisions say"
                text = f"{text} that clients expect it first"
                yield ambiguous(first, f"the first event is {first.event!r}: {text}")
            elif not first.data.strip():
                yield violated(first, f"the event {ENDPOINT!r} is empty; expected a URI")
            else:
                yield satisfied(first)


@overall("http2.deprecated.http-sse")
def the_old_transport_is_deprecated(run: Run) -> Iterator[Note]:
    """Ambiguous for every server with HTTP+SSE: it may also offer Streamable HTTP elsewhere."""
    for session in run.sessions:
        for exchange in session.tagged(STREAM)[:1]:
            text = "allowed beside Streamable HTTP for old clients, but not for new servers"
            yield ambiguous(exchange, f"HTTP+SSE is deprecated: {text}")

"""basic/transports/streamable-http: modern streams, and requests of legacy clients."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.spec import keys
from dovetail_check.exchanges import Incoming
from dovetail_check.http_traffic import LISTEN, is_rejected, is_request, reply_streams
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.probes.http_eras import CLOSED_ID
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.http_streams import judge_relation
from dovetail_check.verdicts import Note, not_applicable, satisfied, violated

__all__ = ["is_dual"]

unjudged["http2.sse.notifications"] = "a permission: nothing to violate"
unjudged["patterns.scoped-notifications"] = "a permission: nothing to violate"
unjudged["http2.version-header.absent-legacy"] = "a permission: nothing to violate"
_FIXTURE = "needs a slow tool to observe whether work continues after the stream is closed"
unjudged["http2.cancel.close-is-cancel"] = _FIXTURE
unjudged["http2.cancel.stop"] = _FIXTURE

_REQUEST_SCOPED = ("notifications/progress", "notifications/message")
_DUAL = "the server also supports legacy clients"


def is_dual(session: ProbeSession) -> bool:
    """Whether the server also accepts the legacy handshake."""
    return any(exchange.result is not None for exchange in session.tagged("http-eras/initialize"))


@rule("patterns.no-server-requests")
def the_server_sends_no_requests(session: ProbeSession) -> Iterator[Note]:
    """No message from the server is a request."""
    yield from _judge_requests(session.incoming)


@rule("http2.sse.no-requests")
def no_requests_on_streams(session: ProbeSession) -> Iterator[Note]:
    """No event of a stream is a request."""
    yield from _judge_requests(
        [incoming for incoming in session.incoming if incoming.frame.kind == "event"]
    )


def _judge_requests(all_heard: list[Incoming]) -> Iterator[Note]:
    for incoming in all_heard:
        if incoming.is_request:
            yield violated(
                incoming, f"the server sent the request {incoming.message.get('method')!r}"
            )
        else:
            yield satisfied(incoming)


@rule("http2.sse.related-only")
def notifications_belong_to_their_request(session: ProbeSession) -> Iterator[Note]:
    """Progress belongs to the request, and no message belongs to a subscription."""
    for exchange in reply_streams(session):
        for incoming in exchange.incoming:
            meta = incoming.params.get("_meta")
            other = meta.get(keys.SUBSCRIPTION_ID) if isinstance(meta, dict) else None
            if incoming.is_notification and other is not None and other != exchange.id:
                text = f"{incoming.method!r} of the subscription {other!r}"
                yield violated(incoming, f"{text} came on the stream of a {exchange.method!r}")
            else:
                yield from judge_relation(exchange, incoming)


@rule("http2.sse.no-request-notifs-on-listen")
def subscription_streams_carry_changes_only(session: ProbeSession) -> Iterator[Note]:
    """Progress and log messages come on the stream of their request."""
    for exchange in session.sent(LISTEN):
        if not exchange.is_stream:
            continue
        strays = [incoming for incoming in exchange.incoming if incoming.method in _REQUEST_SCOPED]
        for incoming in strays:
            yield violated(incoming, f"{incoming.method!r} came on the stream of a subscription")
        if not strays:
            yield satisfied(exchange)


@rule("http2.sse.accel-buffering")
def streams_ask_proxies_not_to_buffer(session: ProbeSession) -> Iterator[Note]:
    """Every stream has the header X-Accel-Buffering: no."""
    for exchange in session.exchanges:
        if exchange.is_stream:
            value = exchange.header("x-accel-buffering")
            if value is not None and value.strip().lower() == "no":
                yield satisfied(exchange)
            else:
                yield violated(exchange, f"a stream has X-Accel-Buffering {value!r}; expected 'no'")


@rule("http2.cancel.silence", reads=("http-hang-up",))
def closed_streams_stay_silent(session: ProbeSession) -> Iterator[Note]:
    """No message for a subscription arrives after its stream is closed."""
    listened = [one for one in session.tagged("http-hang-up") if one.id == CLOSED_ID]
    for exchange in listened:
        if not exchange.is_stream:
            yield not_applicable("no subscription could be opened")
            continue
        end = max((f.n for f in exchange.replies if f.kind == "closed"), default=None)
        if end is None:
            continue
        late = [
            incoming
            for incoming in session.incoming
            if incoming.frame.n > end and _is_about(incoming)
        ]
        for incoming in late:
            yield violated(incoming, "a message for a request arrived after its stream was closed")
        if not late:
            yield satisfied(exchange)


def _is_about(incoming: Incoming) -> bool:
    meta = incoming.params.get("_meta")
    named = meta.get(keys.SUBSCRIPTION_ID) if isinstance(meta, dict) else None
    return CLOSED_ID in (incoming.message.get("id"), named)


@rule("http2.version-header.absent-reject", reads=("http-eras",))
def a_missing_version_is_rejected(session: ProbeSession) -> Iterator[Note]:
    """A server for modern clients only rejects a request without a version."""
    if is_dual(session):
        yield not_applicable(_DUAL)
        return
    for exchange in session.tagged("http-eras/version-absent"):
        if exchange.status == 400:
            yield satisfied(exchange)
        elif exchange.status is not None:
            what = exchange.describe()
            yield violated(
                exchange, f"a request without MCP-Protocol-Version got {what}; expected 400"
            )


@rule("http2.legacy.get-delete-405", reads=("http-eras",))
def other_verbs_get_405(session: ProbeSession) -> Iterator[Note]:
    """GET and DELETE get 405 from a server for modern clients only."""
    if is_dual(session):
        yield not_applicable(_DUAL)
        return
    for exchange in session.tagged("http-eras/get", "http-eras/delete"):
        if exchange.status == 405:
            yield satisfied(exchange)
        elif exchange.status is not None:
            yield violated(exchange, f"{exchange.sent.method} got {exchange.status}; expected 405")


@rule("http2.legacy.ignore-session", reads=("http-eras",))
def sessions_are_ignored(session: ProbeSession) -> Iterator[Note]:
    """No modern response has a session id; a server for modern clients only ignores them."""
    dual = is_dual(session)
    for exchange in session.tagged("http-eras/session") if not dual else ():
        if is_rejected(exchange):
            what = exchange.describe()
            yield violated(
                exchange, f"a request with a session id got {what}; expected it to be ignored"
            )
        elif exchange.result is not None:
            yield satisfied(exchange)
    for exchange in session.exchanges if session.tagged("http-eras") else ():
        id = exchange.header("mcp-session-id")
        version = exchange.sent.header("mcp-protocol-version")
        # Without this header, a server of both eras may take the request for a legacy one.
        is_modern = not dual or (version == session.revision.date and is_request(exchange))
        if id is not None and is_modern:
            text = f"a response has the session id {id!r}; {session.revision} has no sessions"
            yield violated(exchange, text)
    if dual:
        yield not_applicable(_DUAL)


@rule("http2.legacy.ignore-last-event-id", reads=("http-eras",))
def last_event_ids_are_ignored(session: ProbeSession) -> Iterator[Note]:
    """A server for modern clients only ignores Last-Event-ID."""
    if is_dual(session):
        yield not_applicable(_DUAL)
        return
    for exchange in session.tagged("http-eras/last-event-id"):
        if is_rejected(exchange):
            what = exchange.describe()
            yield violated(
                exchange, f"a request with Last-Event-ID got {what}; expected it to be ignored"
            )
        elif exchange.result is not None:
            yield satisfied(exchange)

"""basic/transports/streamable-http: streams of the modern era, and what is left of the other."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.spec import keys
from dovetail_check.exchanges import Heard
from dovetail_check.http_traffic import LISTEN, is_refused, reply_streams
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.probes.http_eras import CLOSED_ID
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.http_streams import judge_relation
from dovetail_check.verdicts import Note, absent, broken, kept

__all__ = ["is_dual"]

unjudged["http2.sse.notifications"] = "a permission: nothing to break"
unjudged["patterns.scoped-notifications"] = "a permission: nothing to break"
unjudged["http2.version-header.absent-legacy"] = "a permission: nothing to break"
_FIXTURE = "whether work goes on after a stream was closed cannot be seen without a slow tool"
unjudged["http2.cancel.close-is-cancel"] = _FIXTURE
unjudged["http2.cancel.stop"] = _FIXTURE

_REQUEST_SCOPED = ("notifications/progress", "notifications/message")
_DUAL = "the server speaks to legacy clients as well"


def is_dual(seen: ProbeSession) -> bool:
    """Whether the server took a handshake too."""
    return any(exchange.result is not None for exchange in seen.tagged("http-eras/initialize"))


@rule("patterns.no-server-requests")
def the_server_asks_nothing(seen: ProbeSession) -> Iterator[Note]:
    """No message of the server is a request."""
    yield from _judge_requests(seen.heard)


@rule("http2.sse.no-requests")
def no_requests_on_streams(seen: ProbeSession) -> Iterator[Note]:
    """No event of a stream is a request."""
    yield from _judge_requests([heard for heard in seen.heard if heard.frame.kind == "event"])


def _judge_requests(all_heard: list[Heard]) -> Iterator[Note]:
    for heard in all_heard:
        if heard.is_request:
            yield broken(heard, f"the server sent the request {heard.message.get('method')!r}")
        else:
            yield kept(heard)


@rule("http2.sse.related-only")
def notifications_belong_to_their_request(seen: ProbeSession) -> Iterator[Note]:
    """Progress is that of the request, and nothing comes that a subscription is for."""
    for exchange in reply_streams(seen):
        for heard in exchange.heard:
            meta = heard.params.get("_meta")
            other = meta.get(keys.SUBSCRIPTION_ID) if isinstance(meta, dict) else None
            if heard.is_notification and other is not None and other != exchange.id:
                text = f"{heard.method!r} of the subscription {other!r}"
                yield broken(heard, f"{text} came on the stream of a {exchange.method!r}")
            else:
                yield from judge_relation(exchange, heard)


@rule("http2.sse.no-request-notifs-on-listen")
def a_subscription_carries_changes_only(seen: ProbeSession) -> Iterator[Note]:
    """Progress and log messages come where they belong, not there."""
    for exchange in seen.sent(LISTEN):
        if not exchange.is_stream:
            continue
        strays = [heard for heard in exchange.heard if heard.method in _REQUEST_SCOPED]
        for heard in strays:
            yield broken(heard, f"{heard.method!r} came on the stream of a subscription")
        if not strays:
            yield kept(exchange)


@rule("http2.sse.accel-buffering")
def streams_ask_proxies_not_to_buffer(seen: ProbeSession) -> Iterator[Note]:
    """X-Accel-Buffering: no."""
    for exchange in seen.exchanges:
        if exchange.is_stream:
            value = exchange.header("x-accel-buffering")
            if value is not None and value.strip().lower() == "no":
                yield kept(exchange)
            else:
                yield broken(exchange, f"a stream has X-Accel-Buffering {value!r}; 'no' was due")


@rule("http2.cancel.silence", reads=("http-hang-up",))
def what_was_hung_up_is_over(seen: ProbeSession) -> Iterator[Note]:
    """Nothing comes for a subscription after its stream was closed."""
    listened = [one for one in seen.tagged("http-hang-up") if one.id == CLOSED_ID]
    for exchange in listened:
        if not exchange.is_stream:
            yield absent("no subscription could be opened")
            continue
        end = max((f.n for f in exchange.replies if f.kind == "closed"), default=None)
        if end is None:
            continue
        late = [heard for heard in seen.heard if heard.frame.n > end and _is_about(heard)]
        for heard in late:
            yield broken(heard, "something came for a request after its stream was closed")
        if not late:
            yield kept(exchange)


def _is_about(heard: Heard) -> bool:
    meta = heard.params.get("_meta")
    named = meta.get(keys.SUBSCRIPTION_ID) if isinstance(meta, dict) else None
    return CLOSED_ID in (heard.message.get("id"), named)


@rule("http2.version-header.absent-reject", reads=("http-eras",))
def a_missing_version_is_refused(seen: ProbeSession) -> Iterator[Note]:
    """A server of modern clients only does not guess."""
    if is_dual(seen):
        yield absent(_DUAL)
        return
    for exchange in seen.tagged("http-eras/version-absent"):
        if exchange.status == 400:
            yield kept(exchange)
        elif exchange.status is not None:
            what = exchange.describe()
            yield broken(exchange, f"no MCP-Protocol-Version got {what}; 400 was due")


@rule("http2.legacy.get-delete-405", reads=("http-eras",))
def other_verbs_get_405(seen: ProbeSession) -> Iterator[Note]:
    """GET and DELETE mean nothing to a server of modern clients only."""
    if is_dual(seen):
        yield absent(_DUAL)
        return
    for exchange in seen.tagged("http-eras/get", "http-eras/delete"):
        if exchange.status == 405:
            yield kept(exchange)
        elif exchange.status is not None:
            yield broken(exchange, f"{exchange.sent.method} got {exchange.status}; 405 was due")


@rule("http2.legacy.ignore-session", reads=("http-eras",))
def sessions_are_ignored(seen: ProbeSession) -> Iterator[Note]:
    """A session id changes nothing, and none is given out, by a server of modern clients only."""
    if is_dual(seen):
        yield absent(_DUAL)
        return
    for exchange in seen.tagged("http-eras/session"):
        if is_refused(exchange):
            what = exchange.describe()
            yield broken(exchange, f"a request with a session id got {what}; it was to be ignored")
        elif exchange.result is not None:
            yield kept(exchange)
    for exchange in seen.exchanges:
        id = exchange.header("mcp-session-id")
        if id is not None and seen.tagged("http-eras"):
            yield broken(exchange, f"a response has the session id {id!r}; there are no sessions")


@rule("http2.legacy.ignore-last-event-id", reads=("http-eras",))
def last_event_ids_are_ignored(seen: ProbeSession) -> Iterator[Note]:
    """Last-Event-ID changes nothing for a server of modern clients only."""
    if is_dual(seen):
        yield absent(_DUAL)
        return
    for exchange in seen.tagged("http-eras/last-event-id"):
        if is_refused(exchange):
            what = exchange.describe()
            yield broken(exchange, f"a request with Last-Event-ID got {what}; to be ignored")
        elif exchange.result is not None:
            yield kept(exchange)

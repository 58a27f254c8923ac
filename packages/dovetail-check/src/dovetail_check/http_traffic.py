"""What rules ask of HTTP exchanges: which are requests, which are streams, how they ended."""

from __future__ import annotations

from typing import Any

from dovetail_check.exchanges import Exchange
from dovetail_check.frames import Frame
from dovetail_check.probe_sessions import ProbeSession

__all__ = [
    "LISTEN",
    "end_of",
    "events_of",
    "first_event_id",
    "get_streams",
    "is_notification",
    "is_refused",
    "is_request",
    "is_response",
    "media_type",
    "reply_streams",
    "session_of",
    "token_of",
]

LISTEN = "subscriptions/listen"


def is_request(exchange: Exchange) -> bool:
    """Whether a request that deserves an answer was posted."""
    sent = exchange.request
    return (
        exchange.sent.method == "POST"
        and isinstance(sent, dict)
        and sent.get("jsonrpc") == "2.0"
        and isinstance(sent.get("method"), str)
        and isinstance(sent.get("id"), str | int)
    )


def is_notification(exchange: Exchange) -> bool:
    """Whether a notification was posted."""
    sent = exchange.request
    return (
        exchange.sent.method == "POST"
        and isinstance(sent, dict)
        and sent.get("jsonrpc") == "2.0"
        and isinstance(sent.get("method"), str)
        and "id" not in sent
    )


def is_response(exchange: Exchange) -> bool:
    """Whether a response was posted."""
    sent = exchange.request
    return (
        exchange.sent.method == "POST"
        and isinstance(sent, dict)
        and "method" not in sent
        and ("result" in sent or "error" in sent)
    )


def is_refused(exchange: Exchange) -> bool:
    """Whether the status says that it was not taken."""
    return exchange.status is not None and exchange.status >= 400


def media_type(exchange: Exchange) -> str:
    """The type of the response, without parameters."""
    return (exchange.header("content-type") or "").partition(";")[0].strip().lower()


def reply_streams(seen: ProbeSession) -> list[Exchange]:
    """Streams that answer one request; a subscription is not one of them."""
    return [
        exchange
        for exchange in seen.exchanges
        if exchange.is_stream and is_request(exchange) and exchange.method != LISTEN
    ]


def get_streams(seen: ProbeSession) -> list[Exchange]:
    """Streams opened with GET, not to pick up another one."""
    return [
        exchange
        for exchange in seen.exchanges
        if exchange.is_stream and exchange.sent.method == "GET" and not exchange.is_replay
    ]


def events_of(exchange: Exchange) -> list[Frame]:
    """What came on a stream, also what had no data."""
    return [frame for frame in exchange.replies if frame.kind == "event"]


def first_event_id(exchange: Exchange) -> str | None:
    """The id that a client would name to get a stream from its beginning."""
    ids = [frame.event_id for frame in events_of(exchange) if frame.event_id]
    # It is sent back in a header.
    return next((id for id in ids if id.isascii() and id.isprintable()), None)


def session_of(exchange: Exchange) -> str:
    """What event ids are unique in: the session, or the line where there is none."""
    return exchange.sent.header("mcp-session-id") or exchange.line


def end_of(exchange: Exchange) -> Frame | None:
    """How a stream ended: by the server (`ended`, `failed`) or by us (`closed`)."""
    ends = [frame for frame in exchange.replies if frame.kind in ("ended", "failed", "closed")]
    return ends[0] if ends else None


def token_of(exchange: Exchange) -> Any:
    """The progress token that a request carried."""
    meta = exchange.params.get("_meta")
    return meta.get("progressToken") if isinstance(meta, dict) else None

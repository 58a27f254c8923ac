"""Lookups in HTTP traffic: requests, notifications, streams and how they ended."""

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
    "is_rejected",
    "is_request",
    "is_response",
    "media_type",
    "reply_streams",
    "session_of",
    "token_of",
]

LISTEN = "subscriptions/listen"


def is_request(exchange: Exchange) -> bool:
    """Whether it is a POST of a valid request."""
    sent = exchange.request
    return (
        exchange.sent.method == "POST"
        and isinstance(sent, dict)
        and sent.get("jsonrpc") == "2.0"
        and isinstance(sent.get("method"), str)
        and isinstance(sent.get("id"), str | int)
    )


def is_notification(exchange: Exchange) -> bool:
    """Whether it is a POST of a notification."""
    sent = exchange.request
    return (
        exchange.sent.method == "POST"
        and isinstance(sent, dict)
        and sent.get("jsonrpc") == "2.0"
        and isinstance(sent.get("method"), str)
        and "id" not in sent
    )


def is_response(exchange: Exchange) -> bool:
    """Whether it is a POST of a response."""
    sent = exchange.request
    return (
        exchange.sent.method == "POST"
        and isinstance(sent, dict)
        and "method" not in sent
        and ("result" in sent or "error" in sent)
    )


def is_rejected(exchange: Exchange) -> bool:
    """Whether the status is 400 or higher."""
    return exchange.status is not None and exchange.status >= 400


def media_type(exchange: Exchange) -> str:
    """The media type of the response, without parameters."""
    return (exchange.header("content-type") or "").partition(";")[0].strip().lower()


def reply_streams(session: ProbeSession) -> list[Exchange]:
    """The SSE streams that reply to a request, without subscriptions."""
    return [
        exchange
        for exchange in session.exchanges
        if exchange.is_stream and is_request(exchange) and exchange.method != LISTEN
    ]


def get_streams(session: ProbeSession) -> list[Exchange]:
    """The SSE streams opened with GET, without resumed ones."""
    return [
        exchange
        for exchange in session.exchanges
        if exchange.is_stream and exchange.sent.method == "GET" and not exchange.is_replay
    ]


def events_of(exchange: Exchange) -> list[Frame]:
    """The events of a stream, including fields without data."""
    return [frame for frame in exchange.replies if frame.kind == "event"]


def first_event_id(exchange: Exchange) -> str | None:
    """The first event id that can be sent in the Last-Event-ID header."""
    ids = [frame.event_id for frame in events_of(exchange) if frame.event_id]
    return next((id for id in ids if id.isascii() and id.isprintable()), None)


def session_of(exchange: Exchange) -> str:
    """The scope of event ids: the session, or the connection if there is none."""
    return exchange.sent.header("mcp-session-id") or exchange.connection


def end_of(exchange: Exchange) -> Frame | None:
    """How a stream ended: by the server (`ended`, `failed`) or the checker (`closed`)."""
    ends = [frame for frame in exchange.replies if frame.kind in ("ended", "failed", "closed")]
    return ends[0] if ends else None


def token_of(exchange: Exchange) -> Any:
    """The progress token of a request."""
    meta = exchange.params.get("_meta")
    return meta.get("progressToken") if isinstance(meta, dict) else None

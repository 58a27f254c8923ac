"""Helpers that read a probe session, used by the rules of several pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail_check.exchanges import Exchange, Incoming
from dovetail_check.probe_sessions import ProbeSession

__all__ = [
    "as_json",
    "changes_by_itself",
    "errors_in",
    "id_key",
    "is_message",
    "messages",
    "results_in",
    "sent_ids",
    "still_answers",
    "unhandled",
    "unmatched_responses",
]

# Members that may differ each time: ttlMs may count down, a cursor may be new.
_VOLATILE = frozenset({"_meta", "ttlMs", "nextCursor"})
_LISTS = frozenset({"tools", "prompts", "resources", "resourceTemplates"})
# Probes that omit the required `_meta` on purpose.
_WITHOUT_ENVELOPE = ("envelope", "garbage")

_INTERNAL_ERROR = -32603


def as_json(result: Any) -> dict[str, Any]:
    """A result without its volatile members, for comparisons.

    The items of a list are sorted: tools.list-order (2026-07-28 server/tools) is the only
    requirement on their order.
    """
    members = result if isinstance(result, dict) else {}
    return {
        name: sorted(value, key=repr) if name in _LISTS and isinstance(value, list) else value
        for name, value in members.items()
        if name not in _VOLATILE
    }


def changes_by_itself(session: ProbeSession, page: Exchange) -> bool:
    """Whether the first page of a list differs from the one that the walk probe got."""
    walked = [exchange for exchange in session.tagged("walk") if exchange.method == page.method]
    return any(as_json(exchange.result) != as_json(page.result) for exchange in walked[:1])


def is_message(session: ProbeSession, incoming: Incoming) -> bool:
    """Whether it is meant as a JSON-RPC message; some HTTP response bodies are not."""
    frame = incoming.frame
    if frame.status is None:
        # The HTTP+SSE transport has an event that carries a URL.
        return frame.event in (None, "", "message")
    if "jsonrpc" in incoming.message:
        return True
    kind = (frame.header("content-type") or "").partition(";")[0].strip().lower()
    is_answer = 200 <= frame.status < 300 and kind == "application/json"
    return is_answer and _is_to_the_endpoint(session, incoming.exchange)


def _is_to_the_endpoint(session: ProbeSession, exchange: Exchange | None) -> bool:
    """Whether it was posted to the URL of the opening request."""
    endpoint = None if session.opening is None else session.opening.sent.url
    return exchange is not None and exchange.sent.method == "POST" and exchange.sent.url == endpoint


def messages(session: ProbeSession) -> list[Incoming]:
    """Every JSON-RPC message that is not a response to a request of the other era."""
    return [
        incoming
        for incoming in session.incoming
        if is_message(session, incoming) and _is_of_era(session, incoming.exchange)
    ]


def _is_of_era(session: ProbeSession, exchange: Exchange | None) -> bool:
    """Whether a request belongs to the era of the session.

    A server of both eras answers each request in its own era, whatever opened the connection.
    """
    if exchange is None or exchange.method is None:
        return True
    if exchange.tag.partition("/")[0] in _WITHOUT_ENVELOPE:
        return True
    meta = exchange.params.get("_meta")
    has_envelope = isinstance(meta, dict) and keys.PROTOCOL_VERSION in meta
    return exchange.id is None or has_envelope is session.is_modern


def results_in(session: ProbeSession) -> Iterator[tuple[Incoming, dict[str, Any]]]:
    """Every response with a result that is an object."""
    for incoming in messages(session):
        result = incoming.message.get("result")
        if incoming.is_response and isinstance(result, dict):
            yield incoming, result


def errors_in(session: ProbeSession) -> Iterator[tuple[Incoming, Any]]:
    """Every response with an error, and its code."""
    for incoming in messages(session):
        if incoming.is_response and "error" in incoming.message:
            error = incoming.message["error"]
            yield incoming, error.get("code") if isinstance(error, dict) else None


def unmatched_responses(session: ProbeSession, exchange: Exchange) -> list[Incoming]:
    """Responses with an unknown id that came before anything else was sent."""
    later = [
        frame.n
        for frame in session.frames
        if frame.kind == "sent"
        and frame.connection == exchange.connection
        and frame.tag not in ("fence", exchange.tag)
        and frame.n > exchange.sent.n
    ]
    known = sent_ids(session)
    until = min(later, default=len(session.frames) + exchange.sent.n + 1_000_000)
    return [
        incoming
        for incoming in session.incoming
        if incoming.exchange is None
        and incoming.is_response
        and id_key(incoming.message.get("id")) not in known
        and incoming.frame.connection == exchange.connection
        and exchange.sent.n < incoming.frame.n < until
    ]


def sent_ids(session: ProbeSession) -> set[tuple[str, str]]:
    """The ids of all requests that were sent, including those in batches."""
    found = set()
    for exchange in session.exchanges:
        whole = exchange.request
        for part in whole if isinstance(whole, list) else [whole]:
            if isinstance(part, dict) and part.get("id") is not None:
                found.add(id_key(part["id"]))
    return found


def id_key(id: Any) -> tuple[str, str]:
    """An id by type and value: 1 is not "1", and a server may send any JSON value."""
    return type(id).__name__, repr(id)


def still_answers(session: ProbeSession, exchange: Exchange) -> bool | None:
    """Whether the fence request after it was answered; None if there was no fence."""
    for fence in session.tagged("fence"):
        if fence.connection == exchange.connection and fence.sent.n > exchange.sent.n:
            return fence.answer is not None
    return None


def unhandled(exchange: Exchange) -> str | None:
    """Describes a missing answer or an internal error; None if there is neither."""
    if exchange.answer is None:
        return f"the request got {exchange.describe()}"
    if exchange.code == _INTERNAL_ERROR:
        return f"the request got an internal error: {exchange.describe()}"
    return None

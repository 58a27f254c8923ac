"""What the rules of several pages ask of a sitting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail_check.exchanges import Exchange, Heard
from dovetail_check.probe_sessions import ProbeSession

__all__ = [
    "as_json",
    "changes_by_itself",
    "errors_in",
    "id_key",
    "is_message",
    "lived_on",
    "loose_answers",
    "messages",
    "results_in",
    "sent_ids",
    "unhandled",
]

# How long something may be kept is counted down, and a cursor may be a new one each time.
_FLEETING = frozenset({"_meta", "ttlMs", "nextCursor"})
# Probes that leave out on purpose what the era wants said.
_WITHOUT_ENVELOPE = ("envelope", "garbage")

_INTERNAL_ERROR = -32603


def as_json(result: Any) -> dict[str, Any]:
    """A result without what may differ each time, to compare it with another one."""
    members = result if isinstance(result, dict) else {}
    return {name: value for name, value in members.items() if name not in _FLEETING}


def changes_by_itself(seen: ProbeSession, page: Exchange) -> bool:
    """Whether the first page of a list is another one than the walk had found."""
    walked = [exchange for exchange in seen.tagged("walk") if exchange.method == page.method]
    return any(as_json(exchange.result) != as_json(page.result) for exchange in walked[:1])


def is_message(seen: ProbeSession, heard: Heard) -> bool:
    """Whether it is meant as a JSON-RPC message: not every body of an HTTP response is."""
    frame = heard.frame
    if frame.status is None:
        # The older HTTP transport has an event that carries a URL.
        return frame.event in (None, "", "message")
    if "jsonrpc" in heard.message:
        return True
    kind = (frame.header("content-type") or "").partition(";")[0].strip().lower()
    is_answer = 200 <= frame.status < 300 and kind == "application/json"
    return is_answer and _is_to_the_endpoint(seen, heard.exchange)


def _is_to_the_endpoint(seen: ProbeSession, exchange: Exchange | None) -> bool:
    """Whether it was posted to where the opening went: other URLs have other things to say."""
    endpoint = None if seen.opening is None else seen.opening.sent.url
    return exchange is not None and exchange.sent.method == "POST" and exchange.sent.url == endpoint


def messages(seen: ProbeSession) -> list[Heard]:
    """Every JSON-RPC message that came for what was said in the words of the sitting's era."""
    return [
        heard
        for heard in seen.heard
        if is_message(seen, heard) and _is_of_era(seen, heard.exchange)
    ]


def _is_of_era(seen: ProbeSession, exchange: Exchange | None) -> bool:
    """A server of both eras answers each in its own words, whatever the line was opened with."""
    if exchange is None or exchange.method is None:
        return True
    if exchange.tag.partition("/")[0] in _WITHOUT_ENVELOPE:
        return True
    meta = exchange.params.get("_meta")
    has_envelope = isinstance(meta, dict) and keys.PROTOCOL_VERSION in meta
    return exchange.id is None or has_envelope is seen.is_modern


def results_in(seen: ProbeSession) -> Iterator[tuple[Heard, dict[str, Any]]]:
    """Every response with a result that is an object."""
    for heard in messages(seen):
        result = heard.message.get("result")
        if heard.is_response and isinstance(result, dict):
            yield heard, result


def errors_in(seen: ProbeSession) -> Iterator[tuple[Heard, Any]]:
    """Every response with an error, and its code."""
    for heard in messages(seen):
        if heard.is_response and "error" in heard.message:
            error = heard.message["error"]
            yield heard, error.get("code") if isinstance(error, dict) else None


def loose_answers(seen: ProbeSession, exchange: Exchange) -> list[Heard]:
    """Responses that no request asked for and that came before anything else was sent."""
    later = [
        frame.n
        for frame in seen.frames
        if frame.kind == "sent"
        and frame.line == exchange.line
        and frame.tag not in ("fence", exchange.tag)
        and frame.n > exchange.sent.n
    ]
    known = sent_ids(seen)
    until = min(later, default=len(seen.frames) + exchange.sent.n + 1_000_000)
    return [
        heard
        for heard in seen.heard
        if heard.exchange is None
        and heard.is_response
        and id_key(heard.message.get("id")) not in known
        and heard.frame.line == exchange.line
        and exchange.sent.n < heard.frame.n < until
    ]


def sent_ids(seen: ProbeSession) -> set[tuple[str, str]]:
    """The ids of all requests that were sent, also of those in batches."""
    found = set()
    for exchange in seen.exchanges:
        whole = exchange.request
        for part in whole if isinstance(whole, list) else [whole]:
            if isinstance(part, dict) and part.get("id") is not None:
                found.add(id_key(part["id"]))
    return found


def id_key(id: Any) -> tuple[str, str]:
    """An id by type and value: 1 is not "1", and anything may stand for one."""
    return type(id).__name__, repr(id)


def lived_on(seen: ProbeSession, exchange: Exchange) -> bool | None:
    """Whether the fence behind it was answered; None where there is none."""
    for fence in seen.tagged("fence"):
        if fence.line == exchange.line and fence.sent.n > exchange.sent.n:
            return fence.answer is not None
    return None


def unhandled(exchange: Exchange) -> str | None:
    """How a request went wrong in a way that its author did not foresee; None where it did not."""
    if exchange.answer is None:
        return f"{exchange.describe()} came"
    if exchange.code == _INTERNAL_ERROR:
        return f"an internal error came: {exchange.describe()}"
    return None

"""Switches: each makes the healthy server break exactly one clause.

    @on_reply("ping.empty-result", to="ping")
    def members_in_the_result_of_ping(reply: Message, request: Message) -> None:
        reply["result"]["surprise"] = True

The decorators name the row that is broken. Several hooks may share a row; all of them are on when
its switch is. A hook that returns None has changed what it was given in place, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dovetail.wire.framing import SseEvent

__all__ = [
    "HttpRequest",
    "HttpResponse",
    "Message",
    "Switch",
    "on_event",
    "on_http",
    "on_reply",
    "on_request",
    "on_response",
    "on_start",
    "on_stop",
    "switches",
    "tuned",
]

Message: TypeAlias = dict[str, Any]


@dataclass
class HttpRequest:
    """An HTTP request as the saboteur sees it; header names are lower case."""

    verb: str
    path: str
    headers: dict[str, str]
    body: bytes
    # The body as JSON, {} where it is no object.
    message: Message
    query: str = ""


@dataclass
class HttpResponse:
    """An HTTP response that may be changed; the body of a stream is changed by `on_reply`."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    is_stream: bool = False
    # Keep a stream open after its last event.
    hangs: bool = False
    # What goes onto a stream before anything else, as it is.
    prelude: bytes = b""


# What a reply becomes: None (changed in place), other messages, or raw bytes.
Replied: TypeAlias = list[Message] | bytes | None
ReplyHook: TypeAlias = Callable[[Message, Message], Replied]
RequestHook: TypeAlias = Callable[[Message], list[Message] | bytes | None]
HttpHook: TypeAlias = Callable[[HttpRequest], HttpResponse | None]
EventHook: TypeAlias = Callable[[SseEvent, HttpRequest], list[SseEvent] | None]
ResponseHook: TypeAlias = Callable[[HttpResponse, HttpRequest], None]


@dataclass
class Switch:
    """Everything that is turned on to break one row."""

    id: str
    replies: list[tuple[str | None, ReplyHook]] = field(default_factory=list)
    requests: list[RequestHook] = field(default_factory=list)
    https: list[HttpHook] = field(default_factory=list)
    responses: list[ResponseHook] = field(default_factory=list)
    events: list[EventHook] = field(default_factory=list)
    # stdio: bytes that are written before anything is read, and after stdin has ended.
    starts: list[Callable[[], bytes]] = field(default_factory=list)
    stops: list[Callable[[], bytes]] = field(default_factory=list)
    # How the check is run on it, where the usual way would not show it.
    probes: tuple[str, ...] = ()
    transport: str | None = None
    revision: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # The server wants a token; `headers` may hold it.
    guarded: bool = False


switches: dict[str, Switch] = {}


def _switch(id: str) -> Switch:
    return switches.setdefault(id, Switch(id))


def on_reply(*ids: str, to: str | None = None) -> Callable[[ReplyHook], ReplyHook]:
    """Change what the server sends while it handles a request (of the method `to`)."""

    def register(hook: ReplyHook) -> ReplyHook:
        for id in ids:
            _switch(id).replies.append((to, hook))
        return hook

    return register


def on_request(*ids: str) -> Callable[[RequestHook], RequestHook]:
    """Answer in the server's place: messages, raw bytes, or None to leave it to the server."""

    def register(hook: RequestHook) -> RequestHook:
        for id in ids:
            _switch(id).requests.append(hook)
        return hook

    return register


def on_http(*ids: str) -> Callable[[HttpHook], HttpHook]:
    """Answer an HTTP request in the server's place, or None to leave it to the server."""

    def register(hook: HttpHook) -> HttpHook:
        for id in ids:
            _switch(id).https.append(hook)
        return hook

    return register


def on_response(*ids: str) -> Callable[[ResponseHook], ResponseHook]:
    """Change status, headers or a whole body."""

    def register(hook: ResponseHook) -> ResponseHook:
        for id in ids:
            _switch(id).responses.append(hook)
        return hook

    return register


def on_event(*ids: str) -> Callable[[EventHook], EventHook]:
    """Change an event of a stream over HTTP: other events, or None to leave it."""

    def register(hook: EventHook) -> EventHook:
        for id in ids:
            _switch(id).events.append(hook)
        return hook

    return register


def on_start(*ids: str) -> Callable[[Callable[[], bytes]], Callable[[], bytes]]:
    """Bytes on stdout before the first message."""

    def register(hook: Callable[[], bytes]) -> Callable[[], bytes]:
        for id in ids:
            _switch(id).starts.append(hook)
        return hook

    return register


def on_stop(*ids: str) -> Callable[[Callable[[], bytes]], Callable[[], bytes]]:
    """Bytes on stdout after stdin has ended; may also just take its time."""

    def register(hook: Callable[[], bytes]) -> Callable[[], bytes]:
        for id in ids:
            _switch(id).stops.append(hook)
        return hook

    return register


def tuned(
    *ids: str,
    probes: tuple[str, ...] = (),
    transport: str | None = None,
    revision: str | None = None,
    headers: Mapping[str, str] | None = None,
    guarded: bool = False,
) -> None:
    """Say how the check must be run to see the switch: a passive rule names probes here."""
    for id in ids:
        switch = _switch(id)
        switch.probes = probes
        switch.transport = transport
        switch.revision = revision
        switch.headers = headers or {}
        switch.guarded = guarded

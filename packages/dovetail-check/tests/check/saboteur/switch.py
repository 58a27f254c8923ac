"""Switches: each makes the healthy server violate exactly one clause.

    @on_reply("ping.empty-result", to="ping")
    def members_in_the_result_of_ping(reply: Message, request: Message) -> None:
        reply["result"]["surprise"] = True

The decorators name the violated row. Several hooks may share a row; its switch turns all of them
on. A hook that returns None changed its argument in place, or did nothing.

`ROW~NAME` is another server that violates the same row, in another way.
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
    """An HTTP request; header names are lower case."""

    verb: str
    path: str
    headers: dict[str, str]
    body: bytes
    # The body as JSON; {} if it is not an object.
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
    # Raw bytes at the start of a stream.
    prelude: bytes = b""


# The replacement of a reply: None (changed in place), other messages, or raw bytes.
Replied: TypeAlias = list[Message] | bytes | None
ReplyHook: TypeAlias = Callable[[Message, Message], Replied]
RequestHook: TypeAlias = Callable[[Message], list[Message] | bytes | None]
HttpHook: TypeAlias = Callable[[HttpRequest], HttpResponse | None]
EventHook: TypeAlias = Callable[[SseEvent, HttpRequest], list[SseEvent] | None]
ResponseHook: TypeAlias = Callable[[HttpResponse, HttpRequest], None]


@dataclass
class Switch:
    """All hooks that violate one row."""

    id: str

    @property
    def row(self) -> str:
        """The id of the row."""
        return self.id.partition("~")[0]

    replies: list[tuple[str | None, ReplyHook]] = field(default_factory=list)
    requests: list[RequestHook] = field(default_factory=list)
    https: list[HttpHook] = field(default_factory=list)
    responses: list[ResponseHook] = field(default_factory=list)
    events: list[EventHook] = field(default_factory=list)
    # stdio: bytes that are written before anything is read, and after stdin is closed.
    starts: list[Callable[[], bytes]] = field(default_factory=list)
    stops: list[Callable[[], bytes]] = field(default_factory=list)
    # Settings of the check that are needed to observe the violation.
    probes: tuple[str, ...] = ()
    transport: str | None = None
    revision: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # The server requires a token; `headers` may contain it.
    guarded: bool = False


switches: dict[str, Switch] = {}


def _switch(id: str) -> Switch:
    return switches.setdefault(id, Switch(id))


def on_reply(*ids: str, to: str | None = None) -> Callable[[ReplyHook], ReplyHook]:
    """Change messages that the server sends while it handles a request (of the method `to`)."""

    def register(hook: ReplyHook) -> ReplyHook:
        for id in ids:
            _switch(id).replies.append((to, hook))
        return hook

    return register


def on_request(*ids: str) -> Callable[[RequestHook], RequestHook]:
    """Answer instead of the server: messages, raw bytes, or None to leave it to the server."""

    def register(hook: RequestHook) -> RequestHook:
        for id in ids:
            _switch(id).requests.append(hook)
        return hook

    return register


def on_http(*ids: str) -> Callable[[HttpHook], HttpHook]:
    """Answer an HTTP request instead of the server, or None to leave it to the server."""

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
    """Bytes on stdout after stdin is closed; the hook may also only delay the exit."""

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
    """Set how the check must run to observe the violation; rules without `reads` need probes."""
    for id in ids:
        switch = _switch(id)
        switch.probes = probes
        switch.transport = transport
        switch.revision = revision
        switch.headers = headers or {}
        switch.guarded = guarded

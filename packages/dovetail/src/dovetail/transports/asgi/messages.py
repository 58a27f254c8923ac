"""The few words of ASGI this transport needs: read a request, say a response."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, NamedTuple, Protocol, TypeAlias

__all__ = [
    "JSON",
    "BodyTooLargeError",
    "BodyTooSlowError",
    "ClientGoneError",
    "Headers",
    "HttpRequest",
    "HttpResponse",
    "PendingResponse",
    "Receive",
    "RequestView",
    "Scope",
    "Transmit",
    "read_body",
    "respond",
    "watch_for_disconnect",
]

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Transmit: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

# Digits of a Content-Length: more than any limit needs.
_LONGEST_LENGTH = 18

JSON: Headers = [(b"content-type", b"application/json")]


class BodyTooLargeError(Exception):
    """The body is longer than the server takes."""


class BodyTooSlowError(Exception):
    """The body did not arrive in time."""


class ClientGoneError(Exception):
    """The client went away before its request was complete."""


class HttpRequest(NamedTuple):
    """One HTTP request, headers by lower-case name."""

    scope: Scope
    headers: dict[bytes, bytes]
    receive: Receive
    transmit: Transmit


class RequestView(Protocol):
    """A request whose body is there."""

    @property
    def scope(self) -> Scope:
        """As ASGI has it; may be made when it is asked for."""

    @property
    def headers(self) -> dict[bytes, bytes]:
        """By lower-case name."""

    @property
    def receive(self) -> Receive:
        """What comes after the body: the end of the client."""

    @property
    def transmit(self) -> Transmit:
        """Takes the response."""


class HttpResponse(NamedTuple):
    """A response that needs no waiting: whoever asked writes it."""

    status: int
    body: bytes
    headers: Headers = JSON


# What answering a request comes to: the answer at once, or the rest of the work, which writes
# its response itself.
PendingResponse: TypeAlias = HttpResponse | Coroutine[Any, Any, None]


async def read_body(request: HttpRequest, limit: int, timeout: float) -> bytes:
    """The whole body, within `limit` bytes and `timeout` seconds."""
    declared = request.headers.get(b"content-length", b"")
    # Compared by length first: Python refuses to read a number of thousands of digits.
    if declared.isdigit() and (len(declared) > _LONGEST_LENGTH or int(declared) > limit):
        raise BodyTooLargeError
    message = await request.receive()
    body: bytes = message.get("body", b"")
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    if not message.get("more_body", False):
        if len(body) > limit:
            raise BodyTooLargeError
        return body
    try:
        async with asyncio.timeout(timeout):
            return await _read_rest(request.receive, body, limit)
    except TimeoutError:
        raise BodyTooSlowError from None


async def _read_rest(receive: Receive, first: bytes, limit: int) -> bytes:
    chunks = [first]
    size = len(first)
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            raise BodyTooLargeError
        if not message.get("more_body", False):
            return b"".join(chunks)


async def respond(
    transmit: Transmit, status: int, body: bytes = b"", headers: Headers | None = None
) -> None:
    """A whole response."""
    # A list of its own: middleware may add to it in place.
    sent = [] if headers is None else [*headers]
    # RFC 9110 section 8.6: a 204 has no length to speak of
    if status != 204:
        sent.append((b"content-length", b"%d" % len(body)))
    await transmit({"type": "http.response.start", "status": status, "headers": sent})
    await transmit({"type": "http.response.body", "body": body})


def watch_for_disconnect(receive: Receive, gone: Callable[[], None]) -> asyncio.Task[None]:
    """Call `gone` when the client has closed its end."""

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        gone()

    return asyncio.get_running_loop().create_task(watch())

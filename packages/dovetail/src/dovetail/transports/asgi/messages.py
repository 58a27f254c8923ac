"""HTTP requests and responses over ASGI: read a body, send a response, watch for a disconnect.

What clients accept (RFC 9110 section 12.5.1), and the status and headers of a JSON-RPC error.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeAlias

from dovetail.errors import (
    InsufficientScopeError,
    RateLimitError,
    RpcError,
    ShutdownError,
    StoreError,
)
from dovetail.net.addresses import is_loopback
from dovetail.wire import codec

__all__ = [
    "JSON",
    "SHUTTING_DOWN",
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
    "ServedApp",
    "Transmit",
    "Watch",
    "accepts",
    "error_status",
    "mount_point",
    "read_body",
    "relative_path",
    "respond",
    "respond_and_drain",
    "respond_to_cancelled",
    "watch_for_disconnect",
]

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Transmit: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

# What is read of a body after it was refused: bytes, seconds, and seconds without a byte.
_MAX_DRAINED_BYTES = 256 * 1024 * 1024
_DRAIN_SECONDS = 10.0
_DRAIN_IDLE_SECONDS = 1.0
# Maximum digits of a Content-Length; more than any limit needs.
_MAX_LENGTH_DIGITS = 18

JSON: Headers = [(b"content-type", b"application/json")]


def mount_point(scope: Scope) -> str:
    """The path at which the application is mounted, without a slash at its end."""
    root: str = scope.get("root_path", "")
    return root.rstrip("/")


def relative_path(scope: Scope) -> str:
    """The path of a request below the mount point; its slashes are kept."""
    path: str = scope["path"]
    root = mount_point(scope)
    # Some servers keep the mount point in the path, others remove it.
    if root and (path == root or path.startswith(root + "/")):
        path = path[len(root) :]
    return path


class BodyTooLargeError(Exception):
    """The body exceeds the size limit."""


class BodyTooSlowError(Exception):
    """The body did not arrive in time."""


class ClientGoneError(Exception):
    """The client disconnected before its request was complete."""


class Watch(Protocol):
    """Something that waits for the client to disconnect."""

    def cancel(self) -> object:
        """Stop waiting."""


class HttpRequest(NamedTuple):
    """One HTTP request; header names are lower case."""

    scope: Scope
    headers: dict[bytes, bytes]
    receive: Receive
    transmit: Transmit

    @property
    def mount_point(self) -> str:
        """The path at which the application is mounted, without a slash at its end."""
        return mount_point(self.scope)

    @property
    def path(self) -> str:
        """The path below the mount point."""
        return relative_path(self.scope)

    @property
    def is_local(self) -> bool:
        """Whether it was sent to a loopback address, or to a Unix socket."""
        address = self.scope.get("server")
        return address is not None and (address[1] is None or is_loopback(str(address[0])))

    async def respond(self, response: HttpResponse) -> None:
        """Send a complete response; the one to HEAD without its body."""
        body = b"" if self.scope["method"] == "HEAD" else response.body
        await respond(self.transmit, response.status, body, response.headers)

    def watch(self, gone: Callable[[], None]) -> Watch:
        """Call `gone` when the client disconnects, until the watch is cancelled."""
        return watch_for_disconnect(self.receive, gone)


class RequestView(Protocol):
    """A request whose body has been read."""

    @property
    def scope(self) -> Scope:
        """The ASGI scope; may be created on first use."""

    @property
    def headers(self) -> dict[bytes, bytes]:
        """Headers by lower-case name."""

    @property
    def receive(self) -> Receive:
        """The ASGI receive callable; after the body it only reports the disconnect."""

    @property
    def transmit(self) -> Transmit:
        """The ASGI send callable."""

    def watch(self, gone: Callable[[], None]) -> Watch:
        """Call `gone` when the client disconnects, until the watch is cancelled."""


class HttpResponse(NamedTuple):
    """A complete response, to be written by the caller."""

    status: int
    body: bytes
    headers: Headers = JSON


# A complete response, or a coroutine that finishes the request and writes its response itself.
PendingResponse: TypeAlias = HttpResponse | Coroutine[Any, Any, None]


class ServedApp(Protocol):
    """An ASGI application that the HTTP server can also call without a task for each request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Transmit) -> None:
        """Serve one ASGI connection."""

    def is_validated(self, request: RequestView) -> bool:
        """Whether an identical POST was validated before, so that only the body is unchecked."""

    def begin(self, request: RequestView, body: bytes) -> PendingResponse | None:
        """Start a validated POST with a complete body; None if the ASGI path is needed."""

    def serve_directly(self) -> None:
        """Leave the shutdown to the caller."""

    def begin_shutdown(self) -> None:
        """End streams; requests are still served. May be called again."""

    async def finish_shutdown(self, grace: float) -> None:
        """Refuse new requests, give running calls `grace` seconds, and end all sessions."""

    def close(self) -> None:
        """End all sessions and streams at once."""


async def read_body(request: HttpRequest, limit: int, timeout: float) -> bytes:
    """The whole body, within `limit` bytes and `timeout` seconds."""
    declared = request.headers.get(b"content-length", b"")
    # Check the length first: int() raises for numbers with thousands of digits.
    if declared.isdigit() and (len(declared) > _MAX_LENGTH_DIGITS or int(declared) > limit):
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
    """Send a complete response."""
    # A copy, because middleware may append to it in place.
    sent = [] if headers is None else [*headers]
    # RFC 9110 section 8.6: a 204 has no Content-Length
    if status != 204:
        sent.append((b"content-length", b"%d" % len(body)))
    await transmit({"type": "http.response.start", "status": status, "headers": sent})
    await transmit({"type": "http.response.body", "body": body})


async def respond_and_drain(request: HttpRequest, response: HttpResponse) -> None:
    """Send a response to a request whose body is still arriving, and drop the rest of the body.

    A connection that is closed with unread data is reset, and the client may lose the response.
    """
    status, body, headers = response
    sent = [*headers, (b"content-length", b"%d" % len(body))]
    await request.transmit({"type": "http.response.start", "status": status, "headers": sent})
    # The response stays open until the body has been read, or the connection would be closed.
    await request.transmit({"type": "http.response.body", "body": body, "more_body": True})
    left = _MAX_DRAINED_BYTES
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while left > 0:
                async with asyncio.timeout(_DRAIN_IDLE_SECONDS):
                    message = await request.receive()
                if not message.get("more_body", False):
                    break
                left -= len(message.get("body", b""))
    await request.transmit({"type": "http.response.body", "body": b""})


def watch_for_disconnect(receive: Receive, gone: Callable[[], None]) -> asyncio.Task[None]:
    """Call `gone` when the client disconnects."""

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        gone()

    return asyncio.get_running_loop().create_task(watch())


# Clients send the same header with every request, so a small cache is enough.
@lru_cache(maxsize=256)
def accepts(accept: bytes | None, kind: bytes) -> bool:
    """Whether this Accept header allows the media type `kind`, such as text/html."""
    if accept is None or not accept.strip():
        # No Accept header allows any type.
        return True
    weights = dict(map(_read_range, accept.lower().split(b",")))
    main = kind.partition(b"/")[0]
    # The most specific range takes precedence.
    for wanted in (kind, main + b"/*", b"*/*"):
        if wanted in weights:
            return weights[wanted]
    return False


def _read_range(part: bytes) -> tuple[bytes, bool]:
    """A media range and whether it is acceptable: a weight of zero means it is not."""
    name, *parameters = (word.strip() for word in part.split(b";"))
    for parameter in parameters:
        key, _, value = parameter.partition(b"=")
        if key.strip() == b"q":
            return name, value.strip().strip(b"0.") != b""
    return name, True


# Seconds for a cancelled stream to write its end.
_STREAM_END_DELAY = 0.02


def error_status(
    error: RpcError | None, by_code: Mapping[int, int] = MappingProxyType({})
) -> tuple[int, Headers]:
    """Status and headers for an error, or for success; `by_code` is the status table of the era."""
    if error is None:
        return 200, JSON
    if isinstance(error, RateLimitError):
        after = b"%d" % max(1, math.ceil(error.retry_after))
        return 429, [*JSON, (b"retry-after", after)]
    if isinstance(error, ShutdownError):
        # Another process, or this one after a restart, can serve the request.
        return 503, [*JSON, (b"retry-after", b"1"), (b"connection", b"close")]
    if isinstance(error, StoreError):
        return 503, [*JSON, (b"retry-after", b"1")]
    if isinstance(error, InsufficientScopeError):
        # auth.scope.insufficient-403, auth.scope.challenge-error (2025-11-25 basic/authorization)
        challenge = error.challenge
        return 403, [*JSON, *([(b"www-authenticate", challenge.encode())] if challenge else [])]
    return by_code.get(error.code, 200), JSON


# For requests that are not started any more.
SHUTTING_DOWN = HttpResponse(
    503, codec.encode_error(None, ShutdownError()), error_status(ShutdownError())[1]
)


async def respond_to_cancelled(send: Transmit) -> None:
    """Respond to a request whose task uvicorn cancelled, which it does at shutdown only.

    It would log the exception as a crash.
    """
    await asyncio.sleep(_STREAM_END_DELAY)
    # A started stream has written its own end; then this raises RuntimeError.
    with contextlib.suppress(RuntimeError):
        await respond(send, *SHUTTING_DOWN)

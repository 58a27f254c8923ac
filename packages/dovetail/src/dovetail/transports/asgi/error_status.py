"""The HTTP status and headers of a response that carries a JSON-RPC error."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Mapping
from types import MappingProxyType

from dovetail.errors import (
    InsufficientScopeError,
    RateLimitError,
    RpcError,
    ShutdownError,
    StoreError,
)
from dovetail.transports.asgi.messages import JSON, Headers, HttpResponse, Transmit, respond
from dovetail.wire import codec

__all__ = ["SHUTTING_DOWN", "error_status", "respond_to_cancelled"]

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

"""The HTTP status and headers of a response that carries a JSON-RPC error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from dovetail.errors import InsufficientScopeError, RateLimitError, RpcError
from dovetail.transports.asgi.messages import JSON, Headers

__all__ = ["error_status"]


def error_status(
    error: RpcError | None, by_code: Mapping[int, int] = MappingProxyType({})
) -> tuple[int, Headers]:
    """Status and headers for an error, or for success; `by_code` is the status table of the era."""
    if error is None:
        return 200, JSON
    if isinstance(error, RateLimitError):
        after = b"%d" % max(1, math.ceil(error.retry_after))
        return 429, [*JSON, (b"retry-after", after)]
    if isinstance(error, InsufficientScopeError):
        # auth.scope.insufficient-403, auth.scope.challenge-error (2025-11-25 basic/authorization)
        challenge = error.challenge
        return 403, [*JSON, *([(b"www-authenticate", challenge.encode())] if challenge else [])]
    return by_code.get(error.code, 200), JSON

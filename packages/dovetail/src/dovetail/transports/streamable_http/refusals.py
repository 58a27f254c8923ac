"""What HTTP says of a call that a guard has let go no further, beside the body."""

from __future__ import annotations

import math

from dovetail.core.call import Call
from dovetail.errors import InsufficientScopeError, RateLimitError
from dovetail.transports.streamable_http.asgi import JSON, Headers

__all__ = ["find_refusal"]


def find_refusal(call: Call) -> tuple[int, Headers] | None:
    """Status and headers, where the error of the call has some of its own."""
    error = call.refusal
    if isinstance(error, RateLimitError):
        after = b"%d" % max(1, math.ceil(error.retry_after))
        return 429, [*JSON, (b"retry-after", after)]
    if isinstance(error, InsufficientScopeError):
        # auth.scope.insufficient-403, auth.scope.challenge-error (2025-11-25 basic/authorization)
        challenge = error.challenge
        return 403, [*JSON, *([(b"www-authenticate", challenge.encode())] if challenge else [])]
    return None

"""The HTTP status and headers of JSON-RPC errors."""

from __future__ import annotations

import pytest

from dovetail.errors import (
    InsufficientScopeError,
    InvalidParamsError,
    MethodNotFoundError,
    RateLimitError,
    RpcError,
)
from dovetail.transports.asgi.messages import error_status

JSON = (b"content-type", b"application/json")
TABLE = {MethodNotFoundError.code: 404}


@pytest.mark.parametrize(
    ("error", "status", "headers"),
    [
        (RateLimitError("slow", 0.2), 429, [JSON, (b"retry-after", b"1")]),
        (RateLimitError("slow", 61.2), 429, [JSON, (b"retry-after", b"62")]),
        (
            InsufficientScopeError(["a"], challenge="Bearer x"),
            403,
            [JSON, (b"www-authenticate", b"Bearer x")],
        ),
        (InsufficientScopeError(["a"]), 403, [JSON]),
        (MethodNotFoundError("x"), 404, [JSON]),
        (InvalidParamsError("x"), 200, [JSON]),
        (None, 200, [JSON]),
    ],
)
def test_errors_have_a_status_and_headers(
    error: RpcError | None, status: int, headers: list[tuple[bytes, bytes]]
) -> None:
    assert error_status(error, TABLE) == (status, headers)

"""What HTTP says of a call that a guard has let go no further."""

from __future__ import annotations

import pytest

from dovetail.errors import InsufficientScopeError, InvalidParamsError, RateLimitError, RpcError
from dovetail.transports.streamable_http.refusals import find_refusal
from tests.unit.fakes import make_call

JSON = (b"content-type", b"application/json")


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
    ],
)
def test_such_errors_have_a_status_and_headers(
    error: RpcError, status: int, headers: list[tuple[bytes, bytes]]
) -> None:
    call = make_call()
    call.refusal = error
    assert find_refusal(call) == (status, headers)


def test_others_have_none() -> None:
    call = make_call()
    assert find_refusal(call) is None
    call.refusal = InvalidParamsError("x")
    assert find_refusal(call) is None

"""Credentials of a request."""

from __future__ import annotations

import pytest

from dovetail.auth.credentials import (
    MAX_TOKEN,
    Credentials,
    Rejected,
    read_credentials,
)
from dovetail.oauth.dpop import BoundToken
from dovetail.runtime.auth_backend import AuthRejection
from tests.unit.fakes import make_request


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (None, None),
        (b"Basic YTpi", None),
        (b"", None),
        (b"Bearer abc", b"abc"),
        (b"bearer  abc ", b"abc"),
        (b"BEARER abc", b"abc"),
    ],
)
def test_a_bearer_token_is_found(header: bytes | None, token: bytes | None) -> None:
    headers = {} if header is None else {b"authorization": header}
    assert read_credentials(make_request(headers)) == Credentials(token, headers)


def test_a_bound_token_is_no_bearer_token() -> None:
    headers = {b"authorization": b"dpop abc", b"dpop": b"proof"}
    bound = BoundToken(b"abc", b"proof", "POST", "/a%20b")
    for path in ({"raw_path": b"/a%20b?x=1"}, {"path": "/a%20b"}):
        found = read_credentials(make_request(headers, method="POST", **path))
        assert found == Credentials(None, headers, bound)


@pytest.mark.parametrize(
    "header", [b"Bearer", b"Bearer ", b"Bearer a b", b"DPoP", b"Bearer a, Basic b"]
)
def test_a_malformed_header_is_a_bad_request(header: bytes) -> None:
    refusal = read_credentials(make_request({b"authorization": header}))
    assert isinstance(refusal, AuthRejection)
    assert refusal.status == 400
    assert refusal.headers == ((b"www-authenticate", b'Bearer error="invalid_request"'),)


def test_an_oversized_token_is_rejected() -> None:
    longest = read_credentials(make_request({b"authorization": b"Bearer " + b"a" * MAX_TOKEN}))
    assert isinstance(longest, Credentials)
    assert isinstance(
        read_credentials(make_request({b"authorization": b"Bearer " + b"a" * 20_000})), Rejected
    )

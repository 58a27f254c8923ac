"""Introspection of opaque tokens. See tests/deep/auth for tests with a real issuer."""

from __future__ import annotations

import base64
import json

import pytest

from dovetail.auth.oauth import Introspection
from dovetail.errors import RateLimitError, UsageError
from dovetail.runtime.rates import Rate
from tests.unit.auth.small_server import Asked, serving
from tests.unit.talk import run


def answer(asked: Asked) -> tuple[int, bytes]:
    return 200, json.dumps({"active": b"token=good" in asked.body, "sub": "anna"}).encode()


def test_introspection_sends_the_client_credentials() -> None:
    with serving(answer) as (url, asked):
        introspection = Introspection("me:1", "s/2", url=f"{url}/ask")
        assert run(introspection.ask("good", url)) == {"active": True, "sub": "anna"}
        assert run(introspection.ask("bad", url)) is None
    [first, _] = asked
    pair = base64.b64decode(first.headers["authorization"].removeprefix("Basic "))
    assert pair == b"me%3A1:s%2F2"
    assert first.body == b"token=good&token_type_hint=access_token"


@pytest.mark.parametrize("active", ["true", 1, None])
def test_active_must_be_true(active: object) -> None:
    with serving(lambda asked: (200, json.dumps({"active": active}).encode())) as (url, _):
        assert run(Introspection("a", "b", url=url).ask("t", url)) is None


def test_introspection_requests_are_rate_limited() -> None:
    with serving(answer) as (url, asked):
        introspection = Introspection("a", "b", url=url, rate=Rate(0.001, burst=3))
        for _ in range(3):
            run(introspection.ask("bad", url))
        with pytest.raises(RateLimitError):
            run(introspection.ask("good", url))
        assert len(asked) == 3


def test_the_repr_does_not_show_the_secret() -> None:
    assert repr(Introspection("a", "very-secret")) == "Introspection(url=None)"


@pytest.mark.parametrize("pair", [("", "b"), ("a", "")])
def test_id_and_secret_are_required(pair: tuple[str, str]) -> None:
    with pytest.raises(UsageError):
        Introspection(*pair)

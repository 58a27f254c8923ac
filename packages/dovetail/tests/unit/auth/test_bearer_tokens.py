"""Authentication by a fixed list of tokens."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.auth import BearerTokens, Credentials, Guard, Principal
from dovetail.errors import UsageError
from dovetail.runtime.auth_backend import AuthRejection
from tests.unit.fakes import make_request

BOB = Principal("bob", {"lend"})
TOKENS = BearerTokens({"token-of-ada": "ada", "token-of-bob": BOB})


def identify(guard: Guard, token: bytes | None) -> Any:
    headers = {} if token is None else {b"authorization": b"Bearer " + token}
    return guard.identify(make_request(headers))


def test_a_token_has_an_id_or_a_principal() -> None:
    guard = Guard(TOKENS)
    assert identify(guard, b"token-of-ada") == Principal("ada")
    assert identify(guard, b"token-of-bob") == BOB


@pytest.mark.parametrize(
    "token", [None, b"token-of-eve", b"token-of-ad", b"token-of-ada2", b"\xff"]
)
def test_other_tokens_are_rejected(token: bytes | None) -> None:
    rejection = identify(Guard(TOKENS), token)
    assert isinstance(rejection, AuthRejection)
    assert rejection.status == 401


def test_another_authenticator_is_asked_for_an_unknown_token() -> None:
    guard = Guard(TOKENS, BearerTokens({"token-of-eve": "eve"}))
    assert identify(guard, b"token-of-eve") == Principal("eve")
    assert identify(guard, b"token-of-ada") == Principal("ada")


@pytest.mark.parametrize(
    ("tokens", "complaint"),
    [
        ({}, "needs a mapping"),
        (["token-of-ada"], "needs a mapping"),
        ({"secret": "ada"}, "at least 12 characters, got one of 6"),
        ({"token of ada": "ada"}, "space or a comma"),
        ({"token-of-adä": "ada"}, "printable ASCII"),
        ({b"token-of-ada": "ada"}, "must be a string"),
        ({"token-of-ada": ""}, "needs an id"),
        ({"token-of-ada": None}, "id of its principal"),
    ],
)
def test_a_wrong_list_is_refused_without_its_tokens(tokens: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        BearerTokens(tokens)
    if tokens:
        assert "secret" not in str(caught.value).replace("import secrets", "").replace(
            "secrets.token", ""
        )


def test_the_tokens_are_not_shown() -> None:
    assert "token-of-ada" not in repr(TOKENS) + repr(TOKENS.__dict__)
    assert TOKENS.authenticate(Credentials(None, {})) is None

"""JWT access tokens."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import jwt
import pytest
from jwt import PyJWK

from dovetail.auth.credentials import Rejected
from dovetail.auth.oauth import JwtRules, TokenHead, read_claims, read_head
from dovetail.oauth.jwt_keys import ALGORITHMS
from tests.unit.oauth.test_jwt_keys import RSA, jwk_of

RULES = JwtRules("https://issuer", ("https://me/mcp", "me"), ALGORITHMS, 30)
KEY = PyJWK(jwk_of(), "RS256")


class In(int):
    """So many seconds from now, whenever that is: parameters are made long before they are used."""


def token(head: dict[str, Any] | None = None, **changes: Any) -> str:
    claims = {
        "iss": "https://issuer",
        "aud": "https://me/mcp",
        "sub": "anna",
        "exp": In(60),
        **changes,
    }
    claims = {
        name: time.time() + value if isinstance(value, In) else value
        for name, value in claims.items()
        if value is not None
    }
    return jwt.encode(claims, RSA, "RS256", headers=head)


def read(text: str) -> dict[str, Any] | Rejected:
    head = read_head(text, RULES)
    return head if isinstance(head, Rejected) else read_claims(text, KEY, head, RULES)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"aud": ["other", "me"]},
        {"iss": "https://issuer/"},
        {"exp": In(-5)},
        {"nbf": In(5), "iat": In(5)},
    ],
)
def test_a_valid_token_is_accepted_with_clock_skew(changes: dict[str, Any]) -> None:
    claims = read(token(**changes))
    assert isinstance(claims, dict)
    assert claims["sub"] == "anna"


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": In(-60)},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": In(60)},
        {"iss": "https://other"},
        {"iss": None},
        {"aud": "https://me"},
        {"aud": []},
        {"aud": None},
        {"nonce": "n"},
        {"at_hash": "h"},
        {"events": {}},
        {"typ": "ID"},
        {"typ": "Refresh"},
    ],
)
def test_a_token_for_another_audience_or_issuer_is_rejected(changes: dict[str, Any]) -> None:
    assert isinstance(read(token(**changes)), Rejected)


@pytest.mark.parametrize(
    "head", [{"typ": "logout+jwt"}, {"typ": "dpop+jwt"}, {"crit": ["x"], "x": 1}, {"b64": False}]
)
def test_a_token_of_another_kind_is_rejected(head: dict[str, Any]) -> None:
    # The library refuses some of these by itself, and writes none of them.
    text = token()
    encoded = jwt.utils.base64url_encode(json.dumps({"alg": "RS256", **head}).encode()).decode()
    assert isinstance(read_head(f"{encoded}.{text.partition('.')[2]}", RULES), Rejected)


@pytest.mark.parametrize("typ", ["JWT", "at+jwt", "application/at+jwt"])
def test_types_of_access_tokens_are_accepted(typ: str) -> None:
    assert read_head(token({"typ": typ, "kid": "k"}), RULES) == TokenHead("k", "RS256")


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256", "HS512", "RS1", ""])
def test_algorithms_that_are_not_allowed_are_rejected_before_anything_else(algorithm: str) -> None:
    head = jwt.utils.base64url_encode(f'{{"alg":"{algorithm}"}}'.encode()).decode()
    assert isinstance(read_head(f"{head}.{token().partition('.')[2]}", RULES), Rejected)


@pytest.mark.parametrize("text", ["a.b.c", "..", "e30.e30.", "\x00.\x00.\x00"])
def test_malformed_tokens_are_rejected(text: str) -> None:
    assert isinstance(read_head(text, RULES), Rejected)


def test_the_reason_does_not_contain_the_token() -> None:
    found = read(token(sub="very-secret", aud="other"))
    expected = "aud is 'other', expected 'https://me/mcp' or 'me'"
    assert found == Rejected("InvalidAudienceError", expected)


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"iss": "https://other"}, r"iss is 'https://other', expected 'https://issuer'"),
        ({"aud": ["x" * 500]}, r"aud is \['x{198}\.\.\., expected"),
        ({"exp": 1}, r"it expired at 1, now is \d{10}"),
        ({"nbf": 9_999_999_999}, r"it is valid from 9999999999, now is \d{10}; compare the clo"),
        ({"aud": None}, "it has no aud"),
        ({"exp": "soon"}, "DecodeError"),
    ],
)
def test_the_operator_learns_what_was_expected(changes: dict[str, Any], detail: str) -> None:
    found = read(token(**changes))
    assert isinstance(found, Rejected)
    assert re.match(detail, found.detail), found.detail


def test_claims_of_a_token_that_the_issuer_did_not_sign_are_not_shown() -> None:
    text = token(aud="other")
    forged = text[:-8] + ("a" if text[-8] != "a" else "b") + text[-7:]
    found = read(forged)
    assert isinstance(found, Rejected)
    assert found.detail == "its signature is not by a key of the issuer"

"""Access tokens that are verified with one fixed key."""

from __future__ import annotations

import time
from collections.abc import Coroutine
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from dovetail.auth import Guard, OAuth
from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.runtime.auth_backend import AuthRejection
from tests.unit.fakes import make_request
from tests.unit.talk import run

ISSUER, RESOURCE, SECRET = "https://issuer.example", "https://me.example/mcp", "s" * 32
RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def pem(key: Any) -> str:
    kind, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    text: bytes = key.public_key().public_bytes(kind, form)
    return text.decode()


def token(key: Any, algorithm: str, **claims: Any) -> str:
    known = {"iss": ISSUER, "aud": RESOURCE, "sub": "anna", "exp": time.time() + 60}
    return jwt.encode({**known, **claims}, key, algorithm, headers={"kid": "any"})


def identify(auth: OAuth, text: str) -> Principal | AuthRejection | None:
    headers = {b"authorization": f"Bearer {text}".encode()}
    found = Guard(auth).identify(make_request(headers))
    return run(found) if isinstance(found, Coroutine) else found


@pytest.mark.parametrize(
    ("key", "algorithm"), [(RSA, "RS256"), (RSA, "PS256"), (EC, "ES256"), (ED, "EdDSA")]
)
def test_a_token_of_the_public_key_is_accepted(key: Any, algorithm: str) -> None:
    auth = OAuth(ISSUER, RESOURCE, public_key=pem(key))
    found = identify(auth, token(key, algorithm, scope="a b"))
    assert isinstance(found, Principal)
    assert found.id == f"{ISSUER}#anna" and found.scopes == {"a", "b"}
    assert isinstance(identify(auth, token(key, algorithm, aud="other")), AuthRejection)


def test_a_token_of_the_secret_is_accepted() -> None:
    auth = OAuth(ISSUER, RESOURCE, secret=SECRET)
    assert isinstance(identify(auth, token(SECRET, "HS256")), Principal)
    assert isinstance(identify(auth, token("x" * 32, "HS256")), AuthRejection)
    assert isinstance(identify(auth, token(RSA, "RS256")), AuthRejection)


def test_a_public_key_is_never_a_secret() -> None:
    auth = OAuth(ISSUER, RESOURCE, public_key=pem(RSA))
    # The library refuses to make such a token, so it is made by hand.
    head, body, _ = token(SECRET, "HS256").split(".")
    signer = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    signature = signer.sign(f"{head}.{body}".encode(), pem(RSA).encode())
    forged = f"{head}.{body}.{jwt.utils.base64url_encode(signature).decode()}"
    assert isinstance(identify(auth, forged), AuthRejection)
    # A key of another kind is not used either.
    assert isinstance(identify(auth, token(EC, "ES256")), AuthRejection)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"secret": "short"}, "at least 32 bytes"),
        ({"public_key": "x"}, "must be a public key in PEM"),
        ({"public_key": pem(RSA), "secret": SECRET}, "exclude each other"),
        ({"secret": SECRET, "algorithms": ["RS256"]}, "some of HS256, HS384, HS512"),
        ({"public_key": pem(RSA), "algorithms": ["HS256"]}, "some of RS256"),
    ],
)
def test_wrong_keys_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        OAuth(ISSUER, RESOURCE, **options)
    assert "short" not in str(caught.value)

"""Proofs for bound tokens. tests/deep/auth/test_bound_tokens.py sends them to a real server."""

from __future__ import annotations

import hashlib
import time
from base64 import urlsafe_b64encode
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from dovetail.core.replay import MemoryUsedIds
from dovetail.oauth.dpop import BoundToken, DpopKey, ProofChecker, find_bound_key
from tests.unit.talk import run

URL = "https://me.example/mcp"
TOKEN = "a.b.c"
ATH = urlsafe_b64encode(hashlib.sha256(TOKEN.encode()).digest()).rstrip(b"=").decode()


def sign(key: Any, algorithm: str, to_jwk: Any, head: Any = (), **changes: Any) -> bytes:
    """A proof that is right in everything but what `head` and `changes` say."""
    claims = {"jti": "1", "htm": "POST", "htu": URL, "iat": int(time.time()), "ath": ATH}
    claims = {name: value for name, value in {**claims, **changes}.items() if value is not None}
    own = {"typ": "dpop+jwt", "jwk": to_jwk(key.public_key(), as_dict=True)}
    return jwt.encode(claims, key, algorithm, {**own, **dict(head)}).encode()


def check(checker: ProofChecker, proof: bytes, thumbprint: str, path: str = "/mcp") -> str | None:
    bound = BoundToken(TOKEN.encode(), proof, "POST", path)
    return run(checker.check(bound, thumbprint))


def thumbprint_of(proof: bytes) -> str:
    """The thumbprint as another library computes it."""
    from jwcrypto import jwk  # noqa: PLC0415 - for these tests alone

    found: str = jwk.JWK(**jwt.get_unverified_header(proof)["jwk"]).thumbprint()
    return found


EC, RSA, OKP = (
    jwt.algorithms.ECAlgorithm.to_jwk,
    jwt.algorithms.RSAAlgorithm.to_jwk,
    jwt.algorithms.OKPAlgorithm.to_jwk,
)


@pytest.mark.parametrize(
    ("key", "algorithm", "to_jwk"),
    [
        (ec.generate_private_key(ec.SECP256R1()), "ES256", EC),
        (ec.generate_private_key(ec.SECP384R1()), "ES384", EC),
        (rsa.generate_private_key(65537, 2048), "PS256", RSA),
        (ed25519.Ed25519PrivateKey.generate(), "EdDSA", OKP),
    ],
)
def test_keys_of_every_type_are_accepted_once(key: Any, algorithm: str, to_jwk: Any) -> None:
    checker = ProofChecker(URL, 30.0, None)
    proof = sign(key, algorithm, to_jwk)
    assert check(checker, proof, thumbprint_of(proof)) is None
    assert check(checker, proof, thumbprint_of(proof)) == "it was used before"


@pytest.mark.parametrize(
    ("resource", "htu", "path", "is_right"),
    [
        (URL, "HTTPS://ME.example:443/mcp/?a=1#b", "/mcp", True),
        # The application is mounted, or its resource is the origin.
        ("https://me.example", "https://me.example/a/mcp", "/a/mcp", True),
        # A proxy strips the prefix.
        ("https://me.example/a/mcp", "https://me.example/a/mcp", "/mcp", True),
        (URL, "https://me.example/other", "/mcp", False),
        (URL, "https://me.example/mcp/x", "/mcp", False),
        (URL, "http://me.example/mcp", "/mcp", False),
        (URL, "https://me.example:444/mcp", "/mcp", False),
        (URL, "https://me.example@evil.example/mcp", "/mcp", False),
        (URL, "https://evil@me.example/mcp", "/mcp", False),
        (URL, "https://[", "/mcp", False),
        (URL, "", "/mcp", False),
    ],
)
def test_the_url_is_that_of_the_request(resource: str, htu: str, path: str, is_right: bool) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    proof = sign(key, "ES256", EC, htu=htu)
    problem = check(ProofChecker(resource, 30.0, None), proof, thumbprint_of(proof), path)
    assert problem == (None if is_right else "it is for another URL")


@pytest.mark.parametrize(
    ("head", "changes", "problem"),
    [
        ({"jwk": "text"}, {}, "its header is not that of a proof"),
        ({"jwk": {"kty": "oct", "k": "YWJj"}}, {}, "it contains a private key"),
        ({"jwk": {"kty": "EC"}}, {}, "it is malformed or not signed with its key"),
        ({}, {"iat": "now"}, "its claims have wrong types"),
        ({}, {"htm": 1}, "its claims have wrong types"),
        ({}, {"htu": [URL]}, "its claims have wrong types"),
    ],
)
def test_strange_proofs_are_refused(head: Any, changes: Any, problem: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    assert check(ProofChecker(URL, 30.0, None), sign(key, "ES256", EC, head, **changes), "") == (
        problem
    )


def test_processes_can_share_a_store() -> None:
    class Later:
        """A store that has to be asked."""

        def __init__(self) -> None:
            self._rounds = MemoryUsedIds()

        async def use(self, id: bytes, lifetime: float) -> bool:
            return self._rounds.use(id, lifetime)

    key = DpopKey()
    proof = key.prove("POST", URL, "", time.time(), TOKEN).encode()
    for store in (MemoryUsedIds(), Later()):
        first, second = ProofChecker(URL, 30.0, store), ProofChecker(URL, 30.0, store)
        assert check(first, proof, thumbprint_of(proof)) is None
        assert check(second, proof, thumbprint_of(proof)) == "it was used before"


def test_keys_that_are_not_used_any_more_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr("dovetail.oauth.dpop.time.monotonic", lambda: now)
    checker = ProofChecker(URL, 30.0, None)
    for _ in range(3):
        proof = DpopKey().prove("POST", URL, "", time.time(), TOKEN).encode()
        assert check(checker, proof, thumbprint_of(proof)) is None
    assert len(checker._seen) == 3
    now += 1000
    proof = DpopKey().prove("POST", URL, "", time.time(), TOKEN).encode()
    assert check(checker, proof, thumbprint_of(proof)) is None
    assert list(checker._seen) == [thumbprint_of(proof)]


def test_the_key_of_a_token_is_read_from_its_claims() -> None:
    assert find_bound_key({}) is None
    assert find_bound_key({"cnf": {"x5t#S256": "x"}}) is None
    assert find_bound_key({"cnf": {"jkt": "x"}}) == "x"
    # Never equal to a thumbprint, but bound.
    assert find_bound_key({"cnf": {"jkt": None}}) == "None"

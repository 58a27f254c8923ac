"""The public keys of an authorization server: caching, refresh and cooldown."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from dovetail.errors import TransportError
from dovetail.oauth.jwt_keys import KeySet
from tests.patience import CAP
from tests.unit.auth.test_rates import Clock
from tests.unit.talk import run

RSA = rsa.generate_private_key(65537, 2048)


def jwk_of(key: Any = RSA, **members: Any) -> dict[str, Any]:
    kinds: dict[Any, Any] = {
        rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm,
        ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm,
        ed25519.Ed25519PrivateKey: jwt.algorithms.OKPAlgorithm,
    }
    [kind] = [each for known, each in kinds.items() if isinstance(key, known)]
    return {**json.loads(kind.to_jwk(key.public_key())), **members}


class Issuer:
    """Somebody who has keys, or is away."""

    def __init__(self, *keys: Any) -> None:
        self.document: dict[str, Any] = {"keys": list(keys)}
        self.asked = 0
        self.is_away = False

    async def fetch(self) -> dict[str, Any]:
        self.asked += 1
        await asyncio.sleep(0)
        if self.is_away:
            raise TransportError("away")
        return self.document


def make(issuer: Issuer, clock: Clock | None = None) -> KeySet:
    return KeySet(issuer.fetch, lifetime=100, patience=1000, cooldown=10, clock=clock or Clock())


def test_a_key_is_fetched_once_and_cached() -> None:
    async def play() -> None:
        issuer = Issuer(jwk_of(kid="a"))
        keys = make(issuer)
        assert keys.find("a", "RS256") is None
        found = await asyncio.gather(*(keys.get("a", "RS256") for _ in range(10)))
        assert all(key is found[0] for key in found)
        assert keys.find("a", "RS256") is found[0] is not None
        assert issuer.asked == 1

    run(play())


def test_an_unknown_key_triggers_a_fetch_with_a_cooldown() -> None:
    async def play() -> None:
        clock = Clock()
        issuer = Issuer(jwk_of(kid="a"))
        keys = make(issuer, clock)
        await keys.get("a", "RS256")
        for number in range(50):
            assert await keys.get(f"made up {number}", "RS256") is None
        assert issuer.asked == 1
        clock.now += 10
        issuer.document = {"keys": [jwk_of(kid="b")]}
        assert await keys.get("b", "RS256") is not None
        # The old one is gone with the old set.
        assert keys.find("a", "RS256") is None
        assert issuer.asked == 2

    run(play())


def test_old_keys_are_used_for_a_limited_time() -> None:
    async def play() -> None:
        clock = Clock()
        issuer = Issuer(jwk_of(kid="a"))
        keys = make(issuer, clock)
        await keys.get("a", "RS256")
        issuer.is_away = True
        clock.now += 101
        assert keys.find("a", "RS256") is None
        assert await keys.get("a", "RS256") is not None
        assert issuer.asked == 2
        # It may be a new one: nobody can say now.
        with pytest.raises(TransportError):
            await keys.get("b", "RS256")
        clock.now += 1000
        with pytest.raises(TransportError):
            await keys.get("a", "RS256")
        issuer.is_away = False
        clock.now += 10
        assert await keys.get("a", "RS256") is not None

    run(play())


def test_an_unreachable_issuer_differs_from_an_unknown_key() -> None:
    issuer = Issuer()
    issuer.is_away = True
    with pytest.raises(TransportError):
        run(make(issuer).get("a", "RS256"))


@pytest.mark.parametrize("document", [{}, {"keys": 7}, {"keys": None}])
def test_an_invalid_key_set_is_ignored(document: dict[str, Any]) -> None:
    async def play() -> None:
        clock = Clock()
        issuer = Issuer(jwk_of(kid="a"))
        keys = make(issuer, clock)
        await keys.get("a", "RS256")
        issuer.document = document
        clock.now += 101
        assert await keys.get("a", "RS256") is not None

    run(play())


@pytest.mark.parametrize(
    ("key", "algorithm", "fits"),
    [
        (jwk_of(kid="a"), "RS256", True),
        (jwk_of(kid="a"), "PS256", True),
        (jwk_of(kid="a", alg="RS256"), "RS256", True),
        (jwk_of(kid="a", alg="RS256"), "PS256", False),
        (jwk_of(kid="a", use="enc"), "RS256", False),
        (jwk_of(kid="a"), "ES256", False),
        (jwk_of(kid="a"), "HS256", False),
        ({"kty": "oct", "k": "c2VjcmV0", "kid": "a"}, "HS256", False),
        ({"kty": "RSA", "kid": "a"}, "RS256", False),
        (jwk_of(ec.generate_private_key(ec.SECP256R1()), kid="a"), "ES256", True),
        (jwk_of(ed25519.Ed25519PrivateKey.generate(), kid="a"), "EdDSA", True),
        ("no key", "RS256", False),
    ],
)
def test_a_key_is_used_only_for_its_type_and_algorithm(
    key: Any, algorithm: str, fits: bool
) -> None:
    found = run(make(Issuer(key)).get("a", algorithm))
    assert (found is not None) is fits


def test_without_a_key_id_the_key_must_be_unique() -> None:
    assert run(make(Issuer(jwk_of(kid="a"))).get(None, "RS256")) is not None
    two = Issuer(jwk_of(kid="a"), jwk_of(kid="b"))
    assert run(make(two).get(None, "RS256")) is None


def test_an_issuer_that_never_ends_its_answer_holds_nobody_for_long() -> None:
    async def play() -> None:
        issuer, clock = Issuer(jwk_of(kid="a")), Clock()

        async def fetch() -> dict[str, Any]:
            if issuer.is_away:
                await asyncio.Event().wait()
            return await issuer.fetch()

        keys = KeySet(fetch, lifetime=100, cooldown=10, timeout=5, clock=clock)
        found = await keys.get("a", "RS256")
        issuer.is_away = True
        clock.now += 101
        async with asyncio.timeout(CAP):
            unknown = asyncio.create_task(keys.get("b", "RS256"))
            await asyncio.sleep(0)
            # The key is known, so its caller does not wait until the fetch has failed.
            assert await keys.get("a", "RS256") is found
            assert not unknown.done()
            with pytest.raises(TransportError):
                await unknown

    run(play())

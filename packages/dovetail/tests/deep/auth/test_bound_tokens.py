"""Tokens that are bound to a key of the client (DPoP): our client, and the attack table.

attack                                    status
a proof that is missing, used or wrong    401 invalid_dpop_proof, with what is wrong
a bound token without its scheme          401 invalid_token
a token without a key, with a proof       401 invalid_token
two proofs                                400
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwcrypto import jwk

from dovetail import Client
from dovetail.client.auth import AuthorizationCode, MemoryStore, OAuth, login
from tests.deep.auth.calls import ACCEPT, TLS, bearer, call_tool, get_token, sign
from tests.deep.auth.processes import Provider, notes_server
from tests.deep.auth.test_own_client import Anna, expire, who
from tests.patience import CAP


class Site(NamedTuple):
    """A server that accepts bound tokens, and one that accepts no others."""

    provider: Provider
    url: str
    strict_url: str


@pytest.fixture(scope="module")
def site(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("bound")

    def start(dpop: Any) -> Any:
        setup = {"issuer": provider.issuer, "oauth": {"dpop": dpop}}
        return notes_server(folder / str(dpop), **setup)

    with start(True) as running, start("required") as strict:
        yield Site(provider, running.ready, strict.ready)


# -- our client ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["legacy", "modern"])
def test_our_client_logs_in_steps_up_and_renews(mode: str, site: Site) -> None:
    async def use() -> None:
        anna, store = Anna(), MemoryStore()
        auth = OAuth(grant=AuthorizationCode(anna), store=store, dpop=True)
        async with Client(site.strict_url, auth=auth, mode=mode, timeout=CAP) as client:
            assert (await who(client))["id"] == f"{site.provider.issuer}#anna"
            written = await client.call("write_note", {"title": "a", "text": "bc"})
            assert written.text == "wrote 2 to a"
        before = expire(store)
        async with Client(site.strict_url, auth=auth, mode=mode, timeout=CAP) as client:
            assert (await who(client))["scopes"] == ["notes:read", "notes:write"]
        assert expire(store) != before
        assert len(anna.scopes) == 2

    asyncio.run(use())


def test_clients_without_a_key_are_served_unless_one_is_required(site: Site) -> None:
    async def use() -> None:
        auth = OAuth(grant=AuthorizationCode(Anna()), store=MemoryStore())
        async with Client(site.url, auth=auth, timeout=CAP) as client:
            assert (await who(client))["id"].endswith("#anna")

    asyncio.run(use())
    token = get_token(site.provider.issuer, site.strict_url, "notes:read")
    refused = call_tool(site.strict_url, "who", bearer(token))
    assert refused.status_code == 401
    challenge = refused.headers["www-authenticate"]
    assert challenge.startswith('DPoP error="invalid_token"') and "Bearer" not in challenge


def test_the_metadata_and_the_challenge_name_the_algorithms(site: Site) -> None:
    for url, is_required in ((site.url, False), (site.strict_url, True)):
        where = url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
        document = httpx.get(where, verify=TLS, timeout=CAP).json()
        assert "ES256" in document["dpop_signing_alg_values_supported"]
        assert document["dpop_bound_access_tokens_required"] is is_required
    challenge = call_tool(site.url, "who").headers["www-authenticate"]
    assert challenge.startswith("Bearer scope=") and ", DPoP scope=" in challenge
    assert 'algs="RS256' in challenge


def test_a_bound_token_is_no_bearer_token_where_proofs_are_not_accepted(
    provider: Provider, tmp_path: Path
) -> None:
    with notes_server(tmp_path, issuer=provider.issuer) as running:
        auth = OAuth(grant=AuthorizationCode(Anna()), store=(store := MemoryStore()), dpop=True)
        asyncio.run(login(running.ready, auth))
        token = expire(store)
        assert call_tool(running.ready, "who", bearer(token)).status_code == 401
        proven = {"authorization": f"DPoP {token}", "dpop": "a.b.c"}
        assert call_tool(running.ready, "who", proven).status_code == 401


# -- the attack table ---------------------------------------------------------------------------


class Thief:
    """Somebody with a bound token, what its owner sent, and perhaps the owner's key."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.public = jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        thumbprint = jwk.JWK(**self.public).thumbprint()
        self.token = self._sign(cnf={"jkt": thumbprint})

    def _sign(self, **claims: Any) -> str:
        kid = jwk.JWK.from_pyca(self.site.provider.key).thumbprint()
        provider = self.site.provider
        return sign(provider.key, provider.issuer, self.site.url, kid=kid, **claims)

    def prove(
        self, key: Any = ..., algorithm: str = "ES256", head: Any = (), **changes: Any
    ) -> str:
        """A proof that is right in everything but what is given; None takes a claim away."""
        digest = hashlib.sha256(self.token.encode()).digest()
        claims = {
            "jti": str(time.perf_counter_ns()),
            "htm": "POST",
            "htu": self.site.url,
            "iat": int(time.time()),
            "ath": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            **changes,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        own = {"typ": "dpop+jwt", "jwk": self.public, **dict(head)}
        return jwt.encode(claims, self.key if key is ... else key, algorithm, own)

    def send(self, proof: str | None, scheme: str = "DPoP", token: str = "") -> httpx.Response:
        headers = {"authorization": f"{scheme} {token or self.token}"}
        if proof is not None:
            headers["dpop"] = proof
        answer: httpx.Response = call_tool(self.site.url, "who", headers)
        return answer

    def replay(self) -> httpx.Response:
        proof = self.prove()
        assert self.send(proof).status_code == 200
        return self.send(proof)

    def use_own_key(self) -> httpx.Response:
        own = ec.generate_private_key(ec.SECP256R1())
        public = jwt.algorithms.ECAlgorithm.to_jwk(own.public_key(), as_dict=True)
        return self.send(self.prove(own, head={"jwk": public}))

    def leak_key(self) -> httpx.Response:
        private = jwt.algorithms.ECAlgorithm.to_jwk(self.key, as_dict=True)
        return self.send(self.prove(head={"jwk": private}))

    def take_key_for_secret(self) -> httpx.Response:
        return self.send(self.prove(self.public["x"], "HS256"))

    def open_stream(self) -> httpx.Response:
        """A GET with the proof of a POST."""
        headers = {**ACCEPT, "authorization": f"DPoP {self.token}", "dpop": self.prove()}
        return httpx.get(self.site.url, headers=headers, verify=TLS, timeout=CAP)


NOW = time.time()
ATTACKS: dict[str, tuple[Callable[[Thief], httpx.Response], str]] = {
    "no proof": (lambda t: t.send(None), "it is missing"),
    "replayed proof": (Thief.replay, "it was used before"),
    "other key": (Thief.use_own_key, "it is signed with another key"),
    "other key, that of the owner named": (
        lambda t: t.send(t.prove(ec.generate_private_key(ec.SECP256R1()))),
        "malformed or not signed",
    ),
    "other URL": (lambda t: t.send(t.prove(htu=t.site.strict_url)), "another URL"),
    "other path": (lambda t: t.send(t.prove(htu=f"{t.site.url}/x")), "another URL"),
    "other method": (lambda t: t.send(t.prove(htm="GET")), "another method"),
    "proof of a POST for a GET": (Thief.open_stream, "another method"),
    "old": (lambda t: t.send(t.prove(iat=int(NOW) - 3600)), "too old"),
    "made in advance": (lambda t: t.send(t.prove(iat=int(NOW) + 3600)), "from the future"),
    "no time": (lambda t: t.send(t.prove(iat=None)), "malformed"),
    "no token digest": (lambda t: t.send(t.prove(ath=None)), "malformed"),
    "digest of another token": (lambda t: t.send(t.prove(ath="x")), "another token"),
    "no id": (lambda t: t.send(t.prove(jti=None)), "malformed"),
    "no method": (lambda t: t.send(t.prove(htm=None)), "malformed"),
    "no URL": (lambda t: t.send(t.prove(htu=None)), "malformed"),
    "other type": (lambda t: t.send(t.prove(head={"typ": "JWT"})), "its header"),
    "critical extension": (
        lambda t: t.send(t.prove(head={"crit": ["x"], "x": 1})),
        # New versions of PyJWT refuse it first, with another reason.
        "The DPoP proof is not valid",
    ),
    "alg none": (lambda t: t.send(t.prove(None, "none")), "algorithm is not allowed"),
    "key taken for a secret": (Thief.take_key_for_secret, "algorithm is not allowed"),
    "private key inside": (Thief.leak_key, "private key"),
    "garbage": (lambda t: t.send("garbage"), "malformed"),
    "too long": (lambda t: t.send(t.prove(more="x" * 9000)), "too long"),
}


@pytest.fixture(scope="module")
def thief(site: Site) -> Thief:
    return Thief(site)


@pytest.mark.parametrize("name", ATTACKS)
def test_wrong_proofs_are_refused(name: str, thief: Thief) -> None:
    attack, problem = ATTACKS[name]
    refused = attack(thief)
    assert refused.status_code == 401
    challenge = refused.headers["www-authenticate"]
    assert challenge.startswith('DPoP error="invalid_dpop_proof"')
    assert problem in challenge
    assert thief.send(thief.prove()).status_code == 200


DOWNGRADES: dict[str, Callable[[Thief], httpx.Response]] = {
    "bound token as a bearer token": lambda t: t.send(None, "Bearer"),
    "and with a proof": lambda t: t.send(t.prove(), "Bearer"),
    "token without a key": lambda t: t.send(t.prove(), token=t._sign()),
    "token bound in another way": lambda t: t.send(t.prove(), token=t._sign(cnf={"x5t#S256": "x"})),
    "token with an empty key": lambda t: t.send(None, "Bearer", t._sign(cnf={"jkt": ""})),
    "invalid token": lambda t: t.send(t.prove(), token="a.b.c"),
}


@pytest.mark.parametrize("name", DOWNGRADES)
def test_downgrades_are_refused(name: str, thief: Thief) -> None:
    # Also when the token is in the cache.
    assert thief.send(thief.prove()).status_code == 200
    refused = DOWNGRADES[name](thief)
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]


def test_two_proofs_are_a_bad_request(thief: Thief) -> None:
    headers = [("authorization", f"DPoP {thief.token}")]
    headers += [("dpop", thief.prove()), ("dpop", thief.prove()), *ACCEPT.items()]
    answer = httpx.post(thief.site.url, json={}, headers=headers, verify=TLS, timeout=CAP)
    assert answer.status_code == 400

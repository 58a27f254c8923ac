"""Authentication by access token. tests/deep/auth uses a real authorization server."""

from __future__ import annotations

import json
import time
from collections.abc import Coroutine
from typing import Any

import jwt
import pytest

from dovetail.auth.credentials import Credentials, Found, Rejected
from dovetail.auth.oauth import Introspection, OAuth, keycloak_scopes, standard_scopes
from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.runtime.auth_backend import AuthRejection
from tests.unit.auth.small_server import Asked, serving
from tests.unit.auth.test_jwt_tokens import In
from tests.unit.oauth.test_jwt_keys import RSA, jwk_of
from tests.unit.talk import run

ME = "https://me.example/mcp"


def token(issuer: str, **changes: Any) -> bytes:
    claims = {"iss": issuer, "aud": ME, "sub": "anna", "exp": time.time() + 60, **changes}
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(claims, RSA, "RS256", headers={"kid": "a"}).encode()


def keys_for(asked: Asked) -> tuple[int, bytes]:
    host = f"http://{asked.headers['host']}"
    if asked.path == "/keys":
        return 200, json.dumps({"keys": [jwk_of(kid="a")]}).encode()
    return 200, json.dumps({"issuer": host, "jwks_uri": f"{host}/keys"}).encode()


async def ask(oauth: OAuth, given: bytes | None) -> Found:
    found = oauth.authenticate(Credentials(given, {}))
    return await found if isinstance(found, Coroutine) else found


def test_keys_are_discovered_and_tokens_cached() -> None:
    async def play() -> None:
        with serving(keys_for) as (url, asked):
            oauth = OAuth(url, ME)
            good = token(url, scope="a b", email="x")
            found = await ask(oauth, good)
            assert found == Principal(f"{url}#anna", ["a", "b"])
            assert isinstance(found, Principal)
            assert found.claims["email"] == "x"
            # Now at once, and it is the very same.
            assert oauth.authenticate(Credentials(good, {})) is found
            another = oauth.authenticate(Credentials(token(url, sub="bert"), {}))
            assert another == Principal(f"{url}#bert")
            assert len(asked) == 2

    run(play())


@pytest.mark.parametrize(
    ("claims", "id"),
    [
        ({}, "anna"),
        ({"sub": None, "client_id": "robot"}, "client:robot"),
        ({"sub": None, "azp": "robot"}, "client:robot"),
        ({"sub": "", "azp": "robot"}, "client:robot"),
        ({"sub": None}, None),
    ],
)
def test_the_principal_is_read_from_the_claims(claims: dict[str, Any], id: str | None) -> None:
    with serving(keys_for) as (url, _):
        found = run(ask(OAuth(url, ME), token(url, **claims)))
        assert found == (Principal(f"{url}#{id}") if id else Rejected("the token has no subject"))


def test_other_tokens_are_rejected() -> None:
    async def play() -> None:
        with serving(keys_for) as (url, _):
            oauth = OAuth(url, ME)
            assert await ask(oauth, None) is None
            bad = (b"opaque", b"a.b.c", b"\xff.\xff.\xff", token(url, aud="other"))
            for each in bad:
                assert isinstance(await ask(oauth, each), Rejected)
            unknown = jwt.encode({"a": 1}, RSA, "RS256", headers={"kid": "z"}).encode()
            assert isinstance(await ask(oauth, unknown), Rejected)

    run(play())


def test_an_unavailable_issuer_is_a_503() -> None:
    issuer = "http://127.0.0.1:1"
    found = run(ask(OAuth(issuer, ME), token(issuer)))
    assert isinstance(found, AuthRejection)
    assert (found.status, found.headers) == (503, ((b"retry-after", b"10"),))
    asking = OAuth(issuer, ME, introspection=Introspection("a", "b"))
    found = run(ask(asking, b"opaque"))
    assert isinstance(found, AuthRejection)


@pytest.mark.parametrize(
    ("answer", "is_good"),
    [
        ({"active": True, "aud": ME, "sub": "anna"}, True),
        ({"active": True, "aud": ["x", ME], "username": "anna"}, True),
        ({"active": True, "aud": f"{ME}/", "sub": "anna", "exp": In(60)}, True),
        ({"active": False, "aud": ME, "sub": "anna"}, False),
        ({"active": True, "sub": "anna"}, False),
        ({"active": True, "aud": "other", "sub": "anna"}, False),
        ({"active": True, "aud": ME, "sub": "anna", "iss": "https://other"}, False),
        ({"active": True, "aud": ME, "sub": "anna", "exp": In(-60)}, False),
        ({"active": True, "aud": ME}, False),
    ],
)
def test_introspected_claims_are_validated(answer: dict[str, Any], is_good: bool) -> None:
    now = time.time()
    said = {name: now + each if isinstance(each, In) else each for name, each in answer.items()}
    with serving(lambda asked: (200, json.dumps(said).encode())) as (url, _):
        oauth = OAuth(url, ME, introspection=Introspection("a", "b", url=url))
        found = run(ask(oauth, b"opaque"))
        assert found == Principal(f"{url}#anna") if is_good else isinstance(found, Rejected)


def test_scope_formats_of_issuers_are_supported() -> None:
    assert standard_scopes({"scope": "a b"}) == ["a", "b"]
    assert standard_scopes({"scp": ["a", 7, "b"]}) == ["a", "b"]
    assert standard_scopes({"scope": 7}) == []
    assert keycloak_scopes({"scope": "a", "realm_access": {"roles": ["r", 7]}}) == ["a", "role:r"]
    assert keycloak_scopes({"realm_access": 7}) == []


def test_keycloak_needs_only_the_realm_url() -> None:
    oauth = OAuth.keycloak("https://id.example/realms/shop/", ME, scopes={"notes"})
    assert oauth.issuer == "https://id.example/realms/shop"
    assert oauth._scopes_of is keycloak_scopes
    assert oauth.metadata_url == "https://me.example/.well-known/oauth-protected-resource/mcp"


def test_the_metadata_is_served_at_its_path() -> None:
    oauth = OAuth("https://id.example", ME)
    page = oauth.page("/.well-known/oauth-protected-resource/mcp", "/mcp")
    assert page is not None
    assert json.loads(page.body)["resource"] == ME
    assert oauth.page("/other", "/mcp") is None


@pytest.mark.parametrize(
    "options",
    [
        {"issuer": "http://id.example"},
        {"resource": "http://me.example/mcp"},
        {"scopes": "a"},
        {"scopes": ["offline_access"]},
        {"step_up": ["offline_access"]},
        {"algorithms": ["none"]},
        {"algorithms": ["RS256", "HS256"]},
        {"algorithms": []},
        {"jwks_url": "http://id.example/keys"},
    ],
)
def test_unsafe_options_are_rejected(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        OAuth(**{"issuer": "https://id.example", "resource": ME, **options})

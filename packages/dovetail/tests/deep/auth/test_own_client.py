"""Our client with a real authorization server and a guarded server, in both eras."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dovetail import Client
from dovetail.client.auth import (
    AuthorizationCode,
    ClientCredentials,
    FileStore,
    LoginRequiredError,
    MemoryStore,
    OAuth,
    Redirect,
    TokenRefusedError,
    UserAgent,
    find_login,
    login,
    logout,
)
from dovetail.client.auth.records import LoginRecord, decode_record, encode_record
from tests.deep.auth.browser import Browser
from tests.deep.auth.calls import bearer, modern
from tests.deep.auth.conftest import Place
from tests.patience import CAP

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


class Anna(UserAgent):
    """A user who is logged in at the authorization server and agrees."""

    def __init__(self) -> None:
        self.browser = Browser("anna")

    @asynccontextmanager
    async def open(self, preferred: str | None) -> AsyncIterator[Redirect]:
        yield _Visit(self.browser)

    @property
    def scopes(self) -> list[set[str]]:
        return [set(query["scope"][0].split()) for query in self.browser.visited]


class _Visit(Redirect):
    uri = "http://127.0.0.1:9/callback"

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    async def visit(self, url: str) -> str:
        await self._browser.visit(url)
        return self._browser.location


def _open(place: Place, auth: OAuth, mode: str = "auto") -> Client:
    return Client(place.url, auth=auth, mode=mode, timeout=CAP)


def _make_robot(secret: str) -> OAuth:
    return OAuth(
        client_id="robot", client_secret=secret, grant=ClientCredentials(), store=MemoryStore()
    )


async def who(client: Client) -> Any:
    return (await client.call("who")).data


@MODES
def test_a_user_logs_in_and_steps_up(mode: str, place: Place, tmp_path: Path) -> None:
    async def use() -> None:
        anna = Anna()
        auth = OAuth(grant=AuthorizationCode(anna), store=FileStore(tmp_path))
        async with _open(place, auth, mode) as client:
            told = await who(client)
            assert told == {"id": f"{place.provider.issuer}#anna", "scopes": ["notes:read"]}
            written = await client.call("write_note", {"title": "a", "text": "bc"})
            assert written.text == "wrote 2 to a"
            assert (await who(client))["scopes"] == ["notes:read", "notes:write"]
        assert anna.scopes == [{"notes:read"}, {"notes:read", "notes:write"}]
        # Another program of the same user needs no login.
        quiet = OAuth(store=FileStore(tmp_path), interactive=False)
        async with _open(place, quiet, mode) as client:
            assert (await who(client))["scopes"] == ["notes:read", "notes:write"]

    asyncio.run(use())


@MODES
def test_an_expired_token_is_renewed(mode: str, place: Place) -> None:
    async def use() -> None:
        anna = Anna()
        store = MemoryStore()
        auth = OAuth(grant=AuthorizationCode(anna), store=store)
        await login(place.url, auth)
        before = expire(store)
        async with _open(place, auth, mode) as client:
            assert (await who(client))["id"].endswith("#anna")
        assert _read(store).tokens.access_token != before
        assert len(anna.scopes) == 1

    asyncio.run(use())


def test_no_secret_is_in_the_log_the_audit_or_the_traces(place: Place) -> None:
    store = MemoryStore()
    anna = Anna()

    async def use() -> None:
        auth = OAuth(grant=AuthorizationCode(anna), store=store)
        await login(place.url, auth)
        secrets.update(_secrets(store, anna))
        async with _open(place, auth) as client:
            await client.call("write_note", {"title": "a", "text": "b"})
        secrets.update(_secrets(store, anna))
        expire(store)
        async with _open(place, auth) as client:
            await who(client)
        secrets.update(_secrets(store, anna))
        robot = _make_robot("robot-secret")
        async with _open(place, robot) as client:
            await who(client)

    secrets = {"robot-secret"}
    asyncio.run(use())
    # Three tokens with a refresh token each, two codes, and the secret.
    assert len(secrets) == 9
    for written in (place.log, place.audit, place.traces):
        text = written.read_text()
        assert not [secret for secret in secrets if secret in text], written.name
    for written in (place.audit, place.traces):
        assert "write_note" in written.read_text()


def test_secret_parameters_of_a_uri_are_in_no_log(place: Place) -> None:
    uri = "notes://nowhere?token=canary-1&page=2&api_key=canary-2#access_token=canary-3"
    assert modern(place.url, "resources/read", bearer(place.key), uri=uri).status_code == 200
    for written in (place.log, place.audit, place.traces):
        assert "canary-" not in written.read_text(), written.name
    for written in (place.audit, place.traces):
        assert "notes://nowhere?token=[redacted]&page=2" in written.read_text()


def _secrets(store: MemoryStore, anna: Anna) -> set[str]:
    """The tokens that are stored and the code that came with the last redirect."""
    tokens = _read(store).tokens
    assert tokens.refresh_token is not None
    [code] = parse_qs(urlsplit(anna.browser.location).query)["code"]
    return {tokens.access_token, tokens.refresh_token, code}


def _read(store: MemoryStore) -> LoginRecord:
    [key] = [key for key in store.list_keys() if key.startswith("login ")]
    found = decode_record(LoginRecord, store.load(key))
    assert found is not None
    return found


def expire(store: MemoryStore) -> str:
    [key] = [key for key in store.list_keys() if key.startswith("login ")]
    record = _read(store)
    record.tokens.expires_at = 1.0
    store.save(key, encode_record(record))
    return record.tokens.access_token


def test_a_logout_revokes_the_login_at_the_authorization_server(place: Place) -> None:
    async def use() -> None:
        anna = Anna()
        store = MemoryStore()
        auth = OAuth(grant=AuthorizationCode(anna), store=store)
        found = await login(place.url, auth)
        assert found.is_renewable and found == find_login(place.url, auth)
        kept = {key: store.load(key) for key in store.list_keys()}
        assert await logout(place.url, auth) is True
        # A copy of the store is worth nothing: the refresh token is revoked.
        for key, record in kept.items():
            store.save(key, record or b"")
        expire(store)
        quiet = OAuth(store=store, interactive=False)
        with pytest.raises(LoginRequiredError, match="run: dovetail login"):
            async with _open(place, quiet):
                pass

    asyncio.run(use())


@MODES
def test_a_program_logs_in_with_its_secret(mode: str, place: Place) -> None:
    async def use() -> None:
        auth = _make_robot("robot-secret")
        async with _open(place, auth, mode) as client:
            told = await who(client)
            assert told["id"] == f"{place.provider.issuer}#client:robot"
            assert (await client.call("write_note", {"title": "a", "text": "b"})).text
        wrong = _make_robot("wrong-secret")
        with pytest.raises(TokenRefusedError, match="invalid_client"):
            async with _open(place, wrong, mode):
                pass

    asyncio.run(use())


def test_a_client_with_a_metadata_document_needs_no_registration(place: Place) -> None:
    async def use() -> None:
        anna = Anna()
        url = "https://app.example/client.json"
        store = MemoryStore()
        auth = OAuth(client_metadata_url=url, grant=AuthorizationCode(anna), store=store)
        async with _open(place, auth) as client:
            assert (await who(client))["id"].endswith("#anna")
        [query] = anna.browser.visited
        assert query["client_id"] == [url]
        assert not [key for key in store.list_keys() if key.startswith("client ")]

    asyncio.run(use())

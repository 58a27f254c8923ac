"""Attacks on the OAuth client: hostile servers, redirects and metadata.

Every row changes one thing about two servers that otherwise work. The login must fail with a
message that names the party and the next step, and the attacker must not get what he is after.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from dovetail.client.auth import AuthorizationError, OAuth, login, logout
from dovetail.errors import PeerError, TransportError
from dovetail.net.addresses import AddressScope
from tests.patience import CAP
from tests.peers.scripted import run
from tests.unit.client.auth.authority import (
    RESOURCE_PATH,
    SERVER_PATH,
    Asked,
    FakeAuthority,
    Reply,
    Visitor,
    call,
    fake_authority,
    make_auth,
)

Setup = Callable[[FakeAuthority, FakeAuthority], None]
EVIL = "https://evil.example"


def nothing(fake: FakeAuthority, evil: FakeAuthority) -> None: ...


@dataclass(frozen=True)
class Attack:
    """What the attacker does, and how far he gets."""

    name: str
    message: str
    setup: Setup = nothing
    rewrite: Callable[[str], str] = lambda url: url
    # Paths of the attacker's server that may see requests; the others must see none.
    reaches: tuple[str, ...] = ()
    # Whether the token endpoint of the right server may be asked.
    asks_token: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    # The attacker's address; see `a_public_server`.
    host: str = "127.0.0.2"


def change(**fields: str | None) -> Callable[[str], str]:
    """Change the query of the redirect; None removes a field."""

    def rewrite(url: str) -> str:
        query = {**dict(parse_qsl(urlsplit(url).query)), **fields}
        kept = {name: value for name, value in query.items() if value is not None}
        return f"{url.partition('?')[0]}?{urlencode(kept)}"

    return rewrite


def with_metadata(**members: Any) -> Setup:
    def setup(fake: FakeAuthority, evil: FakeAuthority) -> None:
        for name, value in members.items():
            found = value(fake, evil) if callable(value) else value
            if found is None:
                fake.metadata.pop(name, None)
            else:
                fake.metadata[name] = found

    return setup


def with_resource(**members: Any) -> Setup:
    def setup(fake: FakeAuthority, evil: FakeAuthority) -> None:
        for name, value in members.items():
            fake.resource[name] = value(fake, evil) if callable(value) else value

    return setup


def with_challenge(url: str) -> Setup:
    def setup(fake: FakeAuthority, evil: FakeAuthority) -> None:
        fake.challenge = f'Bearer resource_metadata="{url}"'

    return setup


def with_page(path: str, reply: Reply | Callable[[FakeAuthority, FakeAuthority], Reply]) -> Setup:
    def setup(fake: FakeAuthority, evil: FakeAuthority) -> None:
        fake.pages[path] = lambda _: reply if isinstance(reply, Reply) else reply(fake, evil)

    return setup


def redirect_to(path: str, status: int) -> Callable[[FakeAuthority, FakeAuthority], Reply]:
    return lambda _, evil: Reply(status, {}, {"Location": evil.origin + path})


ATTACKS = [
    # -- mix-up and issuer confusion ----------------------------------------------------------
    Attack(
        "the redirect names another issuer (mix-up)",
        r"redirect is from 'https://evil.example', and the login was at .* may be an attack",
        rewrite=change(iss=EVIL),
    ),
    Attack(
        "the redirect does not name the issuer although it should",
        r"missing iss.*may be an attack",
        rewrite=change(iss=None),
    ),
    Attack(
        "the redirect names the issuer with another spelling",
        r"may be an attack",
        rewrite=lambda url: url.replace("&iss=", "&iss=HTTP").replace("HTTPhttp", "HTTP"),
    ),
    Attack(
        "another issuer is named in an error",
        r"redirect is from 'https://evil.example'",
        rewrite=change(iss=EVIL, error="access_denied", code=None),
    ),
    Attack(
        "the metadata has another issuer",
        r"calls itself 'https://evil.example'.*may be an attack",
        setup=with_metadata(issuer=EVIL),
    ),
    Attack(
        "the attacker's metadata claims to be the right issuer",
        r"calls itself .*may be an attack",
        setup=lambda fake, evil: (
            fake.resource.update(authorization_servers=[evil.origin]),
            evil.metadata.update(issuer=fake.origin),
        )[0],
        reaches=(SERVER_PATH,),
        host="127.0.0.1",
    ),
    Attack(
        "given credentials would go to an issuer that they are not for",
        r"the credentials of this client are for https://right.example; nothing was sent",
        options={"client_id": "me", "client_secret": "s", "issuer": "https://right.example"},
    ),
    # -- the resource -------------------------------------------------------------------------
    Attack(
        "the metadata is for a resource of another origin",
        r"is for another resource, 'https://evil.example/mcp'",
        setup=with_resource(resource=f"{EVIL}/mcp"),
    ),
    Attack(
        "the metadata is for another path of the server",
        r"is for another resource",
        setup=with_resource(resource=lambda fake, _: f"{fake.origin}/admin"),
    ),
    Attack(
        "the metadata is for a path that only begins like ours",
        r"is for another resource",
        setup=with_resource(resource=lambda fake, _: f"{fake.origin}/mc"),
    ),
    # -- code injection -----------------------------------------------------------------------
    Attack(
        "the redirect has the state of another login",
        r"wrong state.*Log in again",
        rewrite=change(state="guessed"),
    ),
    Attack("the redirect has no state", r"wrong state", rewrite=change(state=None)),
    Attack(
        "the redirect has a second code",
        r"repeats 'code'",
        rewrite=lambda url: f"{url}&code=injected",
    ),
    Attack(
        "the redirect has a second state",
        r"repeats 'state'",
        rewrite=lambda url: f"{url}&state=injected",
    ),
    Attack(
        "a code of another login is injected",
        r"invalid_grant; log in again",
        rewrite=change(code="stolen"),
        asks_token=True,
    ),
    Attack("the redirect has no code", r"neither a code nor an error", rewrite=change(code=None)),
    # -- downgrades ---------------------------------------------------------------------------
    Attack(
        "the server does not offer PKCE",
        r"does not offer PKCE",
        setup=with_metadata(code_challenge_methods_supported=None),
    ),
    Attack(
        "the server offers plain PKCE only",
        r"does not offer PKCE with S256",
        setup=with_metadata(code_challenge_methods_supported=["plain"]),
    ),
    *(
        Attack(
            f"the {name} is not encrypted",
            r"is http://evil.example.*not encrypted; it must be an https URL",
            setup=with_metadata(**{name: "http://evil.example/x"}),
        )
        for name in ("authorization_endpoint", "token_endpoint", "registration_endpoint")
    ),
    Attack(
        "the authorization server is not encrypted",
        r"not encrypted",
        setup=with_resource(authorization_servers=["http://evil.example"]),
    ),
    Attack(
        "the resource metadata is not encrypted",
        r"not encrypted",
        setup=with_challenge("http://evil.example/metadata"),
    ),
    Attack(
        "the token is of a type that the client did not ask for",
        r"token of type 'mac', which this client cannot use",
        setup=with_page("/token", Reply(document={"access_token": "x" * 20, "token_type": "mac"})),
        asks_token=True,
    ),
    Attack(
        "the server ignores the key of the client",
        r"ignored the key of this client",
        options={"dpop": True},
        asks_token=True,
    ),
    # -- tricks with URLs ---------------------------------------------------------------------
    *(
        Attack(
            f"the page to log in on is {url!r}",
            r"authorization_endpoint .* cannot be used|has a fragment|is not a URL",
            setup=with_metadata(authorization_endpoint=url),
        )
        for url in (
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https://user:secret@evil.example/",
            "https://evil.example/#x",
        )
    ),
    Attack(
        "the resource metadata is a file",
        r"cannot be used",
        setup=with_challenge("file:///etc/passwd"),
    ),
    # -- server-side request forgery ----------------------------------------------------------
    Attack(
        "the resource metadata is inside the user's network",
        r"is on a private network.*refused",
        setup=lambda fake, evil: with_challenge(f"{evil.origin}/metadata")(fake, evil),
    ),
    Attack(
        "the authorization server is inside the user's network",
        r"is on a private network.*refused",
        setup=with_resource(authorization_servers=lambda _, evil: [evil.origin]),
    ),
    Attack(
        "the registration endpoint is inside the user's network",
        r"is on a private network.*refused",
        setup=with_metadata(registration_endpoint=lambda _, evil: f"{evil.origin}/register"),
    ),
    Attack(
        "the token endpoint is inside the user's network",
        r"is on a private network.*refused",
        setup=with_metadata(token_endpoint=lambda _, evil: f"{evil.origin}/token"),
    ),
    Attack(
        "the resource metadata is a service of the cloud provider",
        r"is on a private network",
        setup=with_challenge("https://169.254.169.254/latest/meta-data"),
    ),
    # -- redirects of the servers -------------------------------------------------------------
    *(
        Attack(
            f"the token endpoint redirects elsewhere ({status})",
            r"answered a token request with 3\d\d",
            setup=with_page("/token", redirect_to("/token", status)),
            asks_token=True,
        )
        for status in (302, 307, 308)
    ),
    Attack(
        "the authorization server's metadata redirects elsewhere",
        r"which has no metadata",
        setup=with_page(SERVER_PATH, redirect_to(SERVER_PATH, 302)),
    ),
    Attack(
        "the registration redirects elsewhere",
        r"did not register this client",
        setup=with_page("/register", redirect_to("/register", 307)),
    ),
    Attack(
        "the resource metadata redirects elsewhere",
        r"its metadata at .*, which is not there",
        setup=with_page(RESOURCE_PATH, redirect_to(RESOURCE_PATH, 301)),
    ),
    # -- sizes and shapes ---------------------------------------------------------------------
    Attack(
        "the metadata is endless",
        r"longer than the limit",
        setup=with_page(RESOURCE_PATH, Reply(body=b" " * 300_000)),
    ),
    Attack(
        "the metadata has wrong types",
        r"metadata at .* is invalid: .*report this to its operator",
        setup=with_metadata(token_endpoint=7),
    ),
    Attack(
        "the access token breaks out of the header",
        r"cannot be put into a header",
        setup=with_page(
            "/token",
            Reply(document={"access_token": "a\r\nX-Evil: 1", "token_type": "bearer"}),
        ),
        asks_token=True,
    ),
]


@pytest.fixture(autouse=True)
def a_public_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """127.0.0.1 stands for a public address, and 127.0.0.2 for one in the user's network."""
    scopes = {"127.0.0.1": AddressScope.PUBLIC, "127.0.0.2": AddressScope.PRIVATE}
    monkeypatch.setattr(
        AddressScope, "of", lambda address: scopes.get(address, AddressScope.SPECIAL)
    )


def test_the_table_has_enough_rows_with_names_of_their_own() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 25


def test_the_same_login_succeeds_without_an_attack() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            assert await call(fake, make_auth()) == "done"

    run(use())


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_fails_and_gets_nothing(attack: Attack) -> None:
    async def use() -> None:
        async with fake_authority() as fake, fake_authority(attack.host) as evil:
            attack.setup(fake, evil)
            with pytest.raises(AuthorizationError, match=attack.message) as caught:
                await call(fake, make_auth(Visitor(attack.rewrite), **attack.options))
            assert {asked.path for asked in evil.asked} <= set(attack.reaches)
            assert bool(fake.count("/token")) is attack.asks_token
            # Nothing that was obtained on the way was sent to the MCP server.
            assert not [a for a in fake.asked if a.path == "/mcp" and "authorization" in a.headers]
            assert_no_secret(str(caught.value), fake)

    run(use())


def assert_no_secret(text: str, fake: FakeAuthority) -> None:
    secrets = [*fake.tokens, *fake.refresh_tokens, *fake.codes]
    assert [secret for secret in secrets if secret in text] == []


# -- the server's own name ----------------------------------------------------------------------


class OwnNames:
    """The server's DNS: `localhost` stands for its name, and resolves to what the server likes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
        self._answers = list(answers)
        resolve = asyncio.BaseEventLoop.getaddrinfo

        async def answer(loop: Any, host: Any, port: Any, **options: Any) -> Any:
            if host != "localhost":
                return await resolve(loop, host, port, **options)
            return [
                (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
                for address in self._next()
            ]

        monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", answer)

    def _next(self) -> list[str]:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def name_the_server(fake: FakeAuthority, evil: FakeAuthority) -> None:
    """Reach a server by a name, and let it name a server inside the user's network."""
    fake.url = fake.resource["resource"] = fake.url.replace("127.0.0.1", "localhost")
    fake.challenge = fake.challenge.replace("127.0.0.1", "localhost")
    fake.resource["authorization_servers"] = [evil.origin]


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([["127.0.0.1", "127.0.0.2"]], id="a second, private address"),
        pytest.param([["127.0.0.1"], ["127.0.0.2"]], id="a private address afterwards"),
    ],
)
@pytest.mark.parametrize("logs_in", [True, False])
def test_a_server_cannot_make_itself_private(
    answers: list[list[str]], logs_in: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    OwnNames(monkeypatch, *answers)

    async def use() -> None:
        async with fake_authority() as fake, fake_authority("127.0.0.2") as evil:
            name_the_server(fake, evil)
            with pytest.raises(AuthorizationError, match="is on a private network"):
                await (login(fake.url, make_auth()) if logs_in else call(fake, make_auth()))
            assert evil.asked == []

    run(use())


def test_a_stored_login_does_not_trust_the_name_of_its_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    OwnNames(monkeypatch, ["127.0.0.1"], ["127.0.0.1"], ["127.0.0.2"])

    async def use() -> None:
        async with fake_authority() as fake, fake_authority("127.0.0.2") as evil:
            name_the_server(fake, evil)
            fake.resource["authorization_servers"] = [fake.origin]
            fake.metadata["revocation_endpoint"] = f"{evil.origin}/revoke"
            auth = make_auth()
            await login(fake.url, auth)
            assert await logout(fake.url, auth) is False
            assert evil.asked == []

    run(use())


# -- a token is for one resource ----------------------------------------------------------------


def test_a_token_is_not_sent_to_another_server_of_the_same_issuer() -> None:
    async def use() -> None:
        async with fake_authority() as fake, fake_authority() as other:
            other.resource["authorization_servers"] = [fake.origin]
            auth = make_auth()
            await call(fake, auth)
            first = set(fake.tokens)
            with pytest.raises(TransportError):
                # The other server knows none of the tokens and denies them all.
                await call(other, auth)
            sent = [a.headers["authorization"] for a in other.asked if "authorization" in a.headers]
            assert sent and not [token for token in first if any(token in one for one in sent)]
            assert fake.forms("authorization_code")[-1]["resource"] == other.url

    run(use())


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_token_is_not_sent_where_the_server_redirects_to(status: int) -> None:
    async def use() -> None:
        async with fake_authority() as fake, fake_authority() as evil:
            auth = make_auth()
            await login(fake.url, auth)
            fake.pages["/mcp"] = lambda _: Reply(status, {}, {"Location": f"{evil.origin}/mcp"})
            with pytest.raises(PeerError, match="it has moved"):
                await call(fake, auth)
            assert evil.asked == []

    run(use())


def test_a_server_that_repeats_the_token_in_its_denial_is_not_quoted() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            auth = make_auth()
            found = await login(fake.url, auth)
            assert found.is_renewable

            def deny(asked: Asked) -> Reply:
                token = asked.headers.get("authorization", "")
                return Reply(403, {"you sent": token}, {"WWW-Authenticate": f'Bearer x="{token}"'})

            fake.pages["/mcp"] = deny
            with pytest.raises(TransportError, match="denies access: 403") as caught:
                await call(fake, auth)
            assert_no_secret(str(caught.value), fake)

    run(use())


def test_credentials_are_not_sent_to_an_issuer_that_replaces_theirs() -> None:
    async def use() -> None:
        async with fake_authority() as fake, fake_authority() as evil:
            auth = make_auth(client_id="me", client_secret="hush-hush")
            await login(fake.url, auth)
            fake.resource["authorization_servers"] = [evil.origin]
            fake.tokens.clear()
            with pytest.raises(AuthorizationError, match=f"are for {fake.origin}; nothing was"):
                await call(fake, auth)
            assert evil.count("/token") == 0

    run(use())


def test_a_logout_does_not_send_the_token_inside_the_network() -> None:
    async def use() -> None:
        async with fake_authority() as fake, fake_authority("127.0.0.2") as inside:
            fake.metadata["revocation_endpoint"] = f"{inside.origin}/revoke"
            auth = make_auth()
            await login(fake.url, auth)
            assert await logout(fake.url, auth) is False
            assert inside.asked == []

    run(use())


# -- what else goes wrong -----------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """Something that is broken rather than hostile."""

    name: str
    message: str
    path: str
    reply: Reply


FAULTS = [
    Fault(
        "the token endpoint answers HTML",
        r"/token answered a token request with something that is not a token response",
        "/token",
        Reply(body=b"<html>Welcome</html>"),
    ),
    Fault(
        "the token endpoint answers 500",
        r"/token answered a token request with 500 Internal Server Error; try again later",
        "/token",
        Reply(500, body=b"<html>Oops</html>"),
    ),
    Fault(
        "the metadata answers 503",
        r"oauth-authorization-server answered 503 Service Unavailable; try again later",
        SERVER_PATH,
        Reply(503, {}),
    ),
    Fault(
        "the registration is refused",
        r"did not register this client \(403 Forbidden\); ask its operator for a client id",
        "/register",
        Reply(403, {"error": "access_denied"}),
    ),
    Fault(
        "the scopes are refused",
        r"refused the token request: invalid_scope \(not those\); ask for other scopes",
        "/token",
        Reply(400, {"error": "invalid_scope", "error_description": "not those"}),
    ),
    Fault(
        "the resource names no authorization server",
        r"names no authorization server",
        RESOURCE_PATH,
        Reply(document={"resource": "SELF"}),
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_reported_with_the_party_and_the_next_step(fault: Fault) -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            reply = fault.reply
            if reply.document == {"resource": "SELF"}:
                reply = Reply(document={"resource": fake.url})
            fake.pages[fault.path] = lambda _: reply
            with pytest.raises(AuthorizationError, match=fault.message):
                await call(fake, make_auth())
            assert fake.count(fault.path) == 1

    run(use())


def test_an_authorization_server_that_never_answers_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dovetail.oauth.fetch._TIMEOUT", 0.2)

    async def hang(asked: Asked) -> Reply:
        await asyncio.sleep(CAP)
        return Reply()

    async def use() -> None:
        async with fake_authority() as fake:
            fake.pages["/token"] = hang
            with pytest.raises(AuthorizationError, match=r"/token did not answer within 0.2 s"):
                await call(fake, make_auth())

    run(use())


def test_an_unreachable_authorization_server_is_named() -> None:
    async def use() -> None:
        async with fake_authority() as fake, fake_authority() as gone:
            fake.resource["authorization_servers"] = [gone.origin]
        async with fake_authority() as fake:
            fake.resource["authorization_servers"] = [gone.origin]
            with pytest.raises(AuthorizationError, match="no server is listening there; try"):
                await call(fake, make_auth())

    run(use())


def test_a_login_that_is_declined_says_so() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            decline = change(code=None, error="access_denied")
            with pytest.raises(AuthorizationError, match="the login was declined"):
                await call(fake, make_auth(Visitor(decline)))

    run(use())


def test_the_settings_have_no_secrets_in_their_repr() -> None:
    auth = OAuth(client_id="me", client_secret="hush-hush", store=make_auth().store)
    assert "hush" not in repr(auth)
    assert "me" in repr(auth)

"""The flows: login, registration, renewal, step-up, credentials, revocation."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import sys
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from dovetail import Client
from dovetail.client.auth import (
    AuthorizationError,
    ClientCredentials,
    ClientKey,
    DeviceCode,
    DevicePrompt,
    EnterpriseManaged,
    LoginRequiredError,
    MemoryStore,
    OAuth,
    WorkloadIdentity,
    find_login,
    list_logins,
    login,
    logout,
)
from dovetail.client.http_auth import AuthorizedPool
from dovetail.errors import TransportError, UsageError
from dovetail.net.addresses import parse_url
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


@pytest.mark.parametrize("mode", ["modern", "legacy", "auto"])
def test_the_first_denial_begins_a_login_and_later_requests_use_its_token(mode: str) -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            visitor = Visitor()
            assert await call(fake, make_auth(visitor), mode, times=3) == "done"
            asked = visitor.query()
            assert asked["code_challenge_method"] == "S256"
            assert asked["resource"] == fake.url
            assert len(visitor.visited) == 1
            [form] = fake.forms("authorization_code")
            assert form["resource"] == fake.url
            [registration] = [one.json for one in fake.asked if one.path == "/register"]
            assert registration["application_type"] == "native"
            assert "refresh_token" in registration["grant_types"]

    run(use())


def test_two_requests_at_once_begin_one_login() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            visitor = Visitor()
            auth = make_auth(visitor)
            async with Client(fake.url, auth=auth, mode="modern", timeout=CAP) as client:
                fake.tokens.clear()
                fake.refresh_tokens.clear()
                await asyncio.gather(*(client.call("work") for _ in range(5)))
            assert len(visitor.visited) == 2

    run(use())


def test_two_first_requests_at_once_use_one_token() -> None:
    async def ask(pool: AuthorizedPool) -> int:
        async with pool.exchange("POST", [], b"{}") as response:
            return response.status

    async def use() -> None:
        async with fake_authority() as fake:
            pool = AuthorizedPool(parse_url(fake.url), make_auth())
            assert await asyncio.gather(*(ask(pool) for _ in range(4))) == [202] * 4
            await pool.close()
            assert fake.count("/authorize") == 1
            assert fake.forms("refresh_token") == []

    run(use())


@pytest.mark.parametrize("in_challenge", [True, False])
def test_scopes_come_from_the_challenge_or_else_from_the_resource(in_challenge: bool) -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            fake.resource["scopes_supported"] = ["all", "of", "them"]
            fake.metadata["scopes_supported"] = ["offline_access"]
            if in_challenge:
                fake.challenge += ', scope="one"'
            visitor = Visitor()
            await call(fake, make_auth(visitor))
            expected = "one" if in_challenge else "all of them"
            assert visitor.query()["scope"] == f"{expected} offline_access"
            assert visitor.query()["prompt"] == "consent"

    run(use())


def test_an_expired_token_is_renewed_without_the_user() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            visitor = Visitor()
            fake.expires_in = 1
            await call(fake, make_auth(visitor), times=3)
            assert len(visitor.visited) == 1
            # A token that is about to expire is renewed before each request.
            assert len(fake.forms("refresh_token")) >= 3

    run(use())


def test_a_token_that_the_server_no_longer_accepts_is_renewed() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            visitor = Visitor()
            async with Client(
                fake.url, auth=make_auth(visitor), mode="modern", timeout=CAP
            ) as client:
                fake.tokens.clear()
                assert (await client.call("work")).text == "done"
            assert len(visitor.visited) == 1
            assert len(fake.forms("refresh_token")) == 1

    run(use())


def test_a_revoked_refresh_token_leads_to_a_new_login() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            visitor = Visitor()
            async with Client(
                fake.url, auth=make_auth(visitor), mode="modern", timeout=CAP
            ) as client:
                fake.tokens.clear()
                fake.refresh_tokens.clear()
                assert (await client.call("work")).text == "done"
            assert len(visitor.visited) == 2
            # The registration is still known.
            assert fake.count("/register") == 1

    run(use())


def test_a_renewal_that_fails_for_a_moment_does_not_end_the_login() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            fake.expires_in = 20
            visitor = Visitor()
            async with Client(
                fake.url, auth=make_auth(visitor), mode="modern", timeout=CAP
            ) as client:
                renew, fake.pages["/token"] = fake.pages["/token"], lambda _: Reply(503, {})
                # The token is due for renewal but still valid.
                assert (await client.call("work")).text == "done"
                fake.pages["/token"] = renew
                assert (await client.call("work")).text == "done"
            assert len(visitor.visited) == 1

    run(use())


def test_a_call_that_needs_more_scopes_gets_them_beside_the_old_ones() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            fake.challenge += ', scope="read"'
            fake.needed = {"write"}
            visitor = Visitor()
            assert await call(fake, make_auth(visitor), times=2) == "done"
            assert [visitor.query(n)["scope"] for n in (0, 1)] == ["read", "read write"]
            assert len(visitor.visited) == 2

    run(use())


def test_scopes_that_are_not_granted_end_the_call_with_their_names() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            fake.needed = {"write"}
            fake.grants = lambda scopes: [scope for scope in scopes if scope != "write"]
            visitor = Visitor()
            with pytest.raises(
                AuthorizationError, match=r"needs the scope write, which .* did not"
            ):
                await call(fake, make_auth(visitor))
            assert len(visitor.visited) == 2

    run(use())


def test_a_server_that_always_denies_is_not_asked_forever() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            fake.pages["/mcp"] = lambda _: Reply(401, {}, {"WWW-Authenticate": fake.challenge})
            visitor = Visitor()
            with pytest.raises(TransportError, match="denies access: 401"):
                await call(fake, make_auth(visitor))
            assert len(visitor.visited) == 1
            assert fake.count("/mcp") <= 4

    run(use())


def test_given_credentials_come_before_every_registration() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            fake.metadata["client_id_metadata_document_supported"] = True
            auth = make_auth(
                client_id="mine", client_secret="s: 1", client_metadata_url="https://x.test/c.json"
            )
            await call(fake, auth)
            [token] = [asked for asked in fake.asked if asked.path == "/token"]
            assert token.basic == ("mine", "s: 1")
            assert fake.count("/register") == 0

    run(use())


@pytest.mark.parametrize("is_supported", [True, False])
def test_a_metadata_document_comes_before_a_dynamic_registration(is_supported: bool) -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            fake.metadata["client_id_metadata_document_supported"] = is_supported
            visitor = Visitor()
            url = "https://app.test/client.json"
            await call(fake, make_auth(visitor, client_metadata_url=url))
            assert (visitor.query()["client_id"] == url) is is_supported
            assert fake.count("/register") == (0 if is_supported else 1)

    run(use())


def test_a_registration_that_the_server_has_lost_is_made_again() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            auth = make_auth()
            await login(fake.url, auth)
            granting = fake.pages["/token"]
            fake.pages["/token"] = lambda _: Reply(401, {"error": "invalid_client"})
            with pytest.raises(AuthorizationError, match="invalid_client"):
                await login(fake.url, auth)
            fake.pages["/token"] = granting
            await login(fake.url, auth)
            assert fake.count("/register") == 2

    run(use())


def test_an_authorization_server_that_changes_gets_nothing_of_the_old_login() -> None:
    async def use() -> None:
        async with fake_authority() as fake, fake_authority() as other:
            other.prefix = "other"
            visitor = Visitor()
            async with Client(
                fake.url, auth=make_auth(visitor), mode="modern", timeout=CAP
            ) as client:
                fake.tokens.clear()
                fake.resource["authorization_servers"] = [other.origin]
                other.tokens = fake.tokens
                assert (await client.call("work")).text == "done"
            assert other.count("/register") == 1
            assert fake.forms("refresh_token") == []
            sent = b" ".join(asked.body for asked in other.asked)
            assert b"token-" not in sent

    run(use())


@pytest.mark.parametrize(
    "place",
    [
        "/.well-known/oauth-authorization-server/tenant",
        "/.well-known/openid-configuration/tenant",
        "/tenant/.well-known/openid-configuration",
    ],
)
def test_the_metadata_of_an_issuer_with_a_path_is_found_in_every_place(place: str) -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            issuer = f"{fake.origin}/tenant"
            fake.resource["authorization_servers"] = [issuer]
            fake.metadata["issuer"] = issuer
            fake.pages[place] = fake.pages.pop(SERVER_PATH)
            assert await call(fake, make_auth()) == "done"

    run(use())


@pytest.mark.parametrize("has_metadata", [True, False])
def test_a_server_without_resource_metadata_is_its_own_issuer(has_metadata: bool) -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            fake.challenge = "Bearer"
            del fake.pages[RESOURCE_PATH]
            if not has_metadata:
                del fake.pages[SERVER_PATH]
            assert await call(fake, make_auth(), mode="legacy") == "done"

    run(use())


def test_the_issuer_that_the_user_named_is_preferred() -> None:
    async def use() -> None:
        async with fake_authority() as fake, fake_authority() as other:
            other.tokens = fake.tokens
            fake.resource["authorization_servers"] = [fake.origin, other.origin]
            assert await call(fake, make_auth(issuer=other.origin)) == "done"
            assert fake.count("/token") == 0

    run(use())


# -- without a user -----------------------------------------------------------------------------


def _make_key() -> tuple[str, Any]:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return pem.decode(), key.public_key()


def test_a_program_logs_in_with_its_secret_and_renews_by_itself() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            fake.gives_refresh = False
            auth = make_auth(grant=ClientCredentials(), client_id="robot", client_secret="s")
            async with Client(fake.url, auth=auth, mode="modern", timeout=CAP) as client:
                fake.tokens.clear()
                assert (await client.call("work")).text == "done"
            assert len(fake.forms("client_credentials")) == 2
            assert fake.forms("client_credentials")[0]["resource"] == fake.url

    run(use())


def test_a_program_logs_in_with_its_key_although_its_clock_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pem, public = _make_key()

    async def use() -> None:
        async with fake_authority() as fake:
            now = time.time()

            def dated(asked: Asked) -> Reply:
                date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(now))
                return Reply(document=fake.metadata, headers={"Date": date})

            fake.pages[SERVER_PATH] = dated
            # This machine is five minutes ahead.
            monkeypatch.setattr("dovetail.oauth.fetch.time.time", lambda: now + 300)
            auth = make_auth(grant=ClientCredentials(), client_id="robot", private_key=pem)
            assert await call(fake, auth) == "done"
            [form] = fake.forms("client_credentials")
            claims = jwt.decode(
                form["client_assertion"],
                public,
                ["ES256"],
                audience=fake.origin,
                options={"verify_iat": False, "verify_exp": False},
            )
            assert abs(claims["iat"] - now) < 5
            assert claims["iss"] == claims["sub"] == "robot"

    run(use())


def test_a_key_that_cannot_sign_is_not_quoted() -> None:
    with pytest.raises(UsageError, match=r"^The private key cannot sign with ES256$"):
        ClientKey("-----BEGIN NONSENSE-----").sign("me", "https://as.test", 0)


def test_a_company_decides_about_access() -> None:
    async def use() -> None:
        async with fake_authority() as fake, fake_authority() as company:

            def exchange(asked: Asked) -> Reply:
                kind = "urn:ietf:params:oauth:token-type:id-jag"
                assert asked.form["audience"] == fake.origin
                assert asked.form["subject_token"] == "id-token"
                document = {"access_token": "jag", "issued_token_type": kind, "token_type": "N_A"}
                return Reply(document=document)

            company.pages["/token"] = exchange
            grant = EnterpriseManaged(lambda: "id-token", f"{company.origin}/token", "at-company")
            auth = make_auth(grant=grant, client_id="mine", client_secret="s")
            assert await call(fake, auth) == "done"
            [form] = fake.forms("urn:ietf:params:oauth:grant-type:jwt-bearer")
            assert form["assertion"] == "jag"

    run(use())


def test_a_workload_uses_the_token_of_its_platform() -> None:
    async def assertion() -> str:
        return "workload-jwt"

    async def use() -> None:
        async with fake_authority() as fake:
            auth = make_auth(grant=WorkloadIdentity(assertion), client_id="pod")
            assert await call(fake, auth) == "done"
            [form] = fake.forms("urn:ietf:params:oauth:grant-type:jwt-bearer")
            assert (form["assertion"], form["client_id"]) == ("workload-jwt", "pod")

    run(use())


# -- tokens that are bound to a key --------------------------------------------------------------


def _serve_bound(fake: FakeAuthority, proofs: list[dict[str, Any]]) -> None:
    """Both servers ask for a nonce and check the proofs."""

    def read_proof(asked: Asked, url: str) -> dict[str, Any]:
        proof = asked.headers["dpop"]
        head = jwt.get_unverified_header(proof)
        assert head["typ"] == "dpop+jwt" and "d" not in head["jwk"]
        key = jwt.PyJWK({**head["jwk"], "alg": "ES256"})
        claims: dict[str, Any] = jwt.decode(proof, key, ["ES256"])
        assert (claims["htm"], claims["htu"]) == (asked.method, url)
        proofs.append(claims)
        return claims

    def token(asked: Asked) -> Reply:
        if read_proof(asked, f"{fake.origin}/token").get("nonce") != "n1":
            return Reply(400, {"error": "use_dpop_nonce"}, {"DPoP-Nonce": "n1"})
        return Reply(document={**fake.issue([]), "token_type": "DPoP"})

    def mcp(asked: Asked) -> Reply:
        where = f'DPoP resource_metadata="{fake.origin}{RESOURCE_PATH}"'
        scheme, _, token = asked.headers.get("authorization", "").partition(" ")
        if token not in fake.tokens:
            return Reply(401, {}, {"WWW-Authenticate": where})
        assert scheme == "DPoP"
        if read_proof(asked, fake.url).get("nonce") != "n2":
            header = f'{where}, error="use_dpop_nonce"'
            return Reply(401, {}, {"WWW-Authenticate": header, "DPoP-Nonce": "n2"})
        asked.headers["authorization"] = f"Bearer {token}"
        return FakeAuthority.mcp(fake, asked)

    fake.pages.update({"/token": token, "/mcp": mcp})


def test_tokens_can_be_bound_to_a_key_of_the_client() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            proofs: list[dict[str, Any]] = []
            _serve_bound(fake, proofs)
            store = MemoryStore()
            assert await call(fake, make_auth(dpop=True, store=store), times=2) == "done"
            # The key is stored with the token.
            quiet = OAuth(dpop=True, store=store, interactive=False)
            assert await call(fake, quiet) == "done"
            assert len({claims["jti"] for claims in proofs}) == len(proofs)
            with pytest.raises(LoginRequiredError):
                await call(fake, OAuth(store=store, interactive=False))

    run(use())


# -- the device login ---------------------------------------------------------------------------


def _serve_device(fake: FakeAuthority, answers: list[Reply]) -> None:
    fake.pages["/device"] = lambda _: Reply(
        document={
            "device_code": "device-1",
            "user_code": "WXYZ",
            "verification_uri": f"{fake.origin}/enter",
            "expires_in": 600,
            "interval": 0,
        }
    )
    fake.pages["/token"] = lambda asked: answers.pop(0)


def test_a_device_login_waits_for_the_user() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            shown: list[DevicePrompt] = []
            pending = Reply(400, {"error": "authorization_pending"})
            _serve_device(fake, [pending, pending, Reply(document=fake.issue(["read"]))])
            found = await login(fake.url, make_auth(grant=DeviceCode(shown.append)))
            assert found.scopes == ("read",)
            assert (shown[0].code, shown[0].url) == ("WXYZ", f"{fake.origin}/enter")

    run(use())


def test_the_code_of_a_server_does_not_control_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            _serve_device(fake, [Reply(document=fake.issue(["read"]))])
            started = {
                "device_code": "device-1",
                "user_code": "A\x1b[2J\nB\u202eC\x9bD",
                "verification_uri": f"{fake.origin}/enter",
                "interval": 0,
            }
            fake.pages["/device"] = lambda _: Reply(document=started)
            await login(fake.url, make_auth(grant=DeviceCode()))

    run(use())
    shown = capsys.readouterr().err
    assert shown.endswith("the code A\\x1b[2J\\nB\\u202eC\\x9bD\n")


def test_the_advice_to_log_in_runs_nothing_of_the_server() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            store = MemoryStore()
            await login(fake.url, make_auth(store=store, scopes=["base"]))
            fake.needed = {"read';touch$IFS/tmp/x;'", "$(id)"}
            with pytest.raises(LoginRequiredError) as caught:
                await call(fake, OAuth(store=store, interactive=False))
            command = str(caught.value).partition("run: ")[2]
            words = list(shlex.shlex(command, posix=True, punctuation_chars=True))
            assert [word for word in words if set(word) <= set(";()&|<>")] == []
            assert "read';touch$IFS/tmp/x;'" in shlex.split(command)[4].split()

    run(use())


def test_a_device_login_that_is_declined_ends() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            _serve_device(fake, [Reply(400, {"error": "access_denied"})])
            with pytest.raises(AuthorizationError, match="access_denied; ask the operator"):
                await login(fake.url, make_auth(grant=DeviceCode(lambda _: None)))
            del fake.metadata["device_authorization_endpoint"]
            with pytest.raises(AuthorizationError, match="does not offer the device login"):
                await login(fake.url, make_auth(grant=DeviceCode(lambda _: None)))

    run(use())


# -- login, logout, whoami ----------------------------------------------------------------------


def test_a_login_is_stored_found_used_and_revoked() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            store = MemoryStore()
            auth = make_auth(store=store)
            assert find_login(fake.url, auth) is None
            found = await login(fake.url, auth)
            assert found == find_login(fake.url, auth)
            assert (found.server, found.issuer) == (fake.url, fake.origin)
            assert found.is_renewable
            assert list_logins(auth) == [fake.url]
            quiet = OAuth(store=store, interactive=False)
            assert await call(fake, quiet) == "done"
            assert await logout(fake.url, auth) is True
            assert fake.tokens == fake.refresh_tokens == {}
            assert await logout(fake.url, auth) is None
            assert list_logins(auth) == []
            with pytest.raises(LoginRequiredError, match=f"run: dovetail login {fake.url}"):
                await call(fake, quiet)

    run(use())


def test_a_nameless_client_finds_the_login_of_the_user_and_not_that_of_a_program() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            store = MemoryStore()
            robot = make_auth(
                grant=ClientCredentials(), client_id="robot", client_secret="s", store=store
            )
            await login(fake.url, robot)
            quiet = OAuth(store=store, interactive=False)
            assert find_login(fake.url, quiet) is None
            named = make_auth(client_id="mine", client_secret="s", store=store)
            await login(fake.url, named)
            found = find_login(fake.url, quiet)
            assert found is not None and found.client_id == "mine"
            assert await call(fake, quiet) == "done"
            assert await logout(fake.url, named) is True
            assert find_login(fake.url, quiet) is None
            assert find_login(fake.url, robot) is not None

    run(use())


def test_a_server_that_needs_no_login_is_not_logged_in_to() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            fake.pages["/mcp"] = lambda _: Reply(200, {})
            del fake.pages[RESOURCE_PATH]
            with pytest.raises(AuthorizationError, match="does not ask for a login"):
                await login(fake.url, make_auth())
            assert fake.count("/authorize") == 0

    run(use())


def test_the_client_does_not_load_it_unless_it_is_used() -> None:
    code = (
        "import sys, dovetail, dovetail.client; dovetail.Client('https://x.test/mcp'); "
        "print([name for name in sys.modules if name.startswith('dovetail.client.auth')])"
    )
    assert subprocess.check_output([sys.executable, "-c", code]) == b"[]\n"


def test_a_logout_succeeds_without_the_authorization_server() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            auth = make_auth()
            await login(fake.url, auth)
            fake.pages["/revoke"] = lambda _: Reply(503, {})
            assert await logout(fake.url, auth) is False
            assert find_login(fake.url, auth) is None

    run(use())


def test_the_claims_of_the_id_token_say_who_is_logged_in() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            claims = {"sub": "7", "email": "anna@example.test", "nonce": "x"}
            identity = jwt.encode(claims, "k" * 32, "HS256")

            def token(asked: Asked) -> Reply:
                return Reply(document={**fake.issue([]), "id_token": identity})

            fake.pages["/token"] = token
            found = await login(fake.url, make_auth())
            assert found.user == {"sub": "7", "email": "anna@example.test"}

    run(use())


def test_wrong_options_are_refused() -> None:
    with pytest.raises(UsageError, match="need client_id="):
        OAuth(client_secret="s")
    with pytest.raises(UsageError, match="scopes must be a collection"):
        OAuth(scopes="read")
    with pytest.raises(UsageError, match="auth= needs a URL"):
        Client("some command", auth=OAuth())
    with pytest.raises(UsageError, match="either auth= or an Authorization header"):
        Client("https://x.test/mcp", auth=make_auth(), headers={"authorization": "Bearer x"})
    with pytest.raises(UsageError, match="OAuth needs an https URL"):
        Client("http://x.test/mcp", auth=make_auth())

"""No secret appears in any output: each one is unique, and everything written is searched."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dovetail import Client
from dovetail.client.auth import (
    AuthorizationCode,
    ClientCredentials,
    EnterpriseManaged,
    FileStore,
    LoopbackBrowser,
    OAuth,
    WorkloadIdentity,
    find_login,
    login,
)
from dovetail.errors import DovetailError
from dovetail.oauth.dpop import DpopKey
from tests.patience import CAP
from tests.peers.scripted import run
from tests.unit.client.auth.authority import (
    Asked,
    FakeAuthority,
    Reply,
    fake_authority,
    make_auth,
)
from tests.unit.client.auth.test_user_agent import Person

CANARY = "canary4711"


def repeat_everything(asked: Asked) -> Reply:
    """A server that puts all it was sent into its error, secrets first."""
    sent = f"{' '.join(_find_secrets(asked))} {asked.form} {asked.headers}"
    return Reply(400, {"error": "invalid_request", "error_description": sent})


@pytest.mark.parametrize("broken", [None, "/token", "/mcp"])
def test_no_secret_is_written_anywhere_but_into_the_store(
    broken: str | None,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []

    async def use() -> None:
        async with fake_authority() as fake:
            fake.prefix = CANARY
            fake.needed = {"write"}
            person = Person()
            agent = LoopbackBrowser(open_browser=False, show=person.read, timeout=CAP)
            auth = OAuth(
                client_id=f"{CANARY}-client",
                client_secret=f"{CANARY}-secret",
                store=FileStore(tmp_path / "tokens"),
                grant=AuthorizationCode(agent),
            )
            shown.append(repr(auth))
            await _use(fake, auth, broken, shown)
            with contextlib.suppress(DovetailError):
                await person.done()

    run(use())
    # The browser of the test writes down what it visits.
    logged = [r.getMessage() for r in caplog.records if not r.name.startswith("http")]
    written = [*shown, *logged, *capfd.readouterr()]
    # The client id is no secret.
    text = "\n".join(written).replace(f"{CANARY}-client", "")
    assert CANARY not in text
    kept = b"".join(file.read_bytes() for file in (tmp_path / "tokens").glob("*.json"))
    assert (CANARY.encode() in kept) is (broken != "/token")


async def _use(fake: FakeAuthority, auth: OAuth, broken: str | None, shown: list[str]) -> None:
    try:
        if broken == "/mcp":
            await login(fake.url, auth)
        if broken is not None:
            fake.pages[broken] = repeat_everything
        async with Client(fake.url, auth=auth, mode="modern", timeout=CAP) as client:
            await client.call("work")
            fake.tokens.clear()
            await client.call("work")
            shown.append(repr(find_login(fake.url, auth)))
            shown.append(repr(client.__dict__))
    except DovetailError as error:
        found: Any = traceback.TracebackException.from_exception(error, capture_locals=False)
        shown.extend(found.format())


# -- every grant --------------------------------------------------------------------------------


def _make_grants(origin: str) -> dict[str, dict[str, Any]]:
    """Options of a client for each way to obtain a token, with a secret of its own."""
    pem = DpopKey().to_pem()
    secret = {"client_secret": f"{CANARY}-secret"}
    exchange = EnterpriseManaged(
        lambda: f"{CANARY}-id-token",
        f"{origin}/exchange",
        "at-company",
        client_secret=f"{CANARY}-at-company",
    )
    return {
        "user": {},
        "user with a bound token": {"dpop": True},
        "secret": {"grant": ClientCredentials(), **secret},
        "secret in the form": {"grant": ClientCredentials(), **secret},
        "signed assertion": {"grant": ClientCredentials(), "private_key": pem},
        "workload": {"grant": WorkloadIdentity(lambda: f"{CANARY}-workload")},
        "enterprise": {"grant": exchange, **secret},
    }


GRANTS = tuple(_make_grants(""))
# Members of forms that hold a secret.
_SECRET_FIELDS = (
    "code", "code_verifier", "refresh_token", "client_secret", "client_assertion", "assertion",
    "subject_token",
)  # fmt: skip
# Headers that hold a secret.
_CREDENTIALS = ("authorization", "dpop")


def _find_secrets(asked: Asked) -> Iterator[str]:
    """The secrets in a request, where they belong."""
    if asked.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        yield from (asked.form[name] for name in _SECRET_FIELDS if name in asked.form)
    scheme, _, given = asked.headers.get("authorization", "").partition(" ")
    if scheme == "Basic":
        yield asked.basic[1]
    elif given:
        yield given
    if "dpop" in asked.headers:
        yield asked.headers["dpop"]


@pytest.mark.parametrize("broken", [None, "/token", "/exchange", "/mcp"])
@pytest.mark.parametrize("kind", GRANTS)
def test_secrets_are_sent_only_where_they_belong(
    kind: str,
    broken: str | None,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []
    arrived: list[Asked] = []

    async def use() -> None:
        async with fake_authority() as fake:
            fake.pages["/exchange"] = lambda _: Reply(document=issued)
            if kind == "secret in the form":
                fake.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
            if kind == "user with a bound token":
                _serve_bound_tokens(fake)
            options = {"client_id": "client", **_make_grants(fake.origin)[kind]}
            auth = make_auth(**options)
            shown.append(repr(auth))
            await _use(fake, auth, broken, shown)
            arrived.extend(fake.asked)

    issued = {
        "access_token": f"{CANARY}-grant",
        "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "token_type": "N_A",
    }
    run(use())
    secrets = {secret for asked in arrived for secret in _find_secrets(asked)}
    assert secrets
    logged = [r.getMessage() for r in caplog.records if not r.name.startswith("http")]
    text = "\n".join([*shown, *logged, *capfd.readouterr()])
    assert not [secret for secret in secrets if secret in text]
    for asked in arrived:
        # The address, and for the server everything but the two headers: `_meta` included.
        seen = f"{asked.path} {asked.query}"
        if asked.path == "/mcp":
            own = {name: asked.headers[name] for name in asked.headers if name not in _CREDENTIALS}
            seen += f"{own} {asked.body.decode()}"
        assert not [secret for secret in secrets if secret in seen], asked.path


def _serve_bound_tokens(fake: FakeAuthority) -> None:
    """Tokens of the type DPoP, which the server accepts as if they were bearer tokens."""
    token, mcp = fake.token, fake.mcp

    def issue(asked: Asked) -> Reply:
        return Reply(document={**token(asked).document, "token_type": "DPoP"})

    def accept(asked: Asked) -> Reply:
        given = asked.headers.get("authorization", "").replace("DPoP ", "Bearer ")
        return mcp(dataclasses.replace(asked, headers={**asked.headers, "authorization": given}))

    fake.pages.update({"/token": issue, "/mcp": accept})

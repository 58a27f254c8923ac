"""The guard: authentication, principals and public documents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dovetail import Server
from dovetail.auth import ApiKeys, BearerTokens, Guard, Limits, OAuth, Rate
from dovetail.auth.api_keys import KeyFile
from dovetail.auth.credentials import Credentials, Found, Rejected
from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.observability import Metrics
from dovetail.runtime.auth_backend import AuthRejection
from tests.unit.fakes import make_request
from tests.unit.talk import MODERN, request, run


class Says:
    """Finds what it is told to, at once or later."""

    credential_headers = (b"x-who",)

    def __init__(self, found: Found, *, later: bool = False) -> None:
        self.found = found
        self.later = later

    def authenticate(self, credentials: Credentials) -> Found | Coroutine[Any, Any, Found]:
        async def wait() -> Found:
            return self.found

        return wait() if self.later else self.found


def identify(guard: Guard, **headers: str) -> Principal | AuthRejection | None:
    named = {name.encode(): value.encode() for name, value in headers.items()}
    found = guard.identify(make_request(named))
    return run(found) if isinstance(found, Coroutine) else found


ANNA = Principal("anna", ["a"])


@pytest.mark.parametrize("later", [False, True])
def test_authenticated_callers_are_accepted(later: bool) -> None:
    assert identify(Guard(Says(None), Says(ANNA, later=later))) == ANNA


@pytest.mark.parametrize("later", [False, True])
def test_a_rejection_ends_the_authentication(later: bool) -> None:
    metrics = Metrics()
    guard = Guard(Says(Rejected("wrong"), later=later), Says(ANNA), metrics=metrics)
    refusal = identify(guard)
    assert isinstance(refusal, AuthRejection)
    assert refusal.status == 401
    assert b'error="invalid_token"' in refusal.headers[0][1]
    assert "wrong" not in str(refusal)
    assert 'refused_total{status="401"} 1' in metrics.render()


def test_requests_without_credentials_are_rejected_unless_anonymous() -> None:
    refusal = identify(Guard(Says(None)))
    assert refusal == AuthRejection(
        401, "Authorization is required", ((b"www-authenticate", b"Bearer"),)
    )
    assert identify(Guard(Says(None), anonymous=True)) is None
    assert identify(Guard()) is None
    # Where nobody can be known, what somebody shows is not looked at.
    assert identify(Guard(), authorization="Bearer x") is None
    assert isinstance(identify(Guard(anonymous=False)), AuthRejection)


def test_an_unknown_token_is_not_anonymous() -> None:
    refusal = identify(Guard(Says(None), anonymous=True), authorization="Bearer x")
    assert isinstance(refusal, AuthRejection)
    assert b"invalid_token" in refusal.headers[0][1]


def test_a_rejection_with_its_own_status_is_unchanged() -> None:
    away = AuthRejection(503, "away")
    assert identify(Guard(Says(away))) is away
    refusal = identify(Guard(Says(ANNA)), authorization="Bearer")
    assert isinstance(refusal, AuthRejection)
    assert refusal.status == 400


def test_implied_scopes_are_transitive() -> None:
    implies = {"a": ["b"], "b": ["c", "a"], "x": ["y"]}
    found = identify(Guard(Says(ANNA), implies=implies))
    assert found == Principal("anna", ["a", "b", "c"])
    assert identify(Guard(Says(Principal("b")), implies=implies)) == Principal("b")


def test_an_oauth_challenge_has_metadata_url_and_scopes() -> None:
    oauth = OAuth("https://id.example", "https://me.example/mcp", scopes={"a"}, step_up={"b"})
    guard = Guard(oauth)
    refusal = identify(guard)
    assert isinstance(refusal, AuthRejection)
    where = b'resource_metadata="https://me.example/.well-known/oauth-protected-resource/mcp"'
    assert refusal.headers == ((b"www-authenticate", b'Bearer scope="a", ' + where),)
    permission = guard.protect(Server("s").engine, "http").permission
    assert permission is not None
    assert permission.step_up == {"b"}
    assert permission.challenge is not None
    assert permission.challenge({"b"}) == (
        f'Bearer error="insufficient_scope", scope="b", {where.decode()}'
    )


def test_without_middleware_and_limits_the_dispatcher_is_the_same() -> None:
    engine = Server("s").engine
    assert Guard().protect(engine, "http").dispatcher is engine.dispatcher
    assert Guard(limits=Limits(total=Rate(1))).protect(engine, "http").dispatcher is not (
        engine.dispatcher
    )


def test_the_result_size_is_limited() -> None:
    async def play() -> None:
        server = Server("s")

        @server.tool(blocking=False)
        def fill(size: int) -> str:
            return "x" * size

        await server.start()
        heard: list[Any] = []
        guard = Guard(limits=Limits(max_result_bytes=1000))
        line = server.connect(lambda answer: heard.append(json.loads(answer)), guard=guard)
        for number, size in enumerate((100, 2000)):
            params = {"name": "fill", "arguments": {"size": size}}
            line.receive(request("tools/call", params, id=number, revision=MODERN))
        while len(heard) < 2:
            await asyncio.sleep(0)
        small, large = heard
        assert "isError" not in small["result"]
        assert large["result"]["isError"] is True
        assert "the limit is 1,000" in large["result"]["content"][0]["text"]
        await line.close()

    run(play())


def test_credential_headers_are_collected() -> None:
    assert Guard(Says(None), Says(None)).credential_headers == {b"x-who"}


# -- stdio ------------------------------------------------------------------------------------


def test_on_stdio_the_principal_is_the_process_owner() -> None:
    found = Guard().local({})
    assert found is not None
    assert (found.id, found.trusted) == ("local", True)


def test_on_stdio_options_and_environment_set_the_principal(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    record, key = file.add("anna", ["a"])
    keys = ApiKeys(file.path)
    assert Guard(keys, local=ANNA).local({"DOVETAIL_API_KEY": key}) is ANNA
    assert Guard(keys).local({"DOVETAIL_API_KEY": key}) == Principal(f"key:{record.id}", ["a"])
    named = {"DOVETAIL_PRINCIPAL": "bert", "DOVETAIL_SCOPES": "a b"}
    assert Guard(keys, implies={"b": ["c"]}).local(named) == Principal("bert", ["a", "b", "c"])
    with pytest.raises(UsageError, match="DOVETAIL_API_KEY: unknown key") as caught:
        Guard(keys).local({"DOVETAIL_API_KEY": f"{key}x"})
    assert key not in str(caught.value)


# -- pages ------------------------------------------------------------------------------------


def test_health_and_readiness_are_optional() -> None:
    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        yield

    server = Server("s", lifespan=lifespan)
    guard = Guard(health=True)
    guard.protect(server.engine, "http")
    page = guard.page("/healthz", "/mcp")
    assert page is not None
    assert page.status == 200
    page = guard.page("/readyz", "/mcp")
    assert page is not None
    assert (page.status, json.loads(page.body)["status"]) == (503, "starting")

    async def start_and_look() -> None:
        await server.start()
        ready = guard.page("/readyz", "/mcp")
        assert ready is not None
        assert ready.status == 200
        await server.close()

    run(start_and_look())
    assert Guard().page("/healthz", "/mcp") is None


def test_metrics_are_served_if_configured() -> None:
    assert Guard(metrics=Metrics()).page("/metrics", "/mcp") is not None
    assert Guard().page("/metrics", "/mcp") is None


@pytest.mark.parametrize("wrong", [{"token-of-ada": "ada"}, BearerTokens, "token-of-ada"])
def test_what_is_no_authenticator_is_refused_with_what_to_write(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"Guard takes authenticators such as BearerTokens"):
        Guard(wrong)


def test_a_server_takes_a_guard_and_says_so() -> None:
    with pytest.raises(UsageError, match=r"write Guard\(\.\.\.\)"):
        Server("notes", guard=BearerTokens({"token-of-ada": "ada"}))  # type: ignore[arg-type]


def test_the_log_says_why_a_token_was_refused(caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard(Says(Rejected("InvalidAudienceError", "aud is 'other', expected 'me'")))
    for _ in range(50):
        identify(guard)
    assert "token refused: aud is 'other', expected 'me'" in caplog.text
    # Anybody can send wrong tokens: the log must not be filled with them.
    assert 10 <= len(caplog.records) < 50


def test_a_missing_token_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    identify(Guard(Says(None)))
    assert caplog.records == []


def test_a_wrong_key_is_told_apart_from_a_missing_one(caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard(BearerTokens({"a-token-of-anna": "anna"}))
    missing, wrong = identify(guard), identify(guard, authorization="Bearer wrong")
    assert isinstance(missing, AuthRejection)
    assert isinstance(wrong, AuthRejection)
    assert missing.text == "A key is required"
    assert wrong.text == "The key is unknown, expired or revoked"
    assert caplog.messages == ["key refused: no authenticator recognizes the token"]

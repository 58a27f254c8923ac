"""Security schemes: each credential goes where the document says, and to nobody else."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from dovetail import Context, Server
from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.wire import codec
from dovetail_openapi import SecurityScheme
from tests.openapi.backend import Backend, call, get

SCHEMES = {
    "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "session"},
    "basic": {"type": "http", "scheme": "basic"},
    "bearer": {"type": "http", "scheme": "Bearer"},
    "oauth": {"type": "oauth2", "flows": {}},
    "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://a.example"},
}


def secured(*needed: dict[str, Any], **operation: Any) -> dict[str, Any]:
    spec = get("/a", security=list(needed), **operation)
    return {**spec, "components": {"securitySchemes": SCHEMES}}


@pytest.mark.parametrize(
    ("scheme", "value", "place", "expected"),
    [
        ("header", "k", "x-key", "k"),
        ("cookie", "a;b", "cookie", "session=a%3Bb"),
        ("basic", "me:pw", "authorization", "Basic bWU6cHc="),
        ("basic", ("me", "pw"), "authorization", "Basic bWU6cHc="),
        ("bearer", "t", "authorization", "Bearer t"),
        ("oauth", "t", "authorization", "Bearer t"),
        ("oidc", "t", "authorization", "Bearer t"),
    ],
)
def test_a_fixed_credential(scheme: str, value: Any, place: str, expected: str) -> None:
    backend = Backend()
    server = Server.from_openapi(
        secured({scheme: []}), client=backend.client(), credentials={scheme: value}
    )
    assert not call(server, "get").is_error
    assert backend.seen[0].headers[place] == expected


def test_a_key_in_the_query_is_not_an_argument() -> None:
    backend = Backend()
    parameters = [{"name": "key", "in": "query", "required": True}, {"name": "q", "in": "query"}]
    spec = secured({"query": []}, parameters=parameters)
    server = Server.from_openapi(spec, client=backend.client(), credentials={"query": "s&t"})
    [tool] = server.tools.list()
    assert list(tool.input_schema["properties"]) == ["q"]
    assert not call(server, "get", {"q": "1"}).is_error
    assert backend.seen[0].query == "q=1&key=s%26t"


def test_no_member_of_an_object_replaces_a_key() -> None:
    """An object with `explode` puts its members into the query under their own names."""
    backend = Backend()
    spec = secured({"query": []}, parameters=[{"name": "more", "in": "query", "schema": {
        "type": "object"}}])  # fmt: skip
    server = Server.from_openapi(spec, client=backend.client(), credentials={"query": "own"})
    assert not call(server, "get", {"more": {"key": "other", "a": "b"}}).is_error
    assert backend.seen[0].query == "a=b&key=own"


def test_the_first_complete_alternative_is_used() -> None:
    backend = Backend()
    spec = secured({"header": [], "bearer": []}, {"basic": []})
    server = Server.from_openapi(
        spec, client=backend.client(), credentials={"header": "k", "basic": "a:b"}
    )
    call(server, "get")
    assert "x-key" not in backend.seen[0].headers
    assert backend.seen[0].headers["authorization"].startswith("Basic")


def test_optional_credentials_are_used_if_there_are_some() -> None:
    for credentials, expected in (({"bearer": "t"}, "Bearer t"), (lambda ctx, scheme: None, None)):
        backend = Backend()
        server = Server.from_openapi(
            secured({}, {"bearer": []}),
            client=backend.client(),
            credentials=credentials,
        )
        assert not call(server, "get").is_error
        assert backend.seen[0].headers.get("authorization") == expected


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no security scheme 'typo'; it has: header, query"):
        Server.from_openapi(secured(), client=Backend().client(), credentials={"typo": "x"})


def test_the_credential_of_the_caller_is_used_for_its_call_alone() -> None:
    """A cookie that the API sets for one caller is not sent for the next one either."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"set-cookie": "session=of-ann; Path=/"})

    async def find(context: Context[Any], scheme: SecurityScheme) -> str | None:
        await asyncio.sleep(0)
        caller = context.principal
        return f"token-of-{caller.id}" if caller is not None and caller.id != "eve" else None

    backend = Backend(answer)
    server = Server.from_openapi(secured({"bearer": []}), client=backend.client(), credentials=find)

    async def ask(principal: Principal | None) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get"}}
        answer = await server.handle(codec.encode(message), principal=principal)
        assert answer is not None
        return codec.decode_json(answer)["result"]

    async def run() -> list[Any]:
        results = [await ask(who) for who in (Principal("ann"), Principal("bob"), None)]
        results.append(await ask(Principal("eve")))
        await server.close()
        return results

    ann, bob, nobody, eve = asyncio.run(run())
    assert [seen.headers["authorization"] for seen in backend.seen] == [
        "Bearer token-of-ann",
        "Bearer token-of-bob",
    ]
    assert all("cookie" not in seen.headers for seen in backend.seen)
    assert not ann.get("isError") and not bob.get("isError")
    for refused in (nobody, eve):
        assert "needs credentials that this caller does not have: bearer" in str(refused)


def test_a_broken_scheme_is_named() -> None:
    spec = {**get("/a"), "components": {"securitySchemes": {"a": {"type": "apiKey"}}}}
    with pytest.raises(UsageError, match="#/components/securitySchemes/a: an apiKey needs name"):
        Server.from_openapi(spec, client=Backend().client())

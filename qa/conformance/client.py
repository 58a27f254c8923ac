"""The client that the official conformance suite starts, with the public API only.

usage: python qa/conformance/client.py URL     (the suite's --command; it appends the URL)

The suite says in the environment which scenario runs, at which revision, and with which
credentials. Each scenario asks for certain requests; the suite's mock servers judge them. A
scenario whose server must be refused ends with an error, which the suite expects.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from dovetail import Client
from dovetail.client import ElicitRequest
from dovetail.client.auth import (
    AuthorizationCode,
    ClientCredentials,
    ClientKey,
    EnterpriseManaged,
    MemoryStore,
    OAuth,
    Redirect,
    UserAgent,
    WorkloadIdentity,
)

# The suite's fixed names.
_METADATA_URL = "https://conformance-test.local/client-metadata.json"
_REDIRECT_URI = "http://127.0.0.1:3000/callback"

Scenario = Callable[[str, Mapping[str, Any]], Awaitable[None]]


class _Page(Redirect):
    """The suite's authorization page, which redirects at once."""

    uri = _REDIRECT_URI

    async def visit(self, url: str) -> str:
        return await asyncio.to_thread(_follow_once, url)


class _Headless(UserAgent):
    @asynccontextmanager
    async def open(self, preferred: str | None) -> AsyncIterator[Redirect]:
        yield _Page()


def _follow_once(url: str) -> str:
    parts = urlsplit(url)
    assert parts.hostname is not None
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        location = connection.getresponse().headers["Location"]
    finally:
        connection.close()
    return str(location)


def _open(url: str, auth: OAuth | None = None, **options: Any) -> Client:
    """A client at the revision of the scenario."""
    mode = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "auto")
    return Client(url, **{"mode": mode, "auth": auth, "timeout": 60.0, **options})


def _make_auth(**options: Any) -> OAuth:
    return OAuth(**{"grant": AuthorizationCode(_Headless()), "store": MemoryStore(), **options})


# -- requests ---------------------------------------------------------------------------------


async def _list_only(url: str, given: Mapping[str, Any]) -> None:
    async with _open(url) as client:
        await client.list_tools()


async def _list_and_call(url: str, given: Mapping[str, Any]) -> None:
    async with _open(url) as client:
        for tool in await client.list_tools():
            numbers = tool.input_schema.get("properties", {})
            await client.call(tool.name, dict(zip(numbers, (5, 3), strict=False)))


async def _request_metadata(url: str, given: Mapping[str, Any]) -> None:
    """Declares every capability, and finds a revision in common."""

    def elicit(request: ElicitRequest) -> None:
        return None

    async with _open(url, mode="modern", elicit=elicit, sample=lambda _: "", roots=[]) as client:
        await client.list_tools()


async def _answer_with_defaults(url: str, given: Mapping[str, Any]) -> None:
    async with _open(url, elicit=lambda _: {}) as client:
        for tool in await client.list_tools():
            await client.call(tool.name)


async def _call_given(url: str, given: Mapping[str, Any]) -> None:
    """The calls that the suite prescribes."""
    async with _open(url) as client:
        await client.list_tools()
        for call in given["toolCalls"]:
            await client.call(call["name"], call["arguments"])


async def _call_valid(url: str, given: Mapping[str, Any]) -> None:
    """The tools whose header annotations are valid; the client leaves out the others."""
    async with _open(url) as client:
        for tool in await client.list_tools():
            required = tool.input_schema.get("required", [])
            await client.call(tool.name, dict.fromkeys(required, "x"))


async def _echo_schema(url: str, given: Mapping[str, Any]) -> None:
    async with _open(url) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
        schema = tools["json_schema_2020_12_tool"].input_schema
        await client.call("json_schema_echo", {"schema": schema})


async def _standard_headers(url: str, given: Mapping[str, Any]) -> None:
    async with _open(url) as client:
        for tool in await client.list_tools():
            await client.call(tool.name)
        for resource in await client.list_resources():
            await client.read(resource.uri)
        for prompt in await client.list_prompts():
            await client.get_prompt(prompt.name)


async def _keep_request_state(url: str, given: Mapping[str, Any]) -> None:
    async with _open(url, elicit=lambda _: {"confirmed": True}) as client:
        await client.list_tools()
        await asyncio.gather(
            client.call("test_mrtr_echo_state"), client.call("test_mrtr_unrelated")
        )
        await client.call("test_mrtr_no_state")
        await client.call("test_mrtr_no_result_type")


# -- skills -----------------------------------------------------------------------------------


async def _list_skills(url: str, given: Mapping[str, Any]) -> None:
    async with _open(url) as client:
        await client.list_skills()


async def _use_skill(url: str, given: Mapping[str, Any]) -> None:
    async with _open(url) as client:
        for entry in await client.list_skills():
            skill = await client.load_skill(entry)
            for file in entry.resources:
                await skill.read(file.uri)


# -- authorization ----------------------------------------------------------------------------


async def _use(url: str, auth: OAuth) -> None:
    async with _open(url, auth) as client:
        for tool in await client.list_tools():
            await client.call(tool.name)


async def _log_in(url: str, given: Mapping[str, Any]) -> None:
    await _use(url, _make_auth(client_metadata_url=_METADATA_URL))


async def _log_in_as_registered(url: str, given: Mapping[str, Any]) -> None:
    auth = _make_auth(client_id=given["client_id"], client_secret=given["client_secret"])
    await _use(url, auth)


async def _log_in_with_dpop(url: str, given: Mapping[str, Any]) -> None:
    await _use(url, _make_auth(dpop=True))


async def _client_credentials(url: str, given: Mapping[str, Any]) -> None:
    pem = given.get("private_key_pem")
    key = ClientKey(pem, given["signing_algorithm"]) if pem else None
    auth = _make_auth(
        grant=ClientCredentials(),
        client_id=given["client_id"],
        client_secret=given.get("client_secret"),
        private_key=key,
    )
    await _use(url, auth)


async def _enterprise_managed(url: str, given: Mapping[str, Any]) -> None:
    grant = EnterpriseManaged(
        id_token=given["idp_id_token"],
        token_endpoint=given["idp_token_endpoint"],
        client_id=given["idp_client_id"],
    )
    auth = _make_auth(
        grant=grant, client_id=given["client_id"], client_secret=given["client_secret"]
    )
    await _use(url, auth)


async def _workload_identity(url: str, given: Mapping[str, Any]) -> None:
    grant = WorkloadIdentity(given["valid_jwt"])
    await _use(url, _make_auth(grant=grant, client_id=given["client_id"]))


SCENARIOS: dict[str, Scenario] = {
    "initialize": _list_only,
    "tools_call": _list_and_call,
    "elicitation-sep1034-client-defaults": _answer_with_defaults,
    "sse-retry": _list_and_call,
    "request-metadata": _request_metadata,
    "sep-2322-client-request-state": _keep_request_state,
    "http-standard-headers": _standard_headers,
    "http-custom-headers": _call_given,
    "http-invalid-tool-headers": _call_valid,
    "json-schema-ref-no-deref": _list_only,
    "json-schema-2020-12-preservation": _echo_schema,
    "sep-2640-client-no-prefetch": _list_skills,
    "sep-2640-client-verify-digest": _use_skill,
    "sep-2640-client-verify-size": _use_skill,
    "sep-2640-client-verify-frontmatter": _use_skill,
    "auth/pre-registration": _log_in_as_registered,
    "auth/client-credentials-jwt": _client_credentials,
    "auth/client-credentials-basic": _client_credentials,
    "auth/enterprise-managed-authorization": _enterprise_managed,
    "auth/dpop": _log_in_with_dpop,
    "auth/dpop-nonce": _log_in_with_dpop,
    "auth/wif-jwt-bearer": _workload_identity,
}


def main() -> None:
    """Run the scenario that the environment names; every other one is a plain login."""
    name = os.environ["MCP_CONFORMANCE_SCENARIO"]
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    scenario = SCENARIOS.get(name, _log_in if name.startswith("auth/") else _list_only)
    asyncio.run(scenario(sys.argv[1], given))


if __name__ == "__main__":
    main()

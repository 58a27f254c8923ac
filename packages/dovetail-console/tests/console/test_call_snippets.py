from __future__ import annotations

import shlex
from typing import Any

import httpx
import pytest

from dovetail_console.saved_calls import (
    CopiedCall,
    SentRequest,
    as_command,
    as_curl,
    as_python,
)
from dovetail_console.workers import ServerFacts
from tests.console.pages import browse, make_server, token_of

EVIL = 'it\'s $(rm) "x"'
URL = "http://127.0.0.1:8000/mcp"
HERE = ServerFacts("shop", URL, URL)


def make_call(revision: str = "2026-07-28", **headers: str) -> CopiedCall:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": EVIL}}
    sent = SentRequest(revision, URL, headers, body)
    return CopiedCall("shop", "curl", EVIL, revision, sent, {"a": EVIL, "n": 2**70})


def test_a_command_quotes_what_the_shell_would_read() -> None:
    words = shlex.split(as_command(make_call(Authorization="Bearer k"), URL))
    assert words[:4] == ["dovetail", "call", URL, EVIL]
    assert str(2**70) in words[5]
    assert words[-2:] == ["--token-env", "TOKEN"]
    assert as_command(make_call(), "-- npx every").endswith(" -- npx every")


def test_a_program_has_the_values_as_python() -> None:
    program = as_python(make_call(), "-- npx 'a b'")
    compile(program, "copied", "exec")
    assert "Client(['npx', 'a b'], mode='2026-07-28')" in program
    assert repr(EVIL) in program
    assert repr(URL) in as_python(make_call(), URL)


def test_curl_never_has_the_secret() -> None:
    text = as_curl(make_call(Authorization="Bearer secret", **{"X-Api-Key": "secret"}), HERE)
    assert "secret" not in text
    assert '"Authorization: Bearer $TOKEN"' in text
    assert '"X-Api-Key: $TOKEN"' in text
    assert text.count("curl -sN") == 1


def test_curl_starts_a_session_for_legacy_revisions() -> None:
    text = as_curl(make_call("2025-11-25", **{"Mcp-Session-Id": "old"}), HERE)
    assert text.count("curl -sN") == 3
    assert "old" not in text
    assert '"initialize"' in text


def test_curl_goes_to_the_target_itself() -> None:
    call = make_call(**{"X-Console-Token": "t"})
    remote = ServerFacts("shop", "https://a.example/mcp", "", is_remote=True)
    text = as_curl(call, remote)
    assert text.startswith("curl -sN https://a.example/mcp")
    assert "X-Console-Token" not in text
    # A command has no URL: its calls go through the console.
    assert "'X-Console-Token: t'" in as_curl(call, HERE)


def post(name: str, body: Any) -> httpx.Response:
    async def use(client: httpx.AsyncClient) -> httpx.Response:
        headers = await token_of(client)
        return await client.post(f"/console/api/{name}", json=body, headers=headers)

    return browse(make_server().http_app(console=True), use)


@pytest.mark.parametrize(
    ("style", "start"),
    [("dovetail call", "dovetail call http"), ("Python", "import asyncio"), ("curl", "curl -sN")],
)
def test_the_api_returns_text(style: str, start: str) -> None:
    sent = {"revision": "2026-07-28", "url": URL, "headers": {}, "body": {}}
    call = {"server": "shop", "as": style, "tool": "add", "revision": "2026-07-28", "request": sent}
    found = post("copy", call)
    assert found.headers["content-type"].startswith("text/plain")
    assert found.text.startswith(start)
    assert post("copy", {**call, "as": "x"}).status_code == 400


def test_the_api_expands_templates() -> None:
    found = post("uri", {"template": "a://{x}/{+y*}{?q,r}", "values": {"x": "a b", "q": "1"}})
    assert found.json() == {"names": ["x", "y", "q", "r"], "uri": "a://a%20b/?q=1"}
    assert post("uri", {}).status_code == 400


def test_the_api_finds_the_headers_of_tools() -> None:
    good = {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    bad = {"properties": {"region": {"type": "object", "x-mcp-header": "Region"}}}
    tools = [{"name": "good", "inputSchema": good}, {"name": "bad", "inputSchema": bad}]
    found = post("headers", {"tools": tools}).json()
    assert found["headers"] == {"good": [[["region"], "Region"]]}
    assert [tool["name"] for tool in found["excluded"]] == ["bad"]
    assert post("headers", {"tools": 1}).status_code == 400

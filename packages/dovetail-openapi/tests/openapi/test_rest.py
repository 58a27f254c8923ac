"""The REST interface: the same calls and the same guard as for MCP clients."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from dovetail import Context, Options, Server, ToolError
from dovetail.auth import ApiKeys, Guard, KeyFile, Limits, Rate
from dovetail.cli import main
from dovetail.client import Client
from dovetail_openapi import rest_app

BASE = "http://127.0.0.1:8000"


def make_server(**options: Any) -> Server:
    server = Server("shop", version="2", options=Options(**options))

    @server.tool
    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(scopes=["write"])
    def sell(item: str) -> dict[str, str]:
        return {"sold": item}

    @server.tool
    async def who(ctx: Context) -> str:
        headers = dict(ctx.scope["headers"])
        return f"{ctx.principal.id if ctx.principal else None} {b'authorization' in headers}"

    @server.tool
    def fail() -> str:
        raise ToolError("out of tea")

    return server


def with_client(
    use: Callable[[httpx.AsyncClient], Awaitable[Any]], server: Server | None = None, **options: Any
) -> Any:
    async def run() -> Any:
        app = rest_app(server or make_server(), **options)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            return await use(client)

    return asyncio.run(run())


def post(name: str, **request: Any) -> httpx.Response:
    options = request.pop("options", {})
    answer: httpx.Response = with_client(lambda c: c.post(f"/tools/{name}", **request), **options)
    return answer


def test_a_tool_is_called_with_a_post() -> None:
    assert post("add", json={"a": 1, "b": 2}).json() == {"result": 3}
    assert post("who").json() == {"content": [{"type": "text", "text": "None False"}]}


@pytest.mark.parametrize(
    ("name", "request_", "status", "text"),
    [
        ("add", {"json": {"a": "x"}}, 422, "a: expected"),
        ("fail", {}, 422, "out of tea"),
        ("nothing", {}, 404, "Unknown tool"),
        ("add", {"content": b"{"}, 415, "application/json"),
        ("add", {"content": b"{", "headers": {"content-type": "application/json"}}, 400, "JSON"),
        ("add", {"json": [1]}, 400, "must be an object"),
        ("add", {"json": {"a": 1}, "headers": {"host": "evil.example"}}, 403, "Host"),
        ("add", {"json": {"a": 1}, "headers": {"origin": "http://evil.example"}}, 403, "Origin"),
    ],
)
def test_a_refusal_has_a_status_and_a_text(
    name: str, request_: dict[str, Any], status: int, text: str
) -> None:
    answer = post(name, **request_)
    assert answer.status_code == status
    assert text in answer.json()["error"]


def test_other_methods_and_large_bodies_are_refused() -> None:
    got = with_client(lambda c: c.get("/tools/add"))
    assert (got.status_code, got.headers["allow"]) == (405, "OPTIONS, POST")
    large = post(
        "add", json={"a": "x" * 5000}, options={"server": make_server(max_message_bytes=1000)}
    )
    assert large.status_code == 413


def test_the_document_is_valid_and_served() -> None:
    answer = with_client(lambda c: c.get("/openapi.json"))
    assert answer.status_code == 200
    OpenAPIV31SpecValidator(answer.json()).validate()
    assert "/tools/add" in answer.json()["paths"]


def test_a_long_list_is_complete() -> None:
    answer = with_client(lambda c: c.get("/openapi.json"), make_server(page_size=2))
    assert len(answer.json()["paths"]) == 3


def test_the_guard_decides_as_for_mcp_clients(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    keys = {"reader": file.add("reader", [])[1], "writer": file.add("writer", ["write"])[1]}
    guard = Guard(ApiKeys(tmp_path / "keys.json"))

    async def use(client: httpx.AsyncClient) -> None:
        def key(name: str) -> dict[str, str]:
            return {"authorization": f"Bearer {keys[name]}"}

        for path in ("/tools/add", "/tools/nothing"):
            refused = await client.post(path, json={"a": 1})
            assert refused.status_code == 401
            assert "www-authenticate" in refused.headers
        assert (await client.get("/openapi.json")).status_code == 401

        who = await client.post("/tools/who", headers=key("reader"))
        assert re.fullmatch("key:.* False", who.json()["content"][0]["text"])
        hidden = await client.post("/tools/sell", json={"item": "tea"}, headers=key("reader"))
        assert hidden.status_code in (403, 404)
        sold = await client.post("/tools/sell", json={"item": "tea"}, headers=key("writer"))
        assert sold.json() == {"sold": "tea"}

        reader = (await client.get("/openapi.json", headers=key("reader"))).json()
        writer = (await client.get("/openapi.json", headers=key("writer"))).json()
        assert "/tools/sell" not in reader["paths"]
        assert "/tools/sell" in writer["paths"]
        OpenAPIV31SpecValidator(writer).validate()
        assert writer["security"] == [{"bearer": []}]

    with_client(use, guard=guard)


def test_rate_limits_hold() -> None:
    guard = Guard(limits=Limits(per_principal=Rate(1, per=3600)))

    async def use(client: httpx.AsyncClient) -> httpx.Response:
        for _ in range(20):
            answer = await client.post("/tools/add", json={"a": 1})
            if answer.status_code != 200:
                break
        return answer

    answer = with_client(use, guard=guard)
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) >= 1


def test_the_mcp_endpoint_is_beside_it() -> None:
    async def use(client: httpx.AsyncClient) -> int:
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
        headers = {"accept": "application/json, text/event-stream", "mcp-method": "tools/list",
                   "mcp-protocol-version": "2026-07-28"}  # fmt: skip
        return len(
            (await client.post("/mcp", json=message, headers=headers)).json()["result"]["tools"]
        )

    assert with_client(use) == 3


def test_a_server_is_made_from_the_rest_interface_of_another() -> None:
    """Both directions together: MCP to REST to MCP."""

    async def use(client: httpx.AsyncClient) -> Any:
        document = (await client.get("/openapi.json")).json()
        again = Server.from_openapi(document, client=client)
        async with Client(again) as caller:
            return await caller.call("add", {"body": {"a": 1, "b": 2}})

    assert with_client(use).structured == {"result": 3}


def test_the_option_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "dovetail_openapi", None)
    monkeypatch.delitem(sys.modules, "dovetail_openapi.rest")
    file = tmp_path / "shop.py"
    file.write_text("from dovetail import Server\nserver = Server('shop')\n")
    with pytest.raises(SystemExit) as ended:
        main(["run", str(file), "--http=0", "--rest"])
    assert ended.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("dovetail: --rest needs dovetail_openapi")
    assert line.endswith(": pip install dovetail-openapi")

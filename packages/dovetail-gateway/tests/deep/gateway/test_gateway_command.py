"""`dovetail gateway` with real upstreams: a legacy one on stdio, one over HTTP, and a dead one."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from dovetail.auth import KeyFile
from dovetail.client import Client
from dovetail.client.auth import login
from dovetail.client.auth.storage import FileStore
from dovetail.errors import AccessDeniedError, InvalidParamsError
from tests.deep.gateway.processes import OLD_SHOP, Process, start_notes
from tests.driving import eventually
from tests.patience import CAP
from tests.peers.scripted import run
from tests.unit.client.auth.authority import Visitor, fake_authority, make_auth

GATEWAY = """
[server]
name = "team"
instructions = "Shop first."

[guard]
audit = "audit.jsonl"

[upstreams.shop]
command = {python}
args = [{shop}]
env = {{ SHOP_TOKEN = "${{GATEWAY_TEST_TOKEN}}" }}
exclude = ["erase"]
connect_timeout = {cap}

[upstreams.shop.tools.price]
name = "cost"
title = "Cost"
description = "What an item costs."

[upstreams.shop.tools.price.arguments.item]
name = "product"

[upstreams.shop.tools.price.arguments.currency]
value = "EUR"

[upstreams.diary]
url = {notes}
prefix = "notes"
token_env = "GATEWAY_TEST_TOKEN"
connect_timeout = {cap}

[upstreams.diary.tools.write]
hidden = true

[upstreams.dead]
url = "http://127.0.0.1:9/mcp"
"""
TRACE = {"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01", "tracestate": "team=1"}
TOOLS = ["shop_cost", "shop_meta", "shop_token", "notes_look", "notes_meta", "notes_header"]
MODES = ["2025-11-25", "2026-07-28"]


class Site(NamedTuple):
    """A running gateway."""

    gateway: Process
    folder: Path

    def connect(self, mode: str = "auto") -> Client:
        """A client of the gateway."""
        return Client(self.gateway.url, mode=mode, timeout=CAP)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("gateway")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GATEWAY_TEST_TOKEN", "s3cret")
        notes = start_notes(folder)
        given = {
            "python": json.dumps(sys.executable),
            "shop": json.dumps(str(OLD_SHOP)),
            "notes": json.dumps(notes.url),
            "cap": CAP,
        }
        file = folder / "gateway.toml"
        file.write_text(GATEWAY.format(**given))
        gateway = Process(folder / "gateway.log", "gateway", str(file), "--http", "0")
        try:
            yield Site(gateway, folder)
        finally:
            gateway.stop()
            notes.stop()


@pytest.mark.parametrize("mode", MODES)
def test_the_upstreams_are_one_server(site: Site, mode: str) -> None:
    async def scenario() -> None:
        async with site.connect(mode) as client:
            assert client.instructions == "Shop first."
            tools = {tool.name: tool for tool in await client.list_tools()}
            assert list(tools) == TOOLS
            cost = tools["shop_cost"]
            assert cost.description == "What an item costs."
            assert cost.input_schema["properties"] == {"product": {"type": "string"}}
            assert (await client.call("shop_cost", {"product": "tea"})).text == "tea: 3 EUR"
            assert (await client.call("notes_look")).text == "seen"
            assert [each.name for each in await client.list_prompts()] == ["notes_plan"]
            assert (await client.read("note://notes/today")).text == "Buy milk"

    run(scenario())


def test_the_official_client_can_use_it(site: Site) -> None:
    async def scenario() -> None:
        async with (
            asyncio.timeout(CAP),
            streamable_http_client(site.gateway.url) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            assert [tool.name for tool in (await session.list_tools()).tools] == TOOLS
            called: Any = await session.call_tool("shop_cost", {"product": "tea"})
            assert called.content[0].text == "tea: 3 EUR"

    run(scenario())


@pytest.mark.parametrize(
    "name", ["price", "shop_price", "erase", "shop_erase", "notes_write", "diary_look", "look"]
)
def test_what_is_not_listed_cannot_be_called(site: Site, name: str) -> None:
    async def scenario() -> None:
        async with site.connect() as client:
            with pytest.raises(InvalidParamsError):
                await client.call(name, {"item": "tea", "currency": "USD", "text": "x"})
            fixed = await client.call("shop_cost", {"product": "tea", "currency": "USD"})
            assert fixed.is_error

    run(scenario())


def test_secrets_come_from_the_environment(site: Site) -> None:
    async def scenario() -> None:
        async with site.connect() as client:
            assert (await client.call("shop_token")).text == "s3cret"
            assert (await client.call("notes_header")).text == "Bearer s3cret"

    run(scenario())
    assert "s3cret" not in site.gateway.log


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", ["shop_meta", "notes_meta"])
def test_the_trace_of_the_caller_reaches_the_upstream(site: Site, tool: str, mode: str) -> None:
    async def scenario() -> None:
        async with site.connect(mode) as client:
            meta = json.loads((await client.call(tool, meta=TRACE)).text)
            assert {name: meta.get(name) for name in TRACE} == TRACE

    run(scenario())


def test_a_dead_upstream_is_named_and_the_others_go_on(site: Site) -> None:
    async def scenario() -> None:
        async with site.connect() as client:
            for _ in range(3):
                listed = await client.request("tools/list", {})
                assert [tool["name"] for tool in listed["tools"]] == TOOLS
                assert list(listed["_meta"]["dev.dovetail/unavailable"]) == ["dead"]
                result = await client.call("dead_anything")
                assert result.is_error
                assert "The upstream server 'dead' is unavailable" in result.text

    run(scenario())
    assert site.gateway.log.count("'dead'") == 1
    assert "the upstream server 'dead' is unavailable: " in site.gateway.log


def test_calls_are_in_the_audit_log(site: Site) -> None:
    async def scenario() -> None:
        async with site.connect() as client:
            await client.call("notes_look")

    run(scenario())
    lines = [json.loads(line) for line in (site.folder / "audit.jsonl").read_text().splitlines()]
    assert "notes_look" in [line.get("name") for line in lines]


def test_an_upstream_that_goes_and_comes_back_behind_a_guard(tmp_path: Path) -> None:
    _, key = KeyFile(tmp_path / "keys.json").add("anna")
    notes = start_notes(tmp_path)
    file = tmp_path / "gateway.toml"
    shop = {"command": sys.executable, "args": [str(OLD_SHOP)], "connect_timeout": CAP}
    entries = [f"{key} = {json.dumps(value)}" for key, value in shop.items()]
    file.write_text(
        "\n".join(["[upstreams.shop]", *entries, f'[upstreams.notes]\nurl = "{notes.url}"'])
    )
    port = str(urlsplit(notes.url).port)
    words = ("gateway", "--http", "0", "--keys", str(tmp_path / "keys.json"), str(file))
    gateway = Process(tmp_path / "gateway.log", *words)

    async def scenario() -> None:
        nonlocal notes
        with pytest.raises(AccessDeniedError):
            async with Client(gateway.url, timeout=CAP):
                pass
        async with (
            Client(gateway.url, headers={"Authorization": f"Bearer {key}"}, timeout=CAP) as client,
            client.subscribe(tools=True) as changes,
        ):
            # auth.no-passthrough: the credentials of the caller end here
            assert (await client.call("notes_header")).text == "none"
            assert (await client.call("notes_look")).text == "seen"
            notes.stop()
            for _ in range(3):
                lost = await client.call("notes_look")
                assert lost.is_error
                assert "The upstream server 'notes' is unavailable" in lost.text
                assert (await client.call("shop_token")).text == "none"
            await anext(changes)
            notes = start_notes(tmp_path, port)

            # Nobody calls it: the gateway finds out by itself.
            async def is_back() -> bool:
                await asyncio.sleep(0.05)
                return "'notes' is back" in gateway.log

            await eventually(is_back)
            async with asyncio.timeout(CAP):
                await anext(changes)
            assert (await client.call("notes_look")).text == "seen"

    try:
        run(scenario())
        assert gateway.log.count("the upstream server 'notes' is unavailable") == 1
        assert gateway.log.count("the upstream server 'notes' is back") == 1
        assert "'shop'" not in gateway.log
    finally:
        gateway.stop()
        notes.stop()


def test_the_file_of_a_client_over_stdio_in_read_only_mode(tmp_path: Path) -> None:
    shop = {"type": "stdio", "command": sys.executable, "args": [str(OLD_SHOP)]}
    other = {"command": "not-a-program", "disabled": True}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"my shop": shop, "other": other}}))

    async def scenario() -> None:
        words = [sys.executable, "-m", "dovetail", "gateway", str(file)]
        async with Client(words, timeout=CAP) as client:
            assert (await client.call("my_shop_erase")).text == "erased"
        async with Client([*words, "--read-only"], timeout=CAP) as client:
            # The old revision has no annotations, so no tool is known to be read-only.
            assert await client.list_tools() == []
            with pytest.raises(InvalidParamsError):
                await client.call("my_shop_erase")

    run(scenario())


def test_the_stored_login_is_used_for_all_callers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    async def scenario() -> None:
        async with fake_authority() as fake:
            file = tmp_path / "gateway.toml"
            text = (
                f'[upstreams.shop]\nurl = "{fake.url}"\nauth = "login"\nconnect_timeout = {CAP}\n'
            )
            file.write_text(text)
            words = [sys.executable, "-m", "dovetail", "gateway", str(file)]
            async with Client(words, timeout=CAP) as client:
                refused = await client.call("shop_hello")
                assert refused.is_error
                assert f"dovetail login {fake.url}" in refused.text
                # Not the default one: other tests of this process have a keyring of their own.
                await login(fake.url, make_auth(Visitor(), store=FileStore()))
                # The gateway pauses between attempts to connect.
                while (await client.call("shop_hello")).is_error:
                    await asyncio.sleep(0.05)

    run(scenario())


def test_several_workers_serve_a_gateway(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    shop = f"command = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(OLD_SHOP))}]"
    file.write_text(f"[upstreams.shop]\n{shop}\nconnect_timeout = {CAP}\n")
    words = ("gateway", str(file), "--http=0", "--workers=2", "--stateless", "--path=/team")
    gateway = Process(tmp_path / "log", *words)

    async def look() -> None:
        for mode in MODES:
            async with Client(gateway.url, mode=mode, timeout=CAP) as client:
                assert "shop_price" in [tool.name for tool in await client.list_tools()]

    try:
        assert gateway.url.endswith("/team")
        run(look())
    finally:
        gateway.stop()

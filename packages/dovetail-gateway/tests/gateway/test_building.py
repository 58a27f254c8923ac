"""A server made of the settings of a gateway."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dovetail import Client, Options, UsageError
from dovetail.mount import ToolTransform
from dovetail_gateway import (
    GatewayConfig,
    GuardSettings,
    SearchSettings,
    ServerSettings,
    UpstreamEntry,
    build_gateway,
)
from tests.patience import CAP
from tests.peers.scripted import run

OLD_SHOP = Path(__file__).with_name("old_shop.py")
SHOP = UpstreamEntry(
    command=sys.executable,
    args=(str(OLD_SHOP),),
    connect_timeout=CAP,
    include=("e*", "meta"),
    tools={"erase": ToolTransform(name="wipe")},
)


def test_a_gateway_is_a_server_like_any_other() -> None:
    async def scenario() -> None:
        settings = ServerSettings(name="team", title="Team", instructions="Ask.", version="1.2")
        config = GatewayConfig(server=settings, upstreams={"shop": SHOP})
        gateway = build_gateway(config, options=Options(grace=1))
        assert (gateway.name, gateway.version, gateway.options.grace) == ("team", "1.2", 1)
        async with Client(gateway, timeout=CAP) as client:
            assert [tool.name for tool in await client.list_tools()] == ["shop_wipe", "shop_meta"]
            assert (await client.call("shop_wipe")).text == "erased"
            assert client.instructions == "Ask."
        await gateway.close()

    run(scenario())


def test_clients_of_a_gateway_may_search_for_tools() -> None:
    async def scenario() -> None:
        search = SearchSettings(pinned=("shop_meta",), about="Shops.")
        gateway = build_gateway(GatewayConfig(search=search, upstreams={"shop": SHOP}))
        async with Client(gateway, timeout=CAP) as client:
            listed = {tool.name for tool in await client.list_tools()}
            assert listed == {"search_tools", "call_tool", "shop_meta"}
            found = await client.call("call_tool", {"name": "shop_wipe", "arguments": {}})
            assert found.text == "erased"
        await gateway.close()

    run(scenario())


def test_the_guard_of_the_settings_is_that_of_the_server() -> None:
    config = GatewayConfig(upstreams={"shop": SHOP})
    assert build_gateway(config).guard is None
    guarded = GatewayConfig(guard=GuardSettings(read_only=True), upstreams={"shop": SHOP})
    assert build_gateway(guarded).guard is not None


def test_settings_that_do_not_fit_are_refused() -> None:
    twice = {"a": SHOP, "b": UpstreamEntry(command="x", prefix="a")}
    with pytest.raises(UsageError, match="some names would also belong to"):
        build_gateway(GatewayConfig(upstreams=twice))


_HANGS = """
import asyncio
from dovetail import Server
server = Server("hangs")

@server.tool
async def hang() -> str:
    await asyncio.Event().wait()
    return ""

server.run()
"""


def test_a_call_ends_after_the_time_limit_of_its_upstream(tmp_path: Path) -> None:
    file = tmp_path / "hangs.py"
    file.write_text(_HANGS)

    async def scenario() -> None:
        entry = UpstreamEntry(
            command=sys.executable, args=(str(file),), connect_timeout=CAP, timeout=0.2
        )
        gateway = build_gateway(GatewayConfig(upstreams={"shop": entry}))
        async with Client(gateway, timeout=CAP) as client:
            await client.list_tools()
            result = await client.call("shop_hang")
            assert result.is_error
            assert "no answer to tools/call within 0.2 s" in result.text
        await gateway.close()

    run(scenario())

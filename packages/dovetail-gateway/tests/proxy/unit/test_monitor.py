"""An eager proxy connects by itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail import Client, Proxy, Server
from dovetail.errors import TransportError
from dovetail_gateway import proxy
from tests.driving import eventually
from tests.patience import CAP
from tests.peers.scripted import DISCOVERED, ScriptedServer, run


class Absent:
    """A server that can be there or not."""

    def __init__(self) -> None:
        self.is_there = False
        self.attempts = 0
        self.server = ScriptedServer({"server/discover": DISCOVERED})

    def connect(self, send: Any) -> Any:
        self.attempts += 1
        if not self.is_there:
            raise TransportError("not there")
        return self.server.connect(send)


def test_it_connects_at_start_and_again_while_the_upstream_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(proxy, "_FIRST_PAUSE", 0.01)

    async def scenario() -> None:
        absent = Absent()
        proxy = Proxy(absent, name="shop", eager=True, connect_timeout=CAP)
        announced: list[Any] = []
        proxy.engine.bus.subscribe(announced.append)
        await proxy.start()

        async def tried() -> bool:
            await asyncio.sleep(0.01)
            return absent.attempts > 2

        await eventually(tried)
        announced.clear()
        absent.is_there = True

        async def announces() -> bool:
            await asyncio.sleep(0.01)
            return bool(announced)

        # Lists have lacked its entries, so they have changed.
        await eventually(announces)
        attempts = absent.attempts
        await asyncio.sleep(0.1)
        assert absent.attempts == attempts
        await proxy.close()

    run(scenario())
    assert caplog.messages == [
        "the upstream server 'shop' is unavailable: not there",
        "the upstream server 'shop' is back",
    ]


def test_closing_ends_the_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "_FIRST_PAUSE", 0.01)

    async def scenario() -> None:
        absent = Absent()
        proxy = Proxy(absent, name="shop", eager=True)
        await proxy.start()
        await asyncio.sleep(0.05)
        await proxy.close()
        attempts = absent.attempts
        await asyncio.sleep(0.1)
        assert absent.attempts == attempts

    run(scenario())


def test_other_proxies_connect_on_demand() -> None:
    async def scenario() -> None:
        absent = Absent()
        proxy = Proxy(absent, name="shop")
        await proxy.start()
        await asyncio.sleep(0.01)
        assert absent.attempts == 0
        await proxy.close()

    run(scenario())


def test_a_list_that_is_not_answered_does_not_delay_others_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(proxy, "_FIRST_PAUSE", CAP)

    async def scenario() -> None:
        silent: Any = ScriptedServer({"server/discover": DISCOVERED, "tools/list": None})
        outer = Server("outer")
        outer.tool("own")(lambda: "own")
        outer.mount(Proxy(silent, name="shop", eager=True, connect_timeout=0.5), "shop")
        async with Client(outer, timeout=CAP) as client:
            for _ in range(3):
                listed = await client.request("tools/list", {})
                assert [tool["name"] for tool in listed["tools"]] == ["own"]
                reason = listed["_meta"]["dev.dovetail/unavailable"]["shop"]
                assert "'shop' is unavailable: " in reason
        asked = [message.get("method") for message in silent.heard]
        assert asked.count("tools/list") <= 1
        await outer.close()

    run(scenario())
    assert len([message for message in caplog.messages if "is unavailable" in message]) == 1

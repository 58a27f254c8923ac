"""A mounted server that is unavailable is not logged by each list."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Client, Proxy, Server
from dovetail.errors import RpcError, TransportError
from tests.peers.scripted import DISCOVERED, ScriptedServer, run


class Gone:
    """A server that nobody can connect to."""

    def connect(self, send: Any) -> Any:
        raise TransportError("gone")


def list_mounted(upstream: Any) -> None:
    async def scenario() -> None:
        outer = Server("outer")
        outer.mount(Proxy(upstream, name="shop"), "shop")
        async with Client(outer) as client:
            for _ in range(2):
                listed = await client.request("tools/list", {})
                assert "shop" in listed["_meta"]["dev.dovetail/unavailable"]
        await outer.close()

    run(scenario())


def test_a_server_that_is_unavailable_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    list_mounted(Gone())
    assert caplog.messages == ["the upstream server 'shop' is unavailable: gone"]


def test_other_errors_are_logged_by_the_list(caplog: pytest.LogCaptureFixture) -> None:
    list_mounted(ScriptedServer({"server/discover": DISCOVERED, "tools/list": RpcError("no")}))
    assert any("tools are missing" in message for message in caplog.messages)

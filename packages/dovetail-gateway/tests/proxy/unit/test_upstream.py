"""Connections to one upstream: shared, kept apart, replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dovetail.client.channel import Channel
from dovetail.client.targets import MemoryChannel
from dovetail.core.principal import Principal
from dovetail.errors import AccessDeniedError, LimitError, MethodNotFoundError, TransportError
from dovetail_gateway.connection import UpstreamConnection
from dovetail_gateway.failures import UpstreamError
from dovetail_gateway.forwarding import Forwarding
from dovetail_gateway.upstream import ProxyCaller, Upstream, UpstreamSettings
from tests.peers.scripted import DISCOVERED, INITIALIZED, ScriptedServer, run
from tests.unit.fakes import make_call

ADA, BOB = Principal("ada"), Principal("bob")
SCRIPTS: dict[str, Any] = {
    "modern": {"server/discover": DISCOVERED},
    "legacy": {
        "server/discover": MethodNotFoundError("what?"),
        "initialize": INITIALIZED,
        "logging/setLevel": {},
    },
}


class Shop:
    """An upstream that can be unavailable."""

    def __init__(self, era: str = "modern", **settings: Any) -> None:
        self.server = ScriptedServer(SCRIPTS[era])
        self.problem: Exception | None = None
        self.opened: list[Any] = []
        self.upstream = Upstream(
            UpstreamSettings("shop", self.make_channel, ("p", "1"), **settings),
            self.opened.append,
            lambda _: None,
        )

    async def make_channel(self, principal: Principal | None) -> Callable[[], Channel]:
        if self.problem is not None:
            raise self.problem
        return lambda: MemoryChannel(self.server)

    async def acquire(
        self, principal: Principal | None = None, key: Any = "k", **given: Any
    ) -> UpstreamConnection:
        return await self.upstream.acquire(ProxyCaller(principal, key, given))


def test_callers_share_a_stateless_upstream() -> None:
    async def scenario() -> None:
        shop = Shop()
        found = await asyncio.gather(*(shop.acquire(each) for each in (None, ADA, BOB)))
        again = await shop.acquire(ADA, "other", roots={})
        assert {id(each) for each in (*found, again)} <= {id(each) for each in shop.opened}
        assert await shop.acquire(BOB) is await shop.acquire(ADA)
        await shop.upstream.close()

    run(scenario())


def test_principals_with_credentials_have_connections_of_their_own() -> None:
    async def scenario() -> None:
        shop = Shop(per_principal=True)
        assert shop.upstream.is_per_principal
        assert await shop.acquire(ADA) is not await shop.acquire(BOB)
        assert await shop.acquire(ADA, "other") is await shop.acquire(ADA)
        await shop.upstream.close()

    run(scenario())


def test_sessions_are_kept_apart_by_principal_and_by_what_can_be_asked() -> None:
    async def scenario() -> None:
        shop = Shop("legacy")
        first = await shop.acquire(ADA)
        assert await shop.acquire(BOB) is not first
        assert await shop.acquire(ADA, roots={}) is not first
        assert await shop.acquire(ADA) is first
        await shop.upstream.close()

    run(scenario())


def test_a_busy_session_is_not_given_to_another_caller() -> None:
    async def scenario() -> None:
        shop = Shop("legacy")
        first = await shop.acquire(key="one")
        forwarding = Forwarding(make_call(), "one", None, None)  # type: ignore[arg-type]
        call = asyncio.ensure_future(first.exchange(forwarding, "tools/call", {}))
        await shop.server.until_method("tools/call")
        assert await shop.acquire(key="one") is first
        second = await shop.acquire(key="two")
        assert second is not first
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        # Each goes on with its own.
        assert await shop.acquire(key="two") is second
        assert await shop.acquire(key="one") is first
        await shop.upstream.close()

    run(scenario())


def test_idle_connections_make_room_and_busy_ones_do_not() -> None:
    async def scenario() -> None:
        shop = Shop("legacy", max_connections=1, timeout=0.05)
        first = await shop.acquire(ADA)
        second = await shop.acquire(BOB)
        assert not first.is_open or first is not second
        forwarding = Forwarding(make_call(), "k", None, None)  # type: ignore[arg-type]
        call = asyncio.ensure_future(second.exchange(forwarding, "tools/call", {}))
        await shop.server.until_method("tools/call")
        with pytest.raises(LimitError, match="All connections to the upstream server 'shop'"):
            await shop.acquire(ADA)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await shop.upstream.close()

    run(scenario())


def test_an_upstream_that_is_unavailable_is_named_and_tried_again() -> None:
    async def scenario() -> None:
        shop = Shop()
        shop.problem = TransportError("nobody there")
        for _ in range(3):
            with pytest.raises(UpstreamError, match="'shop' is unavailable: nobody there"):
                await shop.acquire()
        shop.problem = None
        while True:
            try:
                await shop.acquire()
                break
            except UpstreamError:
                await asyncio.sleep(0.01)
        await shop.upstream.close()

    run(scenario())


def test_a_caller_without_access_does_not_stop_the_others() -> None:
    async def scenario() -> None:
        shop = Shop(per_principal=True)
        shop.problem = AccessDeniedError("401")
        with pytest.raises(UpstreamError, match="401"):
            await shop.acquire(ADA)
        shop.problem = None
        await shop.acquire(BOB)
        await shop.upstream.close()

    run(scenario())


def test_an_upstream_may_change_its_era() -> None:
    async def scenario() -> None:
        shop = Shop()
        first = await shop.acquire()
        shop.upstream.discard(first)
        shop.server = ScriptedServer(SCRIPTS["legacy"])
        second = await shop.acquire()
        assert second.is_legacy
        assert not shop.upstream.is_opening
        await shop.upstream.close()

    run(scenario())


def test_a_closed_connection_is_replaced() -> None:
    async def scenario() -> None:
        shop = Shop()
        first = await shop.acquire()
        first.era.rpc.closed(TransportError("gone"))
        assert await shop.acquire() is not first
        shop.upstream.release()
        await shop.upstream.close()

    run(scenario())

"""Connections to one upstream: shared, kept apart, replaced."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
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
from tests.patience import CAP
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


@dataclass(frozen=True)
class _Maker:
    """Makes channels; equal if the credentials are."""

    shop: Shop
    credentials: Any

    def __call__(self) -> Channel:
        return MemoryChannel(self.shop.make_server())


class Shop:
    """An upstream that can be unavailable."""

    def __init__(self, era: str = "modern", **settings: Any) -> None:
        self.server = ScriptedServer(SCRIPTS[era])
        self.problem: Exception | None = None
        self.opened: list[Any] = []
        # What the function for credentials returns, and how often it was asked.
        self.credentials: Any = None
        self.asked = 0
        # Whether each connection has a server of its own, as processes have.
        self.has_processes = False
        self.upstream = Upstream(
            UpstreamSettings("shop", self.make_channel, ("p", "1"), **settings),
            self.opened.append,
            lambda _: None,
        )

    async def make_channel(self, principal: Principal | None) -> Callable[[], Channel]:
        if self.problem is not None:
            raise self.problem
        self.asked += 1
        return _Maker(self, self.credentials)

    def make_server(self) -> ScriptedServer:
        return ScriptedServer(self.server.script) if self.has_processes else self.server

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


async def occupy(connection: UpstreamConnection, key: Any) -> asyncio.Task[Any]:
    """Start a call that the upstream does not answer."""
    forwarding = Forwarding(make_call(), key, None, None)  # type: ignore[arg-type]
    call = asyncio.create_task(connection.exchange(forwarding, "tools/call", {}))
    await settle()
    assert not connection.is_idle
    return call


async def settle() -> None:
    for _ in range(200):
        await asyncio.sleep(0)


async def end(*calls: asyncio.Future[Any]) -> None:
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


def test_who_has_the_fewest_connections_gets_the_next_one() -> None:
    async def scenario() -> None:
        shop = Shop("legacy", max_connections=4, timeout=CAP)
        shop.has_processes = True
        calls = {}
        for number, who in enumerate((BOB, BOB, ADA, Principal("dan"))):
            connection = await shop.acquire(who, number)
            calls[number] = await occupy(connection, number)
        # Ada was there first, and has a connection.
        ada = asyncio.create_task(shop.acquire(ADA, "second"))
        await settle()
        eve = asyncio.create_task(shop.acquire(Principal("eve"), "first"))
        await settle()
        await end(calls[0])
        shop.upstream.release()
        async with asyncio.timeout(CAP):
            await eve
        assert not ada.done()
        await end(ada, *calls.values())
        await shop.upstream.close()

    run(scenario())


def test_credentials_belong_to_the_whole_principal() -> None:
    async def scenario() -> None:
        shop = Shop(per_principal=True)
        callers = [
            Principal("ada"),
            Principal("ada", ["admin"]),
            Principal("ada", claims={"tenant": "one"}),
            Principal("ada", claims={"tenant": "two"}),
            Principal("ada", trusted=True),
        ]
        found = [await shop.acquire(each) for each in callers]
        assert len(set(found)) == len(callers)
        same = Principal("ada", claims={"tenant": "two"})
        assert await shop.acquire(same) is found[3]
        await shop.upstream.close()

    run(scenario())


def test_a_connection_ends_with_the_token_of_its_principal() -> None:
    async def scenario() -> None:
        shop = Shop(per_principal=True)
        ada = Principal("ada", claims={"exp": time.time() - 59.0})
        connection = await shop.acquire(ada)
        async with asyncio.timeout(CAP):
            while connection.is_open:
                await asyncio.sleep(0.01)
        with pytest.raises(UpstreamError, match="the token of the caller has expired"):
            await shop.acquire(ada)
        await shop.upstream.close()

    run(scenario())


def test_a_call_in_flight_ends_before_its_expired_connection() -> None:
    async def scenario() -> None:
        shop = Shop(per_principal=True)
        ada = Principal("ada", claims={"exp": time.time() - 59.0})
        connection = await shop.acquire(ada)
        call = await occupy(connection, "k")
        async with asyncio.timeout(CAP):
            while not connection.is_retired:
                await asyncio.sleep(0.01)
        assert connection.is_open
        await end(call)
        shop.upstream.release()
        async with asyncio.timeout(CAP):
            while connection.is_open:
                await asyncio.sleep(0.01)
        await shop.upstream.close()

    run(scenario())


def test_credentials_that_change_or_are_withdrawn_are_used_no_more() -> None:
    async def scenario() -> None:
        shop = Shop(per_principal=True)
        shop.credentials = "old"
        first = await shop.acquire(ADA)
        assert await shop.acquire(ADA) is first
        assert shop.asked == 1
        first.checked_at = -1e6
        assert await shop.acquire(ADA) is first
        assert shop.asked == 2
        shop.credentials = "new"
        first.checked_at = -1e6
        second = await shop.acquire(ADA)
        assert second is not first
        assert await shop.acquire(ADA) is second
        shop.problem = KeyError("ada has gone")
        second.checked_at = -1e6
        with pytest.raises(KeyError):
            await shop.acquire(ADA)
        async with asyncio.timeout(CAP):
            while first.is_open or second.is_open:
                await asyncio.sleep(0)
        await shop.upstream.close()

    run(scenario())


def test_a_call_asks_first_whether_an_unavailable_upstream_answers() -> None:
    async def scenario() -> None:
        shop = Shop(timeout=CAP)
        connection = await shop.acquire()
        shop.server.script = {}
        shop.upstream.presence.lost(TimeoutError("no answer to a list"))
        both = await asyncio.gather(shop.acquire(), shop.acquire(), return_exceptions=True)
        assert ["is unavailable: no answer to a list" in str(each) for each in both] == [True] * 2
        # Both have waited for the same request.
        assert shop.server.methods().count("server/discover") == 2
        await shop.upstream.close()
        assert not connection.is_open

    run(scenario())


def test_a_call_is_sent_when_an_unavailable_upstream_answers_again() -> None:
    async def scenario() -> None:
        shop = Shop(timeout=CAP)
        connection = await shop.acquire()
        shop.upstream.presence.lost(TimeoutError("no answer to a list"))
        assert await shop.acquire() is connection
        assert not shop.upstream.presence.is_unavailable
        await shop.upstream.close()

    run(scenario())

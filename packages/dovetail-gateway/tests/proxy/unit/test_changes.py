"""Subscriptions at the upstream, and announcements."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail.client.targets import MemoryChannel
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.errors import ResourceNotFoundError, TransportError
from dovetail_gateway.changes import ChangeRelay
from dovetail_gateway.upstream import ProxyCaller, Upstream, UpstreamSettings
from tests.patience import pass_time
from tests.peers.scripted import INITIALIZED, ScriptedServer, run

CHANGED = ChangeEvent(ChangeKind.RESOURCE, "a://b", is_local=True)
ADA, BOB = ProxyCaller(None, "ada", {}), ProxyCaller(None, "bob", {})


class Shop:
    """A legacy upstream and what is announced of it."""

    def __init__(self) -> None:
        script: dict[str, Any] = {
            "initialize": INITIALIZED,
            "logging/setLevel": {},
            "resources/subscribe": {},
            "resources/unsubscribe": {},
        }
        self.server = ScriptedServer(script)
        self.published: list[ChangeEvent] = []

        async def make(_: Any) -> Any:
            return lambda: MemoryChannel(self.server)

        settings = UpstreamSettings("shop", make, ("p", "1"), mode="legacy")
        self.upstream = Upstream(settings, lambda c: self.relay.attach(c), lambda _: None)
        self.relay = ChangeRelay(self.upstream, self.published.append)

    def heard(self, method: str) -> int:
        return self.server.methods().count(f"resources/{method}")

    async def close(self) -> None:
        await self.relay.close()
        await self.upstream.close()


def test_callers_share_the_subscription_to_a_resource() -> None:
    async def scenario() -> None:
        shop = Shop()
        await shop.relay.watch(ADA, "a://b")
        await shop.relay.watch(BOB, "a://b")
        assert shop.heard("subscribe") == 1
        shop.server.tell("notifications/resources/updated", {"uri": "a://b"})
        assert shop.published == [CHANGED]
        await shop.relay.unwatch("ada", "a://b")
        assert shop.heard("unsubscribe") == 0
        shop.relay.drop("bob")
        await shop.server.until_method("resources/unsubscribe")
        shop.relay.drop("nobody")
        await shop.close()
        shop.relay.drop("bob")

    run(scenario())


def test_a_resource_that_does_not_exist_is_not_watched() -> None:
    async def scenario() -> None:
        shop = Shop()
        shop.server.script = {
            **shop.server.script,
            "resources/subscribe": ResourceNotFoundError("a://b"),
        }
        with pytest.raises(ResourceNotFoundError):
            await shop.relay.watch(ADA, "a://b")
        await shop.relay.unwatch("ada")
        assert shop.heard("unsubscribe") == 0
        await shop.close()

    run(scenario())


def test_equal_changes_are_announced_at_most_once_in_a_while() -> None:
    async def scenario() -> None:
        shop = Shop()
        await shop.upstream.acquire(ADA)
        for _ in range(100):
            shop.relay.announce_lists()
        assert len(shop.published) == 3
        pass_time(2)
        while len(shop.published) < 6:
            await asyncio.sleep(0.01)
        pass_time(4)
        await asyncio.sleep(0.05)
        assert len(shop.published) == 6
        await shop.close()

    run(scenario())


def test_a_lost_subscription_is_opened_again() -> None:
    async def scenario() -> None:
        shop = Shop()
        await shop.relay.watch(ADA, "a://b")
        connection = await shop.upstream.acquire(ADA)
        connection.era.rpc.closed(TransportError("gone"))
        while CHANGED not in shop.published:
            await asyncio.sleep(0.01)
        assert shop.heard("subscribe") == 2
        assert shop.server.connections == 2
        await shop.close()

    run(scenario())

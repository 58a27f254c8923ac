"""The interface of session state stores: a server uses the store of its options."""

from __future__ import annotations

import asyncio

from dovetail import Client, Context, Options, Server
from dovetail.client.local_caller import LocalCaller
from dovetail.core.session_states import SessionStateStore
from dovetail.stores.session_states import MemorySessionStates


class Recording:
    """A store that could as well be a database: it records what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self._inner: SessionStateStore = MemorySessionStates()

    async def get(self, owner: str, key: str) -> bytes | None:
        self.asked.append(("get", owner, key))
        return await self._inner.get(owner, key)

    async def set(
        self, owner: str, key: str, value: bytes, *, lifetime: float | None, max_bytes: int
    ) -> None:
        self.asked.append(("set", owner, key, value, lifetime, max_bytes))
        await self._inner.set(owner, key, value, lifetime=lifetime, max_bytes=max_bytes)

    async def delete(self, owner: str, key: str) -> None:
        self.asked.append(("delete", owner, key))
        await self._inner.delete(owner, key)

    def forget(self, owner: str) -> None:
        self.asked.append(("forget", owner))
        self._inner.forget(owner)


async def visit(ctx: Context) -> int:
    count: int = await ctx.session_state.get("visits", 0) + 1
    await ctx.session_state.set("visits", count)
    await ctx.session_state.delete("other")
    return count


def test_a_server_uses_the_store_of_its_options() -> None:
    store = Recording()
    options = Options(
        session_states=store, session_state_lifetime=60.0, max_session_state_bytes=1000
    )
    server = Server("shop", options=options)

    server.tools.add(visit)

    async def run() -> None:
        async with Client(LocalCaller(server, "anna"), mode="modern") as client:
            assert (await client.call("visit")).data == 1
            assert (await client.call("visit")).data == 2

        async with Client(server, mode="legacy") as client:
            assert (await client.call("visit")).data == 1

    asyncio.run(run())
    assert store.asked[:3] == [
        ("get", "principal:anna", "visits"),
        ("set", "principal:anna", "visits", b"1", 60.0, 1000),
        ("delete", "principal:anna", "other"),
    ]
    # The values of a session end with it.
    _, session, *_ = store.asked[-2]
    assert ("set", session, "visits", b"1", None, 1000) in store.asked
    assert store.asked[-1] == ("forget", session)


def test_the_values_of_a_mounted_server_end_with_the_session_too() -> None:
    store = Recording()
    shop = Server("shop", options=Options(session_states=store))
    shop.tools.add(visit)
    mall = Server("mall")
    mall.tools.add(visit)
    mall.mount(shop, "shop")

    async def run() -> None:
        async with Client(mall, mode="legacy") as client:
            # Each server has its own values.
            assert (await client.call("shop_visit")).data == 1
            assert (await client.call("visit")).data == 1
            assert (await client.call("shop_visit")).data == 2

    asyncio.run(run())
    assert store.asked[-1] == ("forget", store.asked[0][1])


def test_the_error_of_a_full_store_reaches_the_client() -> None:
    server = Server("shop", options=Options(max_session_state_bytes=1000))

    @server.tool
    async def keep(size: int, ctx: Context) -> None:
        await ctx.session_state.set("it", "x" * size)

    async def run() -> None:
        async with Client(LocalCaller(server, "anna")) as client:
            assert not (await client.call("keep", {"size": 800})).is_error
            refused = await client.call("keep", {"size": 1000})
            assert refused.is_error
            assert "over its limit of 1,000 bytes" in refused.text

    asyncio.run(run())

"""Session state is in the backend of the options."""

from __future__ import annotations

import asyncio

from dovetail import Client, Context, Options, Server
from dovetail.client.targets import LocalCaller
from dovetail.state import Backend, MemoryBackend


async def visit(ctx: Context) -> int:
    count: int = await ctx.session_state.get("visits", 0) + 1
    await ctx.session_state.set("visits", count)
    await ctx.session_state.delete("other")
    return count


async def stored(backend: Backend) -> list[str]:
    return [key.rpartition("/")[2] async for key, _ in backend.scan("")]


def test_a_server_uses_the_backend_of_its_options() -> None:
    backend = MemoryBackend()
    server = Server("shop", options=Options(state=backend))
    server.tools.add(visit)

    async def run() -> None:
        async with Client(LocalCaller(server, "anna"), mode="modern") as client:
            assert (await client.call("visit")).data == 1
            assert (await client.call("visit")).data == 2
        assert await stored(backend) == ["principal:anna"]
        async with Client(server, mode="legacy") as client:
            assert (await client.call("visit")).data == 1
            assert len(await stored(backend)) == 2
        # The values of a session end with it.
        while await stored(backend) != ["principal:anna"]:
            await asyncio.sleep(0)

    asyncio.run(run())


def test_the_values_of_a_mounted_server_end_with_the_session_too() -> None:
    backend = MemoryBackend()
    shop = Server("shop", options=Options(state=backend))
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
            assert len(await stored(backend)) == 1
        while await stored(backend):
            await asyncio.sleep(0)

    asyncio.run(run())


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

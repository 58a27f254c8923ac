"""`ctx.session_state` over two processes."""

from __future__ import annotations

from dovetail import Client, Context, Options, Server
from dovetail.client.targets import LocalCaller
from tests.cluster.shop import STATE_KEY
from tests.unit.fakes import drive


def make_server(url: str) -> Server:
    server = Server("shop", options=Options(state=url, state_keys=[STATE_KEY]))

    @server.tool
    async def add(item: str, ctx: Context) -> list[str]:
        items = [*await ctx.session_state.get("items", []), item]
        await ctx.session_state.set("items", items)
        return items

    return server


def test_values_of_a_principal_are_seen_by_all_processes(cluster_url: str) -> None:
    async def run() -> None:
        servers = [make_server(cluster_url) for _ in range(2)]
        for number, server in enumerate(servers):
            async with Client(LocalCaller(server, "ada")) as client:
                answer = await client.call("add", {"item": str(number)})
                assert answer.data == ["0", "1"][: number + 1]
        async with Client(LocalCaller(servers[0], "eve")) as client:
            assert (await client.call("add", {"item": "own"})).data == ["own"]
        for server in servers:
            await server.close()

    drive(run())

"""`ctx.session_state` over every transport, in both eras."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from dovetail import Client, Context, Options, Server
from dovetail.auth import ApiKeys, Guard
from dovetail.auth.api_keys import KeyFile
from dovetail.client.targets import LocalCaller
from dovetail.transports import serve_http
from tests.patience import CAP

ERAS = ("2025-11-25", "2026-07-28")


def make_server(**options: Any) -> Server:
    server = Server("shop", options=Options(**options))

    @server.tool
    async def add(item: str, ctx: Context) -> list[str]:
        items = [*await ctx.session_state.get("cart", []), item]
        await ctx.session_state.set("cart", items)
        return items

    @server.tool
    async def clear(ctx: Context) -> bool:
        await ctx.session_state.delete("cart")
        return await ctx.session_state.get("cart") is None

    @server.tool
    async def keep(ctx: Context) -> None:
        await ctx.session_state.set("it", object())

    @server.tool
    def plain(ctx: Context) -> None:
        ctx.session_state.get("cart")  # type: ignore[unused-coroutine]

    return server


async def add(client: Client, item: str) -> list[str]:
    result = await client.call("add", {"item": item})
    assert not result.is_error, result.text
    items: list[str] = result.data
    return items


def test_a_principal_has_its_values_in_both_eras_and_connections() -> None:
    server = make_server()

    async def run() -> None:
        expected = []
        for number, mode in enumerate((*ERAS, *ERAS)):
            async with Client(LocalCaller(server, "anna"), mode=mode) as client:
                expected.append(f"{number}")
                assert await add(client, f"{number}") == expected
        async with Client(LocalCaller(server, "bert")) as client:
            assert await add(client, "own") == ["own"]
            assert (await client.call("clear")).data is True
            assert await add(client, "new") == ["new"]

    asyncio.run(run())


def test_an_anonymous_legacy_client_has_them_until_its_session_ends() -> None:
    server = make_server()

    async def run() -> None:
        async with (
            Client(server, mode="2025-11-25") as one,
            Client(server, mode="2025-06-18") as two,
        ):
            assert await add(one, "a") == ["a"]
            assert await add(two, "b") == ["b"]
            assert await add(one, "c") == ["a", "c"]
        async with Client(server, mode="2025-11-25") as again:
            assert await add(again, "d") == ["d"]

    asyncio.run(run())


def test_an_anonymous_modern_call_is_told_why_not() -> None:
    async def run() -> None:
        async with Client(make_server(), mode="2026-07-28") as client:
            result = await client.call("add", {"item": "a"})
            assert result.is_error
            assert result.text == (
                "Session state needs an authenticated caller here: requests of protocol revision "
                "2026-07-28 have no session, so the requests of anonymous callers cannot be told "
                "apart."
            )

    asyncio.run(run())


@pytest.mark.parametrize(
    ("tool", "told"), [("keep", "must be JSON"), ("plain", "calls ctx.session_state.get(), which")]
)
def test_misuse_is_reported(tool: str, told: str, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with Client(LocalCaller(make_server(), "anna")) as client:
            assert (await client.call(tool)).is_error

    asyncio.run(run())
    assert told in caplog.text


def test_over_http_sessions_and_principals_are_kept_apart(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    tokens = [keys.add(name)[1] for name in ("anna", "bert")]

    async def run(guard: Guard | None, work: Any, **options: Any) -> None:
        server = make_server()
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(
            serve_http(server, port=0, on_ready=ready.set_result, guard=guard, **options)
        )
        async with asyncio.timeout(CAP):
            await work(f"http://127.0.0.1:{await ready}/mcp")
            serving.cancel()
            await asyncio.wait([serving])

    async def with_keys(url: str) -> None:
        for token, name in zip(tokens, ("a", "b"), strict=True):
            headers = {"Authorization": f"Bearer {token}"}
            for count, mode in enumerate(ERAS, 1):
                async with Client(url, mode=mode, headers=headers, timeout=CAP) as client:
                    assert await add(client, name) == [name] * count

    async def anonymous(url: str) -> None:
        for _ in range(2):
            async with Client(url, mode="2025-11-25", timeout=CAP) as client:
                assert await add(client, "x") == ["x"]
                assert await add(client, "y") == ["x", "y"]
        async with Client(url, mode="2026-07-28", timeout=CAP) as client:
            assert (await client.call("add", {"item": "x"})).is_error

    async def stateless(url: str) -> None:
        async with Client(url, mode="2025-11-25", timeout=CAP) as client:
            result = await client.call("add", {"item": "x"})
            assert "this server keeps no sessions" in result.text

    asyncio.run(run(Guard(ApiKeys(keys.path)), with_keys))
    asyncio.run(run(None, anonymous))
    asyncio.run(run(None, stateless, stateless=True))


PROGRAM = """
from dovetail import Context, Server

server = Server("shop")


@server.tool
async def add(item: str, ctx: Context) -> list[str]:
    items = [*await ctx.session_state.get("cart", []), item]
    await ctx.session_state.set("cart", items)
    return items
"""


@pytest.mark.parametrize("mode", ERAS)
def test_on_stdio_the_local_user_has_values(tmp_path: Path, mode: str) -> None:
    file = tmp_path / "shop.py"
    file.write_text(PROGRAM, "utf-8")

    async def run() -> None:
        command = [sys.executable, "-m", "dovetail", "run", str(file)]
        async with Client(command, mode=mode, timeout=CAP) as client:
            assert await add(client, "a") == ["a"]
            assert await add(client, "b") == ["a", "b"]

    asyncio.run(run())

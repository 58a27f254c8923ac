"""Redirects, followed only within the origin with the same method and body; reused connections."""

from __future__ import annotations

import pytest

from dovetail.client import Client
from dovetail.errors import PeerError
from dovetail.net.addresses import parse_url
from dovetail.net.http_pool import HttpPool
from tests.peers.scripted import run
from tests.unit.client.fake_http import Heard, Serve, Wire, fake_http, modern


def moving(status: int, serve: Serve, location: str = "/mcp/") -> Serve:
    async def move(heard: Heard, wire: Wire) -> None:
        if heard.target == "/mcp":
            await wire.respond(status, b"Moved", "text/plain", Location=location)
        else:
            await serve(heard, wire)

    return move


async def _no_tools(heard: Heard, wire: Wire) -> None:
    await wire.result(heard, {"tools": [], "resultType": "complete"})


def list_tools(serve: Serve) -> list[Heard]:
    async def use() -> list[Heard]:
        async with fake_http(serve) as fake:
            headers = {"Authorization": "Bearer x"}
            async with Client(fake.url, mode="modern", headers=headers) as client:
                assert await client.list_tools() == []
            return fake.heard

    heard: list[Heard] = run(use())
    return heard


def test_a_redirect_within_the_origin_keeps_the_request() -> None:
    heard = list_tools(moving(307, modern({"tools/list": _no_tools})))
    assert [(one.target, one.method) for one in heard] == [
        ("/mcp", "server/discover"),
        ("/mcp/", "server/discover"),
        ("/mcp", "tools/list"),
        ("/mcp/", "tools/list"),
    ]
    assert heard[0].message == heard[1].message
    assert heard[0].headers == heard[1].headers


def test_a_permanent_redirect_is_remembered() -> None:
    heard = list_tools(moving(308, modern({"tools/list": _no_tools})))
    assert [one.target for one in heard] == ["/mcp", "/mcp/", "/mcp/"]


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_changes_the_method_is_an_error(status: int) -> None:
    with pytest.raises(PeerError, match="it has moved: use /mcp/"):
        list_tools(moving(status, modern({})))


@pytest.mark.parametrize("location", ["http://localhost:1/mcp/", "https://127.0.0.1/mcp/"])
def test_a_redirect_to_another_origin_is_an_error(location: str) -> None:
    with pytest.raises(PeerError, match=f"it has moved: use {location}"):
        list_tools(moving(308, modern({}), location))


def test_a_redirect_without_a_location_is_an_error() -> None:
    async def serve(heard: Heard, wire: Wire) -> None:
        await wire.respond(307, kind="")

    with pytest.raises(PeerError, match="307 Temporary Redirect"):
        list_tools(serve)


def test_endless_redirects_are_an_error() -> None:
    async def serve(heard: Heard, wire: Wire) -> None:
        await wire.respond(307, kind="", Location=heard.target + "/")

    async def use() -> int:
        async with fake_http(serve) as fake:
            pool = HttpPool(parse_url(fake.url))
            with pytest.raises(PeerError, match="redirects more than 3 times"):
                async with pool.exchange("POST", [], b"{}"):
                    pass
            await pool.close()
            return len(fake.heard)

    assert run(use()) == 4


def test_many_heads_on_one_connection_arrive_as_they_were_sent() -> None:
    async def serve(heard: Heard, wire: Wire) -> None:
        await wire.respond(200, b"{}")

    async def use() -> list[str]:
        async with fake_http(serve) as fake:
            pool = HttpPool(parse_url(fake.url))
            # More than a connection keeps, and each of them twice.
            for number in [*range(40), *range(40)]:
                async with pool.exchange("POST", [("X-Number", str(number))], b"{}") as response:
                    assert await response.read(100) == b"{}"
            await pool.close()
            return [heard.headers["x-number"] for heard in fake.heard]

    numbers = [str(number) for number in range(40)]
    assert run(use()) == [*numbers, *numbers]

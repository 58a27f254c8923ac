"""The health pages say whether a process lives and can serve, and give nothing away."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from dovetail import Options, RouteRequest, Server
from dovetail.auth import Guard, OAuth
from dovetail.runtime.engine import HEALTH_PATHS, find_health_page
from dovetail.transports.wrappers import PathRouter
from tests.unit.talk import run

KEYS = [b"k" * 32]


def get(app: Any, *paths: str, method: str = "GET") -> list[httpx.Response]:
    async def play() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        # A prober knows the address of the machine, not the names that the server accepts.
        async with httpx.AsyncClient(transport=transport, base_url="http://10.1.2.3") as client:
            return [await client.request(method, path) for path in paths]

    return run(play())


def test_there_are_no_pages_unless_they_are_wanted() -> None:
    for response in get(Server("s").http_app(), *HEALTH_PATHS):
        assert response.status_code == 404


def test_both_pages_need_no_credentials_and_no_host() -> None:
    guard = Guard(OAuth("https://id.example", "https://me.example/mcp"))
    app = Server("s").http_app(guard=guard, health=True, allowed_hosts=["me.example"])
    assert get(app, "/mcp", method="POST")[0].status_code == 403
    for response in get(app, *HEALTH_PATHS):
        assert (response.status_code, response.json()) == (200, {"status": "ok"})
        assert response.headers["cache-control"] == "no-store"
    assert get(app, "/readyz", method="POST")[0].status_code == 405


def test_the_page_starts_the_lifespan_because_nothing_else_may() -> None:
    entered = []

    @asynccontextmanager
    async def lifespan(_: Server) -> AsyncIterator[None]:
        entered.append(True)
        yield

    server = Server("s", lifespan=lifespan)
    page = find_health_page("/readyz", server.engine)
    assert page is not None and (page.status, json.loads(page.body)["status"]) == (503, "starting")
    assert get(server.http_app(health=True), "/healthz", "/readyz")[1].status_code == 200
    assert entered == [True]


def test_a_server_that_cannot_start_lives_but_is_not_ready() -> None:
    @asynccontextmanager
    async def lifespan(_: Server) -> AsyncIterator[None]:
        raise OSError("no database at db.internal")
        yield

    lives, ready = get(Server("s", lifespan=lifespan).http_app(health=True), *HEALTH_PATHS)
    assert (lives.status_code, ready.status_code) == (200, 503)
    assert ready.json()["status"] == "starting"
    assert "db.internal" not in ready.text


def test_a_server_whose_store_is_away_is_not_ready_and_does_not_say_where_it_is() -> None:
    options = Options(state="redis://:secret@127.0.0.1:1/0", state_keys=KEYS)
    lives, ready = get(Server("s", options=options).http_app(health=True), *HEALTH_PATHS)
    assert (lives.status_code, ready.status_code) == (200, 503)
    assert ready.json() == {
        "status": "unavailable",
        "reason": "the shared store cannot be used; see the log",
    }


def test_a_process_that_shuts_down_is_not_ready() -> None:
    app = Server("s").http_app(health=True)
    app.begin_shutdown()
    lives, ready = get(app, *HEALTH_PATHS)
    assert (lives.status_code, ready.status_code) == (200, 503)
    assert ready.json()["status"] == "draining"


@pytest.mark.parametrize("path", HEALTH_PATHS)
def test_a_custom_route_takes_the_place_of_a_page(path: str) -> None:
    server = Server("s")

    @server.custom_route(path)
    def own(request: RouteRequest) -> str:
        return "own"

    assert get(server.http_app(health=True, allowed_hosts=["*"]), path)[0].text == "own"


def test_servers_on_one_port_have_one_page() -> None:
    apps = {f"/{name}/mcp": Server(name).http_app(f"/{name}/mcp", health=True) for name in "ab"}
    router = PathRouter(apps)
    assert [response.status_code for response in get(router, *HEALTH_PATHS)] == [200, 200]
    apps["/b/mcp"].begin_shutdown()
    assert [response.status_code for response in get(router, *HEALTH_PATHS)] == [200, 503]
    assert get(PathRouter({"/a/mcp": Server("a").http_app()}), "/healthz")[0].status_code == 404

"""The HTTP application inside others: FastAPI, Starlette, Django."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpResponse
from django.urls import clear_url_caches, path
from django.utils.functional import empty
from fastapi import FastAPI, Request
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from dovetail import Context, Server
from dovetail.transports.streamable_http.app import HttpApp
from tests.unit.talk import LEGACY, MODERN, Json, request, run, text_of

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def make_server(name: str) -> Server:
    server = Server(name)

    @server.tool
    async def whoami() -> str:
        return name

    @server.tool
    async def talk(ctx: Context) -> str:
        await ctx.log.info("first")
        return name

    return server


def open_client(app: Any, root_path: str = "") -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app, root_path=root_path)
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")


async def call_modern(client: httpx.AsyncClient, url: str) -> str:
    headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "whoami"}
    body = request("tools/call", {"name": "whoami", "arguments": {}}, revision=MODERN)
    response = await client.post(url, content=body, headers=ACCEPT | headers)
    assert response.status_code == 200, response.text
    return text_of(response.json()["result"])


async def call_legacy(client: httpx.AsyncClient, url: str, tool: str = "talk") -> str:
    """From handshake to DELETE, with an answer that is a stream."""
    hello = {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "tester", "version": "1"},
    }
    opened = await client.post(url, content=request("initialize", hello), headers=ACCEPT)
    assert opened.status_code == 200, opened.text
    headers = ACCEPT | {"mcp-session-id": opened.headers["mcp-session-id"]}
    body = request("tools/call", {"name": tool, "arguments": {}})
    response = await client.post(url, content=body, headers=headers)
    assert response.headers["content-type"] == "text/event-stream"
    said: list[Json] = [
        json.loads(line.removeprefix("data: "))
        for line in response.text.splitlines()
        if line.startswith("data: {")
    ]
    assert said[0]["params"]["data"] == "first"
    assert (await client.delete(url, headers=headers)).status_code == 204
    assert (await client.post(url, content=body, headers=headers)).status_code == 404
    return text_of(said[-1]["result"])


async def check(client: httpx.AsyncClient, url: str, name: str) -> None:
    assert await call_modern(client, url) == name
    assert await call_legacy(client, url) == name


# -- FastAPI ----------------------------------------------------------------------------------


def make_fastapi(mounted: HttpApp, **options: Any) -> FastAPI:
    app = FastAPI(**options)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "fine"}

    app.mount("/api", mounted)
    return app


@pytest.mark.parametrize("url", ["/api/mcp", "/api/mcp/"])
def test_it_works_under_a_prefix_of_fastapi(url: str) -> None:
    async def play() -> None:
        app = make_fastapi(make_server("mounted").http_app())
        async with open_client(app) as client:
            await check(client, url, "mounted")
            assert (await client.get("/health")).json() == {"status": "fine"}
            assert (await client.post("/api/other", headers=ACCEPT)).status_code == 404

    run(play())


def test_it_works_behind_middleware_that_wraps_the_response() -> None:
    async def play() -> None:
        app = make_fastapi(make_server("mounted").http_app())

        @app.middleware("http")
        async def mark(request: Request, call_next: Any) -> Response:
            response: Response = await call_next(request)
            response.headers["x-marked"] = "yes"
            return response

        async with open_client(app) as client:
            await check(client, "/api/mcp", "mounted")

    run(play())


def test_it_works_behind_a_proxy_that_adds_a_prefix() -> None:
    async def play() -> None:
        app = make_fastapi(make_server("mounted").http_app())
        async with open_client(app, "/outside") as client:
            await check(client, "/outside/api/mcp", "mounted")

    run(play())


def test_the_host_application_may_own_the_lifespan() -> None:
    async def play() -> None:
        steps: list[str] = []

        @asynccontextmanager
        async def own(server: Any) -> AsyncIterator[None]:
            steps.append("up")
            yield
            steps.append("down")

        server = Server("mounted", lifespan=own)

        @server.tool
        async def whoami() -> str:
            return "mounted"

        mounted = server.http_app()

        @asynccontextmanager
        async def lifespan(app: FastAPI) -> AsyncIterator[None]:
            await server.start()
            yield
            mounted.close()
            await server.close()

        app = make_fastapi(mounted, lifespan=lifespan)
        async with app.router.lifespan_context(app), open_client(app) as client:
            assert steps == ["up"]
            assert await call_modern(client, "/api/mcp") == "mounted"
        assert steps == ["up", "down"]

    run(play())


# -- Starlette --------------------------------------------------------------------------------


def test_two_servers_live_side_by_side_in_starlette() -> None:
    async def home(request: Any) -> Response:
        return PlainTextResponse("home")

    async def play() -> None:
        one, two = make_server("one"), make_server("two")
        app = Starlette(
            routes=[
                Route("/", home),
                Mount("/one", one.http_app()),
                Mount("/two", two.http_app("")),
            ]
        )
        async with open_client(app) as client:
            await asyncio.gather(
                check(client, "/one/mcp", "one"),
                check(client, "/two/", "two"),
                check(client, "/one/mcp", "one"),
            )
            assert (await client.get("/")).text == "home"

    run(play())


def test_a_session_of_one_server_is_nothing_to_the_other() -> None:
    async def play() -> None:
        servers = {name: make_server(name).http_app() for name in ("one", "two")}
        app = Starlette(routes=[Mount(f"/{name}", served) for name, served in servers.items()])
        async with open_client(app) as client:
            hello = {
                "protocolVersion": LEGACY,
                "capabilities": {},
                "clientInfo": {"name": "tester", "version": "1"},
            }
            body = request("initialize", hello)
            opened = await client.post("/one/mcp", content=body, headers=ACCEPT)
            headers = ACCEPT | {"mcp-session-id": opened.headers["mcp-session-id"]}
            for name, status in (("one", 200), ("two", 404)):
                ping = await client.post(f"/{name}/mcp", content=request("ping"), headers=headers)
                assert ping.status_code == status

    run(play())


# -- Django -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def django_application() -> Iterator[Any]:
    """A project of one view. Settings are global, and a page of the docs has a project too."""

    def health(request: Any) -> Any:
        return HttpResponse("fine")

    urls = ModuleType("urls")
    urls.urlpatterns = [path("health/", health)]  # type: ignore[attr-defined]
    others, settings._wrapped = settings._wrapped, empty
    settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF=urls, SECRET_KEY="of no use to anybody")
    yield get_asgi_application()
    settings._wrapped = others
    clear_url_caches()


def test_it_works_beside_a_django_project(django_application: Any) -> None:
    mcp = make_server("beside").http_app()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        """What a project's asgi.py says."""
        served = mcp if scope["path"].startswith("/mcp") else django_application
        await served(scope, receive, send)

    async def play() -> None:
        async with open_client(application) as client:
            await check(client, "/mcp", "beside")
            response = await client.get("/health/")
            assert (response.status_code, response.text) == (200, "fine")
            assert (await client.get("/nowhere/")).status_code == 404

    run(play())

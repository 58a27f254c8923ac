"""Finding MCP endpoints in ASGI applications."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Host, Mount, Route

from dovetail import Server
from dovetail.cli.loading import find_endpoints, is_asgi_app, is_inside
from dovetail.transports.path_router import PathRouter

ONE, TWO = Server("one").http_app(), Server("two").http_app("/two")


async def front(scope: Any, receive: Any, send: Any) -> None:
    """As in front of Django: another application of the module, chosen by path."""
    await (ONE if scope["path"] == "/mcp" else elsewhere)(scope, receive, send)


async def elsewhere(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 404})


def closed_over(app: Any) -> Any:
    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)

    return inner


def make_fastapi() -> FastAPI:
    api = FastAPI()
    api.router.routes.append(Route("/mcp", ONE))
    api.mount("/tools", TWO)
    api.add_middleware(GZipMiddleware)
    api.get("/health")(lambda: "well")
    return api


@pytest.mark.parametrize(
    ("app", "paths"),
    [
        (ONE, ["/mcp"]),
        (make_fastapi(), ["/mcp", "/tools/two"]),
        (Starlette(routes=[Mount("/a", Starlette(routes=[Mount("/b", ONE)]))]), ["/a/b/mcp"]),
        (Starlette(routes=[Mount("/a", routes=[Route("/mcp", ONE)])]), ["/a/mcp"]),
        (Starlette(routes=[Host("a.example", ONE)]), ["/mcp"]),
        (GZipMiddleware(GZipMiddleware(ONE)), ["/mcp"]),
        (PathRouter({"/two": TWO}), ["/two"]),
        (front, ["/mcp"]),
        (closed_over(closed_over(TWO)), ["/two"]),
        (elsewhere, []),
        (FastAPI(), []),
    ],
)
def test_endpoints_are_found_with_their_paths(app: Any, paths: list[str]) -> None:
    assert is_asgi_app(app)
    assert [endpoint.path for endpoint in find_endpoints(app)] == paths


def test_an_application_that_contains_itself_is_walked_once() -> None:
    site = Starlette(routes=[Mount("/mcp", ONE)])
    site.router.routes.append(Mount("/again", site))
    assert [endpoint.path for endpoint in find_endpoints(site)] == ["/mcp/mcp"]


@pytest.mark.parametrize(
    "value", [None, 5, Server("x"), Server, FastAPI, make_fastapi, print, lambda a, b, c: None]
)
def test_other_values_are_no_applications(value: Any) -> None:
    assert not is_asgi_app(value)


def test_an_inner_application_is_known_from_its_outer_one() -> None:
    wrapped = GZipMiddleware(ONE)
    assert is_inside(ONE, wrapped)
    assert not is_inside(wrapped, wrapped)
    assert not is_inside(TWO, wrapped)

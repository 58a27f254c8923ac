"""Registering custom routes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail import RouteRequest, Server
from dovetail.auth import Guard, OAuth
from dovetail.errors import InvalidRequestError, UsageError
from dovetail.observability import Metrics


def health(request: RouteRequest) -> str:
    return "well"


@pytest.mark.parametrize(
    ("path", "given", "problem"),
    [
        ("health", {}, "needs a path such as '/health'"),
        ("/", {}, "needs a path such as"),
        ("/health/", {}, "needs a path such as"),
        ("/users/{id}/keys", {}, "the last one perhaps a parameter"),
        ("/users/{id}{name}", {}, "the last one perhaps a parameter"),
        ("/a b", {}, "needs a path such as"),
        ("/health", {"methods": "GET"}, r"methods is a list with some of GET, .*, got 'GET'"),
        ("/health", {"methods": []}, r"methods is a list .* got \[\]"),
        ("/health", {"methods": ["BREW"]}, r"methods is a list .* got \['BREW'\]"),
    ],
)
def test_invalid_routes_are_refused(path: str, given: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        Server("shop").custom_route(path, **given)(health)


@pytest.mark.parametrize("function", [lambda: "well", lambda a, b: "well"])
def test_a_handler_takes_the_request(function: Any) -> None:
    with pytest.raises(UsageError, match=r"the route '/health'.* must take one parameter"):
        Server("shop").custom_route("/health")(function)


def test_a_path_may_have_a_handler_for_each_method() -> None:
    server = Server("shop")
    server.custom_route("/cart")(health)
    server.custom_route("/cart", methods=["post", "DELETE"])(health)
    with pytest.raises(UsageError, match=r"has the route '/cart'.* for POST already"):
        server.custom_route("/cart", methods=["PUT", "POST"])(health)
    assert [route.methods for route in server.routes.find("/cart")] == [{"GET"}, {"POST", "DELETE"}]


GUARD = Guard(
    OAuth("https://id.example", "https://shop.example/mcp"), metrics=Metrics(), health=True
)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/mcp", "conflicts with the MCP endpoint"),
        ("/sse", "conflicts with the MCP endpoint"),
        ("/.well-known/oauth-protected-resource/mcp", "conflicts with a page of the guard"),
        ("/metrics", "conflicts with a page of the guard"),
        ("/healthz", "conflicts with a page of the guard"),
    ],
)
def test_paths_that_are_taken_are_refused_before_and_after(path: str, problem: str) -> None:
    early = Server("shop")
    early.custom_route(path)(health)
    with pytest.raises(UsageError, match=problem):
        early.http_app(guard=GUARD, old_sse="/sse")
    late = Server("shop")
    app = late.http_app(guard=GUARD, old_sse="/sse")
    with pytest.raises(UsageError, match=problem):
        late.custom_route(path)(health)
    del app
    late.custom_route(path)(health)


def test_routes_that_differ_in_the_name_of_a_parameter_conflict() -> None:
    server = Server("shop")
    server.custom_route("/items/{id}")(health)
    server.custom_route("/items/new")(health)
    with pytest.raises(UsageError, match="already"):
        server.custom_route("/items/{name}")(health)


def test_a_request_without_an_endpoint_handles_no_message() -> None:
    async def ask() -> None:
        await RouteRequest(method="GET", path="/x").handle(b"{}")

    with pytest.raises(UsageError, match="did not come through an endpoint"):
        asyncio.run(ask())


def test_a_body_that_is_no_json_is_the_fault_of_the_client() -> None:
    assert RouteRequest(method="POST", path="/x", body=b'{"a": 1}').json() == {"a": 1}
    with pytest.raises(InvalidRequestError, match="The body is not valid JSON"):
        RouteRequest(method="POST", path="/x", body=b"{").json()


def test_a_server_serves_the_routes_of_those_that_are_mounted_in_it() -> None:
    outer, inner, innermost = Server("outer"), Server("inner"), Server("innermost")
    inner.mount(innermost, "deep")
    inner.custom_route("/before")(health)
    outer.mount(inner, "shop")
    inner.custom_route("/after")(health)
    innermost.custom_route("/deep", guarded=True)(health)
    assert {route.path for route in outer.routes} == {"/before", "/after", "/deep"}
    outer.unmount("shop")
    assert not list(outer.routes)
    innermost.custom_route("/later")(health)
    assert not list(outer.routes)
    assert {route.path for route in inner.routes} == {"/before", "/after", "/deep", "/later"}


def test_a_path_cannot_be_taken_twice_by_mounted_servers() -> None:
    outer, inner = Server("outer"), Server("inner")
    outer.custom_route("/health")(health)
    inner.custom_route("/health")(health)
    with pytest.raises(UsageError, match=r"'/health'.* for GET already"):
        outer.mount(inner, "shop")
    assert not outer.provider.providers
    other = Server("other")
    outer.mount(other, "shop")
    with pytest.raises(UsageError, match=r"'/health'.* for GET already"):
        other.custom_route("/health")(health)
    assert not list(other.routes)
    with pytest.raises(UsageError, match="also belong to"):
        outer.mount(Server("third"), "shop")

from __future__ import annotations

import httpx
from starlette.applications import Starlette
from starlette.routing import Mount

from dovetail.cli.loading import find_endpoints
from tests.console.pages import browse, make_server, token_of


def test_a_console_works_inside_an_application_of_a_framework() -> None:
    app = Starlette(routes=[Mount("/tools", make_server().http_app(console=True))])

    async def use(client: httpx.AsyncClient) -> None:
        answer = await client.get("/tools/", headers={"Accept": "text/html"})
        assert answer.headers["location"] == "/tools/console/"
        headers = await token_of(client, "/tools")
        config = await client.get("/tools/console/api/config", headers=headers)
        assert config.json()["servers"][0]["endpoint"] == "/tools/mcp"
        assert (await client.get("/console/")).status_code == 404

    browse(app, use)


def test_the_command_line_finds_the_endpoint_behind_the_console() -> None:
    app = Starlette(routes=[Mount("/tools", make_server().http_app(console=True))])
    assert [endpoint.path for endpoint in find_endpoints(app)] == ["/tools/mcp"]


def test_the_hosts_of_the_server_are_those_of_the_console() -> None:
    app = make_server().http_app(console=True, allowed_hosts=["shop.example"])

    async def use(client: httpx.AsyncClient) -> tuple[int, int]:
        known = await client.get("/console/", headers={"Host": "shop.example"})
        other = await client.get("/console/", headers={"Host": "localhost"})
        return known.status_code, other.status_code

    assert browse(app, use) == (200, 403)

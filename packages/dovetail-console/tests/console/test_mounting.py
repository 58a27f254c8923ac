from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from dovetail.auth import BearerTokens, Guard, Principal
from dovetail.cli.loading import find_endpoints
from tests.console.pages import browse, make_server, token_of


def test_a_console_works_inside_an_application_of_a_framework() -> None:
    app = Starlette(routes=[Mount("/tools", make_server().http_app(console=True))])

    async def use(client: httpx.AsyncClient) -> None:
        answer = await client.get("/tools/", headers={"Accept": "text/html"})
        assert answer.next_request is not None
        assert str(answer.next_request.url) == "http://127.0.0.1:8000/tools/console/"
        headers = await token_of(client, "/tools")
        config = await client.get("/tools/console/api/config", headers=headers)
        assert config.json()["servers"][0]["endpoint"] == "../mcp"
        assert (await client.get("/console/")).status_code == 404

    browse(app, use)


def strip(app: Any, prefix: str) -> Any:
    """What a reverse proxy does that serves the application below a prefix."""

    async def proxy(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "path": scope["path"].removeprefix(prefix)}, receive, send)

    return proxy


@pytest.mark.parametrize("start", ["/tools/", "/tools/console"])
def test_a_reverse_proxy_may_serve_the_console_below_a_prefix(start: str) -> None:
    guard = Guard(BearerTokens({"k" * 32: Principal("me")}))
    app = make_server().http_app(console=True, guard=guard)
    base = "https://shop.example"

    async def use(client: httpx.AsyncClient) -> dict[str, Any]:
        page = await client.get(start, headers={"Accept": "text/html"}, follow_redirects=True)
        assert page.status_code == 200
        assert page.url.path == "/tools/console/"
        headers = await token_of(client, "/tools")
        headers["X-Console-Page"] = str(page.url)
        config = await client.get("/tools/console/api/config", headers=headers)
        [server] = config.json()["servers"]
        assert urljoin(str(page.url), server["endpoint"]) == f"{base}/tools/mcp"
        return {each["name"]: each["text"] for each in server["clients"]}

    assert f"{base}/tools/mcp" in browse(strip(app, "/tools"), use, base)["Claude Code"]


@pytest.mark.parametrize(
    "page", ["https://evil.example/console/", "javascript:x/console/", "http://127.0.0.1:8000/", ""]
)
def test_a_page_is_only_believed_to_be_at_this_host(page: str) -> None:
    async def use(client: httpx.AsyncClient) -> str:
        headers = {**await token_of(client), "X-Console-Page": page}
        return (await client.get("/console/api/config", headers=headers)).text

    text = browse(make_server().http_app(console=True), use)
    assert "http://127.0.0.1:8000/mcp" in text
    assert "evil" not in text


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

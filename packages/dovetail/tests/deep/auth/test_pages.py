"""The public documents of a guarded application."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount, Route

from dovetail import Server
from dovetail.auth import Guard, OAuth
from dovetail.observability import Metrics
from tests.unit.talk import run

METADATA = "/.well-known/oauth-protected-resource"
PAGE = "https://app.example"


def get(path: str, app: Any = None, method: str = "GET", **headers: str) -> httpx.Response:
    if app is None:
        oauth = OAuth("https://id.example", "https://me.example/mcp", resource_name="Notes")
        guard = Guard(oauth, metrics=Metrics(), health=True)
        app = Server("s").http_app(guard=guard, allowed_origins=[PAGE])

    async def play() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, headers=headers)

    return run(play())


@pytest.mark.parametrize("path", [METADATA, f"{METADATA}/mcp", f"{METADATA}/mcp/"])
def test_the_metadata_needs_no_credentials(path: str) -> None:
    answer = get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["resource_name"] == "Notes"


@pytest.mark.parametrize("path", ["/", "/other", f"{METADATA}/other", "/mcp/.well-known"])
def test_other_paths_are_not_found(path: str) -> None:
    assert get(path).status_code == 404


def test_pages_allow_only_get_and_head() -> None:
    assert get(METADATA, method="HEAD").content == b""
    assert get(METADATA, method="OPTIONS").headers["allow"] == "GET, HEAD, OPTIONS"
    assert get(METADATA, method="POST").status_code == 405
    assert get("/metrics").headers["content-type"].startswith("text/plain")
    assert get("/healthz").json() == {"status": "ok"}


def test_a_page_in_a_browser_may_read_what_it_needs_to_log_in() -> None:
    allowed = get(METADATA, origin=PAGE)
    assert allowed.headers["access-control-allow-origin"] == PAGE
    assert "access-control-allow-origin" not in get(METADATA, origin="https://evil.example").headers
    refused = get("/mcp", method="POST", origin=PAGE, **{"content-type": "application/json"})
    assert refused.status_code == 401
    assert "www-authenticate" in refused.headers["access-control-expose-headers"]


def test_the_metadata_url_can_be_set_below_a_prefix() -> None:
    where = "https://me.example/tools/.well-known/oauth-protected-resource/mcp"
    oauth = OAuth("https://id.example", "https://me.example/tools/mcp", metadata_url=where)
    site = Starlette(routes=[Mount("/tools", Server("s").http_app(guard=Guard(oauth)))])
    answer = get(f"/tools{METADATA}/mcp", site)
    assert answer.json()["resource"] == "https://me.example/tools/mcp"
    refused = get("/tools/mcp", site, "DELETE")
    assert f'resource_metadata="{where}"' in refused.headers["www-authenticate"]


def test_health_is_below_the_mount_point_and_needs_routes_of_its_own_beside_a_route() -> None:
    def app() -> Any:
        return Server("s").http_app(guard=Guard(health=True, metrics=Metrics()))

    mounted = Starlette(routes=[Mount("/tools", app())])
    pages = ("/healthz", "/readyz", "/metrics")
    assert [get(f"/tools{page}", mounted).status_code for page in pages] == [200] * 3
    assert [get(page, mounted).status_code for page in pages] == [404] * 3
    routed = app()
    alone = Starlette(routes=[Route("/mcp", routed)])
    assert [get(page, alone).status_code for page in pages] == [404] * 3
    beside = Starlette(routes=[Route(path, routed) for path in ("/mcp", *pages)])
    assert [get(page, beside).status_code for page in pages] == [200] * 3

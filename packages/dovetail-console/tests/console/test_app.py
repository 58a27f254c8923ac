from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from dovetail import Server
from dovetail.errors import UsageError
from dovetail.transports import HttpResponse
from dovetail_console.app import ConsoleApp
from dovetail_console.requests import ConsoleSite
from tests.console.pages import browse, make_server, token_of

HTML = {"Accept": "text/html"}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "add", "arguments": {"a": 1, "b": 2}},
}


def statuses(app: Any, *requests: tuple[str, str, dict[str, str]], root: str = "") -> list[Any]:
    async def use(client: httpx.AsyncClient) -> list[Any]:
        found = []
        for method, path, headers in requests:
            answer = await client.request(method, path, headers=headers)
            to = answer.next_request
            found.append((answer.status_code, None if to is None else to.url.path))
        return found

    return browse(app, use, root=root)


def test_a_browser_is_sent_to_the_page() -> None:
    app = make_server().http_app(console=True)
    assert statuses(app, ("GET", "/", HTML), ("GET", "/console", HTML)) == [
        (302, "/console/"),
        (302, "/console/"),
    ]
    assert statuses(app, ("GET", "/console/", {})) == [(200, None)]


def test_a_mounted_console_redirects_below_its_mount_point() -> None:
    app = make_server().http_app(console=True)
    assert statuses(app, ("GET", "/tools/", HTML), root="/tools") == [(302, "/tools/console/")]


def test_what_is_not_for_the_console_goes_to_the_server() -> None:
    app = make_server().http_app(console=True)
    assert statuses(app, ("GET", "/", {}), ("POST", "/", HTML), ("GET", "/consoles", HTML)) == [
        (404, None),
        (404, None),
        (404, None),
    ]


def test_the_mcp_endpoint_works_beside_the_page_and_at_the_root() -> None:
    for path in ("/mcp", ""):
        app = make_server().http_app(path, console=True)

        async def use(client: httpx.AsyncClient, path: str = path) -> Any:
            headers = {"Accept": "application/json, text/event-stream"}
            page = await client.get("/", headers=HTML)
            assert page.status_code == 302
            body = {**CALL, "method": "ping", "params": {}}
            return (await client.post(path or "/", json=body, headers=headers)).json()

        assert "id" in browse(app, use)


def test_a_route_of_the_user_wins() -> None:
    server = make_server()

    @server.custom_route("/console/style.css")
    def own(request: Any) -> str:
        return "mine"

    async def use(client: httpx.AsyncClient) -> str:
        return (await client.get("/console/style.css")).text

    assert browse(server.http_app(console=True), use) == "mine"


def test_files_have_an_etag() -> None:
    async def use(client: httpx.AsyncClient) -> None:
        first = await client.get("/console/vendor/preact.js")
        assert first.status_code == 200
        assert first.headers["cache-control"] == "no-cache"
        again = await client.get(
            "/console/vendor/preact.js", headers={"If-None-Match": first.headers["etag"]}
        )
        assert (again.status_code, again.content) == (304, b"")
        head = await client.head("/console/vendor/preact.js")
        assert (head.status_code, head.content) == (200, b"")

    browse(make_server().http_app(console=True), use)


@pytest.mark.parametrize(
    ("accepted", "coding"), [("gzip, deflate, br", "gzip"), ("identity", None), ("", None)]
)
def test_files_are_compressed_for_those_who_accept_it(accepted: str, coding: str | None) -> None:
    async def use(client: httpx.AsyncClient) -> None:
        found = await client.get("/console/vendor/preact.js", headers={"Accept-Encoding": accepted})
        assert found.headers.get("content-encoding") == coding
        assert found.headers["vary"] == "accept-encoding"
        assert "export" in found.text

    browse(make_server().http_app(console=True), use)


def test_the_page_is_never_cached_because_it_has_the_token() -> None:
    async def use(client: httpx.AsyncClient) -> None:
        page = await client.get("/console/")
        assert page.headers["cache-control"] == "no-store"
        assert "{{token}}" not in page.text

    browse(make_server().http_app(console=True), use)


def test_files_are_only_read() -> None:
    app = make_server().http_app(console=True)

    async def use(client: httpx.AsyncClient) -> None:
        answer = await client.post("/console/")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")

    browse(app, use)


@pytest.mark.parametrize(
    ("method", "name", "status"),
    [("GET", "none", 404), ("POST", "config", 405), ("GET", "check", 405), ("GET", "traffic", 404)],
)
def test_the_api_has_fixed_names_and_methods(method: str, name: str, status: int) -> None:
    async def use(client: httpx.AsyncClient) -> None:
        headers = await token_of(client)
        answer = await client.request(method, f"/console/api/{name}", headers=headers)
        assert answer.status_code == status
        assert set(answer.json()) == {"error"}

    browse(make_server().http_app(console=True), use)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff"])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    async def use(client: httpx.AsyncClient) -> None:
        headers = {**await token_of(client), "Content-Type": "application/json"}
        answer = await client.post("/console/api/evidence", content=body, headers=headers)
        assert answer.status_code == 400

    browse(make_server().http_app(console=True), use)


def test_the_lifespan_of_a_framework_reaches_the_server() -> None:
    events: list[str] = []

    async def run() -> None:
        inbox: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        for kind in ("lifespan.startup", "lifespan.shutdown"):
            inbox.put_nowait({"type": kind})

        async def send(message: Any) -> None:
            events.append(message["type"])

        await Server("s").http_app(console=True)({"type": "lifespan"}, inbox.get, send)

    asyncio.run(run())
    assert events == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_a_call_has_the_same_result_with_the_console() -> None:
    async def call(client: httpx.AsyncClient) -> Any:
        headers = {"Accept": "application/json, text/event-stream"}
        answer = await client.post("/mcp", json=CALL, headers=headers)
        return answer.status_code, json.loads(answer.text)

    plain = browse(make_server().http_app(stateless=True), call)
    assert browse(make_server().http_app(stateless=True, console=True), call) == plain


class FakeApp:
    """Notes what the console passes on."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.calls.append(scope["path"])

    def is_validated(self, request: Any) -> bool:
        return True

    def begin(self, request: Any, body: bytes) -> Any:
        return HttpResponse(200, body)

    def serve_directly(self) -> None:
        self.calls.append("serve_directly")

    def begin_shutdown(self) -> None:
        self.calls.append("begin_shutdown")

    async def finish_shutdown(self, grace: float) -> None:
        self.calls.append("finish_shutdown")

    def close(self) -> None:
        self.calls.append("close")


def test_requests_keep_their_fast_path_and_the_shutdown_reaches_the_server() -> None:
    inner = FakeApp()
    app = ConsoleApp(inner, ConsoleSite(servers=[]))
    request: Any = None
    assert app.is_validated(request)
    assert app.begin(request, b"{}") == HttpResponse(200, b"{}")
    app.serve_directly()
    app.begin_shutdown()
    asyncio.run(app.finish_shutdown(1.0))
    app.close()

    async def never(*_: Any) -> Any:
        raise AssertionError

    # From now on the server refuses the requests.
    scope = {"type": "http", "method": "GET", "path": "/console/", "headers": []}
    asyncio.run(app(scope, never, never))
    assert inner.calls == [
        "serve_directly",
        "begin_shutdown",
        "finish_shutdown",
        "close",
        "/console/",
    ]


def test_the_endpoint_cannot_have_the_path_of_the_page() -> None:
    for path in ("/console", "/console/mcp"):
        with pytest.raises(UsageError, match="another one"):
            make_server().http_app(path, console=True)
    make_server().http_app("/consoles", console=True)

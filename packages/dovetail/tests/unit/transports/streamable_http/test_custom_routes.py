"""Custom routes beside the MCP endpoint."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from starlette.responses import PlainTextResponse

from dovetail import Context, Options, RouteRequest, RouteResponse, Server
from dovetail.auth import ApiKeys, Guard
from dovetail.auth.api_keys import KeyFile
from dovetail.client import Client
from dovetail.transports import serve_http
from tests.driving import serving_http
from tests.patience import CAP


def use(
    server: Server, work: Callable[[httpx.AsyncClient], Awaitable[None]], **options: Any
) -> None:
    async def run() -> None:
        transport = httpx.ASGITransport(server.http_app(**options))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", timeout=CAP
        ) as client:
            await work(client)
        await server.close()

    asyncio.run(run())


TEXT, JSON = "text/plain; charset=utf-8", "application/json"


@pytest.mark.parametrize(
    ("value", "status", "kind", "body"),
    [
        ("well", 200, TEXT, b"well"),
        (b"\x00\x01", 200, "application/octet-stream", b"\x00\x01"),
        ({"ok": True}, 200, JSON, b'{"ok":true}'),
        ([1, 2], 200, JSON, b"[1,2]"),
        (None, 204, None, b""),
        (RouteResponse({"a": 1}, 201, {"Content-Type": "text/x"}), 201, "text/x", b'{"a":1}'),
        (RouteResponse(status=404), 404, None, b""),
        (RouteResponse("dropped", 304), 304, TEXT, b""),
        (PlainTextResponse("from starlette", 202), 202, TEXT, b"from starlette"),
        # What cannot be sent is an error of the handler.
        (object(), 500, JSON, b'{"error":"internal error"}'),
        (RouteResponse("x", 99), 500, JSON, b'{"error":"internal error"}'),
        (RouteResponse("x", headers={"a": "b\r\nc: d"}), 500, JSON, b'{"error":"internal error"}'),
        (RouteResponse("x", headers={"a:": "b"}), 500, JSON, b'{"error":"internal error"}'),
        (
            RouteResponse("x", headers={"Content-Length": "9"}),
            500,
            JSON,
            b'{"error":"internal error"}',
        ),
    ],
)
@pytest.mark.parametrize("is_async", [True, False])
def test_what_a_handler_returns_is_the_response(
    value: Any, status: int, kind: str | None, body: bytes, is_async: bool
) -> None:
    server = Server("shop")

    async def later(request: RouteRequest) -> Any:
        return value

    def plain(request: RouteRequest) -> Any:
        assert threading.current_thread() is not threading.main_thread()
        return value

    server.custom_route("/it")(later if is_async else plain)

    async def work(client: httpx.AsyncClient) -> None:
        answer = await client.get("/it")
        assert (answer.status_code, answer.headers.get("content-type")) == (status, kind)
        assert answer.content == body
        head = await client.head("/it")
        assert (head.status_code, head.content) == (status, b"")

    use(server, work)


def test_a_handler_gets_the_request_without_credentials(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    _, secret = keys.add("anna")
    seen: list[RouteRequest] = []

    @contextlib.asynccontextmanager
    async def lifespan(_: Server) -> AsyncIterator[str]:
        yield "database"

    server = Server("shop", lifespan=lifespan)

    @server.custom_route("/open", methods=["PUT"])
    async def is_open(request: RouteRequest) -> None:
        seen.append(request)

    @server.custom_route("/closed", methods=["GET", "PUT"], guarded=True)
    async def is_closed(request: RouteRequest) -> None:
        seen.append(request)

    async def work(client: httpx.AsyncClient) -> None:
        headers = [("authorization", f"Bearer {secret}"), ("x-a", "1"), ("x-a", "2")]
        for path in ("/open", "/closed/"):
            answer = await client.put(f"{path}?a=1&b=&a=%C3%A4", content=b"body", headers=headers)
            assert answer.status_code == 204
        assert (await client.put("/open")).status_code == 204
        refused = await client.put("/closed")
        assert refused.status_code == 401
        assert "www-authenticate" in refused.headers
        wrong = await client.get("/closed", headers={"authorization": "Bearer nothing"})
        assert wrong.status_code == 401

    use(server, work, guard=Guard(ApiKeys(keys.path)))
    first, second, _ = seen
    assert (first.method, first.path, first.query_string) == ("PUT", "/open", "a=1&b=&a=%C3%A4")
    assert first.query == {"a": "ä", "b": ""}
    assert (first.body, first.headers["x-a"], first.lifespan) == (b"body", "1, 2", "database")
    assert first.principal is None
    assert second.principal is not None
    assert second.principal.id.startswith("key:")
    assert not any("authorization" in request.headers for request in seen)


def test_a_path_has_a_parameter_and_an_exact_path_wins() -> None:
    server = Server("shop")
    server.custom_route("/items/{name}")(lambda request: dict(request.parameters))
    server.custom_route("/items/new")(lambda request: "new")

    async def work(client: httpx.AsyncClient) -> None:
        assert (await client.get("/items/t%C3%A9a/")).json() == {"name": "téa"}
        assert (await client.get("/items/new")).text == "new"
        for path in ("/items", "/items/a/b", "/items//a"):
            assert (await client.get(path)).status_code == 404

    use(server, work)


def test_a_handler_passes_messages_on_as_its_caller(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    _, secret = keys.add("anna")
    server = Server("shop")

    @server.tool
    async def who(ctx: Context) -> str:
        assert ctx.principal is not None
        return f"{ctx.principal.id[:4]} {b'authorization' in dict(ctx.scope['headers'])}"

    @server.tool(scopes=["write"])
    async def sell() -> str:
        return "sold"

    @server.custom_route("/calls/{name}", methods=["POST"], guarded=True)
    async def call(request: RouteRequest) -> Any:
        params = {**request.parameters, "arguments": {}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return json.loads(await request.handle(json.dumps(message)) or b"")

    async def work(client: httpx.AsyncClient) -> None:
        headers = {"authorization": f"Bearer {secret}"}
        answer = (await client.post("/calls/who", headers=headers)).json()
        assert answer["result"]["content"][0]["text"] == "key: False"
        assert "error" in (await client.post("/calls/sell", headers=headers)).json()

    use(server, work, guard=Guard(ApiKeys(keys.path)))


def test_other_methods_hosts_and_bodies_are_refused() -> None:
    server = Server("shop", options=Options(max_message_bytes=10))

    @server.custom_route("/it", methods=["GET", "POST"])
    async def it(request: RouteRequest) -> Any:
        return request.json() if request.body else "read"

    async def work(client: httpx.AsyncClient) -> None:
        answer = await client.delete("/it")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS, POST")
        answer = await client.options("/it", headers={"origin": "https://app.example"})
        assert (answer.status_code, answer.headers["allow"]) == (204, "GET, HEAD, OPTIONS, POST")
        assert answer.headers["access-control-allow-methods"] == "GET, HEAD, OPTIONS, POST"
        for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
            answer = await client.get("/it", headers=headers)
            assert answer.status_code == 403
            # Not a JSON-RPC error, which clients of a route do not know.
            assert "evil.example" in answer.json()["error"]
        assert (await client.post("/it", content=b"x" * 11)).status_code == 413
        assert (await client.post("/it", content=b"{")).status_code == 400
        assert (await client.post("/it", content=b"[1]")).json() == [1]
        assert (await client.get("/other")).status_code == 404

    use(server, work, allowed_origins=["https://app.example"])


@pytest.mark.parametrize("error", [LookupError("secret"), SystemExit(3)])
def test_a_handler_that_fails_is_logged_and_tells_nothing(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("shop")

    @server.custom_route("/it")
    async def it(request: RouteRequest) -> None:
        raise error

    async def work(client: httpx.AsyncClient) -> None:
        answer = await client.get("/it")
        assert (answer.status_code, answer.text) == (500, '{"error":"internal error"}')

    use(server, work)
    assert "the route '/it'" in caplog.text
    assert "failed" in caplog.text


def test_a_handler_has_the_time_limit_of_a_call() -> None:
    server = Server("shop", options=Options(timeout=0.01))

    @server.custom_route("/it")
    async def it(request: RouteRequest) -> None:
        await asyncio.Event().wait()

    async def work(client: httpx.AsyncClient) -> None:
        assert (await client.get("/it")).status_code == 500

    use(server, work)


def test_a_handler_that_outlasts_the_shutdown_is_answered_with_503() -> None:
    server = Server("shop", options=Options(grace=0.01))
    begun = asyncio.Event()

    @server.custom_route("/it")
    async def it(request: RouteRequest) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def run() -> None:
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(serve_http(server, port=0, on_ready=ready.set_result))
        async with asyncio.timeout(CAP), httpx.AsyncClient(timeout=CAP) as client:
            asking = asyncio.create_task(client.get(f"http://127.0.0.1:{await ready}/it"))
            await begun.wait()
            serving.cancel()
            assert (await asking).status_code == 503
            await asyncio.wait([serving])

    asyncio.run(run())


SHOP = """
from dovetail import Server

server = Server("shop")


@server.tool
async def price(item: str) -> int:
    return len(item)


@server.custom_route("/health")
async def health(request):
    return {"status": "ok"}


@server.custom_route("/orders", methods=["POST"])
def order(request):
    return request.json()
"""


@pytest.mark.parametrize("parser", ["httptools", "h11"])
def test_dovetail_run_serves_them_beside_both_eras(tmp_path: Path, parser: str) -> None:
    file = tmp_path / "shop.py"
    file.write_text(SHOP, "utf-8")
    words = [sys.executable, "-m", "dovetail", "run", str(file), "--http=0"]

    async def run() -> None:
        async with (
            serving_http([*words, f"--http-parser={parser}"]) as [url],
            httpx.AsyncClient(timeout=CAP) as plain,
        ):
            for mode in ("2025-11-25", "2026-07-28"):
                async with Client(url, mode=mode, timeout=CAP) as client:
                    for number in range(2):
                        answer = await plain.get(urljoin(url, "/health"))
                        assert answer.json() == {"status": "ok"}
                        answer = await plain.post(urljoin(url, "/orders"), json=[number])
                        assert answer.json() == [number]
                        assert (await client.call("price", {"item": "tea"})).data == 3
            refused = await plain.get(urljoin(url, "/health"), headers={"host": "evil.example"})
            assert refused.status_code == 403

    asyncio.run(run())


def test_a_route_of_a_mounted_server_has_its_lifespan_and_its_guard(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    keys.add("anna")

    @contextlib.asynccontextmanager
    async def lifespan(_: Server) -> AsyncIterator[str]:
        yield "of the shop"

    shop = Server("shop", lifespan=lifespan, guard=Guard(ApiKeys(keys.path)))
    shop.custom_route("/state")(lambda request: request.lifespan)
    shop.custom_route("/secret", guarded=True)(lambda request: "secret")
    outer = Server("outer")
    outer.mount(shop, "shop")

    async def work(client: httpx.AsyncClient) -> None:
        assert (await client.get("/state")).text == "of the shop"
        # The outer server has no guard that could tell who it is.
        assert (await client.get("/secret")).status_code == 403

    use(outer, work)

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from dovetail.auth import Guard, Principal
from dovetail_console.traffic import Traffic
from dovetail_console.watching import WatchedApp, WatchedAuth
from tests.console.pages import browse, make_server, take

ACCEPT = {"Accept": "application/json, text/event-stream"}


def watch(*bodies: Any, headers: dict[str, str] | None = None, **options: Any) -> list[Any]:
    """The frames of requests to a server."""
    traffic = Traffic()
    server = make_server()

    @server.tool
    async def progress(ctx: Any) -> str:
        return "done"

    app = server.http_app(**options)
    watched = WatchedApp(app, traffic, {"/mcp": app})

    async def use(client: httpx.AsyncClient) -> list[Any]:
        for body in bodies:
            await client.post("/mcp", json=body, headers={**ACCEPT, **(headers or {})})
        return await take(traffic, 2 * len(bodies))

    return browse(watched, use)


CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "add", "arguments": {"a": 1, "b": 2}},
}


def test_a_request_and_its_response_are_one_stream() -> None:
    sent, received = watch(CALL, stateless=True, headers={"Authorization": "Bearer secretsecret"})
    assert sent["target"] == received["target"] == "add"
    assert received["method"] == "tools/call"
    assert (sent["direction"], sent["kind"], sent["method"]) == ("out", "request", "tools/call")
    assert json.loads(sent["text"]) == CALL
    assert sent["http"]["method"] == "POST"
    assert sent["http"]["url"] == "/mcp"
    assert ["authorization", "[redacted]"] in sent["http"]["headers"]
    assert (received["direction"], received["kind"], received["id"]) == ("in", "response", 1)
    assert received["http"]["status"] == 200
    assert received["stream"] == sent["stream"]
    assert received["ms"] >= 0
    assert "secretsecret" not in json.dumps([sent, received])


class ShopKeys:
    """Knows whoever has a key, at once or later."""

    credential_headers = (b"x-shop-key",)

    def __init__(self, *, later: bool) -> None:
        self._later = later

    def authenticate(self, credentials: Any) -> Any:
        found = Principal("key:ab12") if b"x-shop-key" in credentials.headers else None

        async def wait() -> Any:
            return found

        return wait() if self._later else found


def make_guard(*, later: bool = False) -> Any:
    return WatchedAuth(Guard(ShopKeys(later=later)))


@pytest.mark.parametrize("later", [False, True])
def test_the_principal_is_shown_and_its_key_is_not(later: bool) -> None:
    guard = make_guard(later=later)
    headers = {"X-Shop-Key": "secretsecret"}
    frames = watch(CALL, stateless=True, guard=guard, headers=headers)
    assert [frame["principal"] for frame in frames] == ["key:ab12", "key:ab12"]
    assert "secretsecret" not in json.dumps(frames)


def test_a_refused_request_is_shown_without_its_body() -> None:
    sent, received = watch(CALL, guard=make_guard())
    assert (sent["kind"], sent["text"], sent["principal"]) == ("http", "", None)
    assert received["http"]["status"] == 401


def test_a_watched_guard_answers_as_the_guard_does() -> None:
    guard = make_guard()
    assert guard.requires_auth
    assert guard.page("/", "/mcp") is None


def test_each_event_of_a_stream_is_a_frame_and_a_huge_one_is_left_out() -> None:
    events = [
        b"data: {}\n\n",
        b"data: " + b"x" * 2_000_000 + b"\n\n",
        b'data: {"id":1,"result":1}\n\n',
    ]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for event in events:
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    traffic = Traffic()

    async def use(client: httpx.AsyncClient) -> list[Any]:
        await client.post("/mcp", json=CALL)
        return await take(traffic, 5)

    endpoint = make_server().http_app()
    frames = browse(WatchedApp(app, traffic, {"/mcp": endpoint}), use)  # type: ignore[arg-type]
    assert [frame["kind"] for frame in frames] == ["request", "http", "http", "http", "response"]
    assert frames[1]["http"]["status"] == 200
    assert "not recorded" in frames[3]["text"]


def test_other_paths_are_not_recorded() -> None:
    traffic = Traffic()
    app = make_server().http_app(health=True)
    watched = WatchedApp(app, traffic, {"/mcp": app})

    async def use(client: httpx.AsyncClient) -> list[Any]:
        assert (await client.get("/healthz")).status_code == 200
        await client.post("/mcp", json=CALL, headers=ACCEPT)
        return await take(traffic, 1)

    [frame] = browse(watched, use)
    assert frame["http"]["url"] == "/mcp"


def test_no_request_skips_the_recording() -> None:
    app = make_server().http_app()
    assert WatchedApp(app, Traffic(), {"/mcp": app}).is_validated(None) is False

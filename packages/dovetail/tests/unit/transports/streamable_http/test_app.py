"""The application: what it lets in, where it answers, and which era it hands a request to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dovetail import Options, Server
from dovetail.errors import UsageError
from tests.patience import CAP
from tests.unit.talk import BATCHES, LEGACY, MODERN, notification, request, run, text_of
from tests.unit.transports.streamable_http.asgi_client import Client, Message, Pairs, Response
from tests.unit.transports.streamable_http.workshop import Workshop

DISCOVER = request("server/discover", revision=MODERN)
HEADERS = [("mcp-protocol-version", MODERN), ("mcp-method", "server/discover")]


def sent(*args: Any, app: dict[str, Any] | None = None, server: Any = ..., **how: Any) -> Response:
    """A modern request that is fine, but for what the test changes; twice, as clients do."""

    async def play() -> Response:
        client = Workshop(app).client
        if server is not ...:
            client.server = server
        arguments = args or ("POST", DISCOVER, HEADERS)
        first = await client.send(*arguments, **how)
        second = await client.send(*arguments, **how)
        assert (first.status, first.body) == (second.status, second.body)
        return second

    return run(play())


def with_header(name: str, value: str) -> Response:
    return sent("POST", DISCOVER, [*HEADERS, (name, value)])


# -- content ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "Application/JSON ;x=y"]
)
def test_json_comes_in(kind: str) -> None:
    assert with_header("content-type", kind).status == 200


@pytest.mark.parametrize("kind", ["text/plain", "", "application/jsonx", "multipart/form-data"])
def test_what_is_not_json_is_a_415(kind: str) -> None:
    response = with_header("content-type", kind)
    assert (response.status, response.code) == (415, -32600)
    assert response.json.get("id") is None


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "",
        "*/*",
        "application/*",
        "application/json",
        "APPLICATION/JSON",
        "text/html, */*;q=0.1",
        "text/event-stream, application/json;q=0.9",
    ],
)
def test_whoever_takes_json_is_answered(accept: str | None) -> None:
    assert sent(accept=accept).status == 200


@pytest.mark.parametrize("accept", ["text/html", "text/event-stream", "image/*"])
def test_whoever_takes_no_json_gets_a_406(accept: str) -> None:
    response = sent(accept=accept)
    assert (response.status, response.code) == (406, -32600)


def test_what_is_accepted_may_come_on_several_lines() -> None:
    more: Pairs = [("accept", "application/json"), ("accept", "text/event-stream")]
    assert sent("POST", DISCOVER, [*HEADERS, *more], accept=None).status == 200
    assert sent("POST", DISCOVER, [*HEADERS, ("cookie", "a"), ("cookie", "b")]).status == 200


@pytest.mark.parametrize(
    ("accept", "status"),
    [("text/event-stream", 400), ("*/*", 400), ("text/*", 400), ("application/json", 406)],
)
def test_a_get_is_for_whoever_takes_events(accept: str, status: int) -> None:
    # It gets as far as the session that it has not got.
    assert sent("GET", b"", accept=accept).status == status


def test_a_body_over_the_limit_is_a_413_declared_or_not() -> None:
    async def play() -> None:
        client = Workshop(options=Options(max_message_bytes=1000)).client
        for response in (
            await client.send("POST", b"", [("content-length", "1001")]),
            await client.send("POST", b"x" * 1001),
        ):
            assert (response.status, response.code) == (413, -32600)
            assert response.headers["connection"] == "close"
        streamed = client.start("POST", None)
        for _ in range(3):
            streamed.upload(b"x" * 400, more=True)
        assert (await streamed.done()).status == 413

    run(play())


def test_a_body_that_takes_too_long_is_a_408() -> None:
    async def play() -> None:
        client = Workshop({"body_timeout": 0.001}).client
        response = client.start("POST", None)
        response.upload(b"{", more=True)
        await response.done()
        assert (response.status, response.code) == (408, -32600)

    run(play())


def test_a_client_that_leaves_before_it_has_said_anything_gets_nothing() -> None:
    async def play() -> None:
        response = Workshop().client.start("POST", None)
        response.disconnect()
        await response.done()
        assert response.status == 0

    run(play())


# -- who may come in --------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    ("host", "origin"),
    [("evil.example", None), ("localhost:8000", "http://evil.example")],
)
def test_a_foreign_host_or_origin_is_a_403(method: str, host: str, origin: str | None) -> None:
    headers = [("origin", origin)] if origin is not None else []
    response = sent(method, DISCOVER, headers + HEADERS, host=host)
    assert (response.status, response.code) == (403, -32600)
    assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS"])
def test_a_request_without_a_host_is_a_400(method: str) -> None:
    response = sent(method, DISCOVER, HEADERS, host=None)
    assert (response.status, response.code) == (400, -32600)
    assert response.headers["connection"] == "close"


def test_somebody_who_was_let_in_opens_the_door_for_nobody_else() -> None:
    async def play() -> None:
        client = Workshop().client
        assert (await client.send("POST", DISCOVER, HEADERS)).status == 200
        foreign = [*HEADERS, ("origin", "http://evil.example")]
        for response, status in (
            (await client.send("POST", DISCOVER, HEADERS, host="evil.example"), 403),
            (await client.send("POST", DISCOVER, foreign), 403),
            (await client.send("POST", DISCOVER, [*HEADERS, ("host", "localhost:8000")]), 400),
            (await client.send("POST", DISCOVER, HEADERS, path="/other"), 404),
            (await client.send("POST", DISCOVER, HEADERS, accept="text/html"), 406),
            (await client.send("PUT", DISCOVER, HEADERS), 405),
            (await client.send("POST", DISCOVER, HEADERS), 200),
        ):
            assert response.status == status

    run(play())


@pytest.mark.parametrize("server", [None, ["127.0.0.1", 8000], ("/run/app.sock", None)])
def test_servers_describe_their_address_in_several_ways(server: Any) -> None:
    assert sent(server=server).status == 200


def test_hosts_can_be_named() -> None:
    hosts = {"allowed_hosts": ["mcp.example"]}
    assert sent(app=hosts, host="mcp.example").status == 200
    assert sent(app=hosts).status == 403


def test_pages_that_were_named_may_ask_and_read() -> None:
    async def play() -> None:
        client = Workshop({"allowed_origins": ["https://app.example"]}).client
        origin = ("origin", "https://app.example")
        preflight = await client.send(
            "OPTIONS", b"", [origin, ("access-control-request-method", "POST")], accept=None
        )
        assert preflight.status == 204
        posted = await client.send("POST", DISCOVER, [*HEADERS, origin])
        assert posted.status == 200
        for response in (preflight, posted):
            headers = response.headers
            assert headers["access-control-allow-origin"] == "https://app.example"
            assert "POST" in headers["access-control-allow-methods"]
            assert "authorization" in headers["access-control-allow-headers"]
            assert "mcp-session-id" in headers["access-control-expose-headers"]
            assert headers["vary"] == "origin"

    run(play())


def test_a_page_of_this_machine_may_ask_but_is_promised_nothing() -> None:
    response = with_header("origin", "http://localhost:6274")
    assert response.status == 200
    assert "access-control-allow-origin" not in response.headers


def test_options_tell_what_is_served() -> None:
    response = sent("OPTIONS", b"")
    assert (response.status, response.headers["allow"]) == (204, "POST, GET, DELETE, OPTIONS")
    assert "content-length" not in response.headers


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "TRACE", "BREW"])
def test_another_method_is_a_405(method: str) -> None:
    response = sent(method, b"")
    assert response.status == 405
    assert response.headers["allow"] == "POST, GET, DELETE, OPTIONS"


@pytest.mark.parametrize(
    "name",
    [
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-session-id",
        "mcp-param-x",
        "host",
        "origin",
    ],
)
def test_a_header_that_decides_something_must_not_be_there_twice(name: str) -> None:
    value = {"host": "localhost:8000", "origin": "http://localhost"}.get(name, MODERN)
    copies = [(name, value)] * (1 if name == "host" else 2)
    others = [(n, v) for n, v in HEADERS if n != name]
    response = sent("POST", DISCOVER, others + copies)
    assert (response.status, response.code) == (400, -32600)


# -- where it answers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "root", "path"),
    [
        ("/mcp", "", "/mcp"),
        ("/mcp", "", "/mcp/"),
        ("/mcp/", "", "/mcp"),
        ("/mcp", "/api", "/api/mcp"),
        ("/mcp", "/api", "/api/mcp/"),
        ("/mcp", "/api/", "/api/mcp"),
        # A server that takes the prefix off.
        ("/mcp", "/api", "/mcp"),
        ("/mcp", "/m", "/mcp"),
        ("/mcp", "/mcp", "/mcp/mcp"),
        ("", "/tools", "/tools"),
        ("", "/tools", "/tools/"),
        ("/", "", "/"),
        ("", "", ""),
        ("/a/b", "/c/d", "/c/d/a/b"),
    ],
)
def test_it_answers_on_its_path_wherever_it_is_mounted(own: str, root: str, path: str) -> None:
    async def play() -> Response:
        client = Client(Workshop({"path": own}).app, root_path=root)
        return await client.send("POST", DISCOVER, HEADERS, path=path)

    assert run(play()).status == 200


@pytest.mark.parametrize(
    ("root", "path"),
    [("", "/"), ("", "/mcpx"), ("", "/mcp/x"), ("", "/MCP"), ("/api", "/api"), ("/a", "/ab/mcp")],
)
def test_elsewhere_it_is_not_found(root: str, path: str) -> None:
    async def play() -> Response:
        client = Client(Workshop().app, root_path=root)
        return await client.send("POST", DISCOVER, HEADERS, path=path)

    response = run(play())
    assert (response.status, response.json) == (404, {"error": "not found"})


def test_a_path_begins_with_a_slash() -> None:
    with pytest.raises(UsageError, match="slash"):
        Server("s").http_app("mcp")


def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        Server("s").http_app(colour="blue")  # type: ignore[call-overload]


# -- which era --------------------------------------------------------------------------------


def test_both_eras_are_served_at_one_address() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open(BATCHES)
        other = shop.another()
        modern = await other.modern_call("echo", {"text": "new"}).done()
        legacy = await client.call("echo", {"text": "old"}).done()
        assert text_of(modern.json["result"]) == "new"
        assert text_of(legacy.json["result"]) == "old"

    run(play())


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (notification("notifications/cancelled", {"requestId": 1}), 202, None),
        (b"{", 400, -32700),
        (b"[]", 400, -32600),
        (b"[" + DISCOVER + b"]", 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 400, -32602),
    ],
)
def test_a_modern_body_is_one_request_or_notification(
    body: bytes, status: int, code: int | None
) -> None:
    response = sent("POST", body, [("mcp-protocol-version", MODERN)])
    assert response.status == status
    if code is None:
        assert response.body == b""
    else:
        assert response.code == code


@pytest.mark.parametrize("params", [None, {"_meta": 5}, {"_meta": {}}])
def test_a_body_that_says_nothing_of_itself_is_an_old_one(params: Any) -> None:
    response = sent("POST", request("tools/list", params))
    assert (response.status, response.code) == (400, -32600)
    assert "Mcp-Session-Id" in response.json["error"]["message"]


# -- lifespan ---------------------------------------------------------------------------------


class Host:
    """What runs the application."""

    def __init__(self, **options: Any) -> None:
        self.steps: list[str] = []

        @asynccontextmanager
        async def lifespan(server: Any) -> AsyncIterator[None]:
            if options.get("fails"):
                raise OSError("no database")
            self.steps.append("up")
            yield
            self.steps.append("down")

        self.server = Server("s", lifespan=lifespan)
        self.server.tool(_echo)
        self.app = self.server.http_app()
        self.inbox: asyncio.Queue[Message] = asyncio.Queue()
        self.outbox: asyncio.Queue[Message] = asyncio.Queue()

    def start(self, type: str = "lifespan") -> asyncio.Task[None]:
        scope = {"type": type}
        return asyncio.ensure_future(self.app(scope, self.inbox.get, self.outbox.put))

    async def say(self, type: str) -> Message:
        await self.inbox.put({"type": type})
        async with asyncio.timeout(CAP):
            return await self.outbox.get()


async def _echo(text: str) -> str:
    return text


def test_the_lifespan_of_whoever_runs_it_is_the_servers() -> None:
    async def play() -> None:
        host = Host()
        task = host.start()
        host.inbox.put_nowait({"type": "lifespan.unheard-of"})
        assert await host.say("lifespan.startup") == {"type": "lifespan.startup.complete"}
        assert host.steps == ["up"]
        client = Client(host.app)
        assert (await client.modern_call("_echo", {"text": "a"}).done()).status == 200
        listening = client.modern("subscriptions/listen", {"notifications": {}})
        await listening.hear("notifications/subscriptions/acknowledged")
        assert await host.say("lifespan.shutdown") == {"type": "lifespan.shutdown.complete"}
        await listening.done()
        await task
        assert host.steps == ["up", "down"]

    run(play())


def test_a_lifespan_that_fails_is_told() -> None:
    async def play() -> None:
        host = Host(fails=True)
        task = host.start()
        said = await host.say("lifespan.startup")
        assert said == {"type": "lifespan.startup.failed", "message": "no database"}
        with pytest.raises(OSError, match="no database"):
            await task

    run(play())


def test_without_a_lifespan_the_first_request_starts_the_server() -> None:
    async def play() -> None:
        host = Host()
        client = await Client(host.app).open(LEGACY)
        assert host.steps == ["up"]
        await client.post("ping").done()
        assert host.steps == ["up"]
        await host.server.close()

    run(play())


def test_a_websocket_is_closed() -> None:
    async def play() -> None:
        host = Host()
        await host.start("websocket")
        assert await host.outbox.get() == {"type": "websocket.close", "code": 1000}

    run(play())


def test_what_is_remembered_of_requests_is_bounded() -> None:
    async def play() -> None:
        workshop = Workshop(None)
        for number in range(1100):
            workshop.client.server = ("127.0.0.1", number)
            assert (await workshop.client.send("POST", DISCOVER, HEADERS)).status == 200
        assert 0 < len(workshop.app._validated) <= 1024

    run(play())

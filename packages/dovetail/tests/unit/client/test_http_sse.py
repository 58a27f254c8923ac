"""The HTTP+SSE transport of 2024-11-05: detection, use with several servers, and failures."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from dovetail import Server
from dovetail.cli.app import app as command_line
from dovetail.client import Change, Client, http_channel
from dovetail.client.http_channel import HttpChannel
from dovetail.errors import PeerError, RpcError, TransportError
from dovetail.wire import codec
from tests.patience import CAP, pass_time
from tests.peers.own_server import server
from tests.peers.scripted import INITIALIZED, run
from tests.unit.client.fake_http import Heard, Serve, Wire, answer, fake_http
from tests.unit.client.real_http import serving, serving_peer

TOOL = {"content": [{"type": "text", "text": "done"}]}
INBOX = "/inbox?session=1"


class OldServer:
    """Scripted: POST to the stream's URL is refused, GET opens it, answers come on it."""

    def __init__(
        self,
        endpoint: str = INBOX,
        *,
        refusal: int = 405,
        body: bytes = b"Method Not Allowed",
        taken: int = 202,
    ) -> None:
        self.endpoint = endpoint
        self.refusal = refusal
        self.body = body
        self.taken = taken
        self.stream: Wire | None = None
        self.is_left = asyncio.Event()

    async def __call__(self, heard: Heard, wire: Wire) -> None:
        if heard.verb == "GET":
            self.stream = wire
            await wire.start_events()
            await wire.event(self.endpoint.encode(), event=b"endpoint")
            await wire.gone()
            self.is_left.set()
        elif not heard.target.startswith("/inbox"):
            kind = "application/json" if self.body.startswith(b"{") else "text/plain"
            await wire.respond(self.refusal, self.body, kind)
        else:
            await self.post(heard, wire)

    async def post(self, heard: Heard, wire: Wire) -> None:
        assert self.stream is not None
        await wire.respond(self.taken, b"Accepted", "text/plain")
        if heard.method == "initialize":
            await self.stream.event(answer(heard, INITIALIZED), event=b"message")
        elif heard.method == "ping":
            await self.stream.event(answer(heard, {}), event=b"message")
        elif heard.method == "tools/call":
            await self.call(heard)

    async def call(self, heard: Heard) -> None:
        assert self.stream is not None
        await self.stream.event(b"{}", event=b"heartbeat")
        await self.stream.event(answer(heard, TOOL), event=b"message")


def call_once(serve: Serve, mode: str = "auto", **options: Any) -> list[Heard]:
    async def use() -> list[Heard]:
        async with fake_http(serve) as fake:
            async with Client(fake.url, mode=mode, timeout=CAP, **options) as client:
                assert (await client.call("work")).text == "done"
            return fake.heard

    heard: list[Heard] = run(use())
    return heard


# -- finding it -----------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 404, 405])
@pytest.mark.parametrize(
    "body", [b"", b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"GET me"}}']
)
def test_a_server_that_rejects_post_is_tried_with_http_sse(status: int, body: bytes) -> None:
    heard = call_once(OldServer(refusal=status, body=body))
    assert [(one.verb, one.target, one.method) for one in heard] == [
        ("POST", "/mcp", "server/discover"),
        ("POST", "/mcp", "initialize"),
        ("GET", "/mcp", ""),
        ("POST", INBOX, "initialize"),
        ("POST", INBOX, "notifications/initialized"),
        ("POST", INBOX, "tools/call"),
    ]
    assert heard[2].headers["accept"] == "text/event-stream"


@pytest.mark.parametrize("taken", [200, 201])
def test_any_success_status_accepts_a_message(taken: int) -> None:
    call_once(OldServer(taken=taken), "legacy")


@pytest.mark.parametrize("code", [-32020, -32021, -32022, -32601])
def test_errors_of_newer_servers_do_not_trigger_the_fallback(code: int) -> None:
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"new"}}' % code

    async def use() -> list[str]:
        async with fake_http(OldServer(refusal=400, body=body)) as fake:
            with pytest.raises(RpcError, match="new"):
                async with Client(fake.url, mode="legacy", timeout=CAP):
                    pass
            return fake.methods()

    assert run(use()) == ["initialize"]


@pytest.mark.parametrize(
    "body", [b'{"jsonrpc":"2.0","id":null,"error":{"code":"x","message":"odd"}}', b"odd"]
)
def test_without_a_stream_the_original_error_is_raised(body: bytes) -> None:
    async def serve(heard: Heard, wire: Wire) -> None:
        await wire.respond(405 if heard.verb == "GET" else 400, body)

    with pytest.raises(
        PeerError,
        match=r"is not valid JSON-RPC|400 Bad Request: odd; it does not support HTTP\+SSE",
    ):
        call_once(serve, "legacy")


def test_without_a_stream_the_error_in_the_body_is_raised() -> None:
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"go away"}}'

    async def serve(heard: Heard, wire: Wire) -> None:
        await wire.respond(400, body)

    with pytest.raises(RpcError, match="go away"):
        call_once(serve, "legacy")


async def _message_first(wire: Wire) -> None:
    await wire.start_events()
    await wire.event(b"{}")
    await wire.gone()


async def _silence(wire: Wire) -> None:
    await wire.start_events()
    await wire.gone()


async def _hang_up(wire: Wire) -> None:
    wire.hang_up()


async def _packed(wire: Wire) -> None:
    await wire.respond(200, b"\x1f\x8b", "text/event-stream", Content_Encoding="gzip")


@pytest.mark.parametrize("stream", [_message_first, _silence, _hang_up, _packed])
def test_a_stream_without_an_endpoint_event_is_not_http_sse(
    stream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_channel, "_ENDPOINT_SECONDS", 0.2)

    async def serve(heard: Heard, wire: Wire) -> None:
        if heard.verb == "GET":
            await stream(wire)
        else:
            await wire.respond(405, kind="")

    with pytest.raises(PeerError, match=r"405 Method Not Allowed; it does not support HTTP\+SSE"):
        call_once(serve, "legacy")


@pytest.mark.parametrize("mode", ["modern", "2026-07-28"])
def test_the_modern_era_does_not_use_http_sse(mode: str) -> None:
    async def use() -> list[str]:
        async with fake_http(OldServer()) as fake:
            with pytest.raises(PeerError, match="405"):
                async with Client(fake.url, mode=mode, timeout=CAP):
                    pass
            return fake.methods()

    assert run(use()) == ["server/discover"]


# -- where to post --------------------------------------------------------------------------


@pytest.mark.parametrize("endpoint", ["{origin}/inbox?session=1", "inbox?session=1", "?a=1"])
def test_the_endpoint_may_be_any_url_reference(endpoint: str) -> None:
    class Spelled(OldServer):
        async def __call__(self, heard: Heard, wire: Wire) -> None:
            self.endpoint = endpoint.format(origin=f"http://{heard.headers['host']}")
            if heard.verb == "POST" and "?" in heard.target:
                await self.post(heard, wire)
            else:
                await super().__call__(heard, wire)

    heard = call_once(Spelled(), "legacy")
    assert heard[-1].target == ("/mcp?a=1" if endpoint == "?a=1" else INBOX)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://elsewhere.example/inbox?key=hidden",
        "//elsewhere.example/inbox?key=hidden",
        "https://127.0.0.1/inbox?key=hidden",
        "http://127.0.0.1:1/inbox?key=hidden",
        "http://me@{host}/inbox?key=hidden",
        "file:///etc/passwd",
        "http://[::1/inbox",
    ],
)
def test_an_endpoint_of_another_origin_is_rejected(endpoint: str) -> None:
    class Elsewhere(OldServer):
        async def __call__(self, heard: Heard, wire: Wire) -> None:
            self.endpoint = endpoint.format(host=heard.headers["host"])
            await super().__call__(heard, wire)

    async def use() -> list[str]:
        async with fake_http(Elsewhere()) as fake:
            allowed = r"as the URL for messages; allowed: a URL of the same origin, http://127"
            with pytest.raises(PeerError, match=allowed) as caught:
                async with Client(fake.url, mode="legacy", timeout=CAP):
                    pass
            assert "hidden" not in str(caught.value)
            return fake.methods()

    assert run(use()) == ["initialize", "GET"]


def test_the_users_headers_are_sent_with_every_request() -> None:
    heard = call_once(OldServer(), headers={"Authorization": "Bearer x"})
    assert {one.headers.get("authorization") for one in heard} == {"Bearer x"}
    assert {one.headers.get("accept-encoding") for one in heard} == {"identity"}


# -- the end --------------------------------------------------------------------------------


@pytest.mark.parametrize("is_torn", [True, False])
def test_requests_fail_when_the_stream_ends_and_later_ones_start_again(is_torn: bool) -> None:
    class Leaving(OldServer):
        waits = asyncio.Event()

        async def call(self, heard: Heard) -> None:
            assert self.stream is not None
            name = heard.message["params"]["name"]
            if name == "wait":
                self.waits.set()
            elif name == "work":
                await super().call(heard)
            else:
                if not is_torn:
                    await self.stream.end_events()
                self.stream.hang_up()

    server = Leaving()

    async def use() -> None:
        async with (
            fake_http(server) as fake,
            Client(fake.url, mode="legacy", timeout=CAP) as client,
        ):
            async with client.subscribe(tools=True) as changes:
                waiting = asyncio.ensure_future(client.call("wait"))
                await server.waits.wait()
                lost = (waiting, client.call("end"), anext(changes))
                for error in await asyncio.gather(*lost, return_exceptions=True):
                    assert isinstance(error, TransportError)
                    assert f"The event stream from {fake.url} ended: " in str(error)
            async with client.subscribe(tools=True) as changes:
                assert (await client.call("work")).text == "done"
                changed = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
                assert server.stream is not None
                await server.stream.event(changed)
                assert await anext(changes) == Change("tools")

    run(use())


def test_an_event_beyond_the_limit_ends_the_stream() -> None:
    class Long(OldServer):
        async def call(self, heard: Heard) -> None:
            assert self.stream is not None
            await self.stream.event(b"x" * 2000)

    async def use() -> None:
        ended: asyncio.Future[TransportError] = asyncio.get_running_loop().create_future()
        async with fake_http(Long()) as fake:
            channel = HttpChannel(fake.url, limit=1000)
            await channel.open(lambda *_: None, ended.set_result)
            await channel.send(codec.encode_request(b"1", "initialize"))
            await channel.send(codec.encode_request(b"2", "tools/call"))
            assert "limit of 1000 bytes" in str(await ended)
            await channel.close()

    run(use())


def test_closing_the_client_closes_the_stream() -> None:
    async def use() -> None:
        serve = OldServer()
        async with fake_http(serve) as fake:
            async with Client(fake.url, mode="legacy", timeout=CAP) as client:
                await client.call("work")
                assert not serve.is_left.is_set()
            await serve.is_left.wait()

    run(use())


def test_a_rejected_message_fails_only_its_request() -> None:
    class Picky(OldServer):
        async def post(self, heard: Heard, wire: Wire) -> None:
            name = heard.message.get("params", {}).get("name")
            if name in ("404", "401"):
                await wire.respond(int(name), b"no session token-1234", "text/plain")
            else:
                await super().post(heard, wire)

    async def use() -> None:
        headers = {"Authorization": "Bearer token-1234"}
        async with (
            fake_http(Picky()) as fake,
            Client(fake.url, mode="legacy", timeout=CAP, headers=headers) as client,
        ):
            with pytest.raises(PeerError, match=r"tools/call with 404 Not Found: no session \*"):
                await client.call("404")
            with pytest.raises(TransportError, match="denies access: 401"):
                await client.call("401")
            assert (await client.call("work")).text == "done"

    run(use())


def test_a_cancelled_request_sends_a_cancellation(caplog: pytest.LogCaptureFixture) -> None:
    class Slow(OldServer):
        async def call(self, heard: Heard) -> None:
            """Never."""
            pass_time(60)
            pass_time(60)

    async def use() -> list[Heard]:
        async with fake_http(Slow()) as fake:
            async with Client(fake.url, mode="legacy", timeout=CAP) as client:
                with pytest.raises(TimeoutError):
                    await client.call("work", timeout=60)
            return fake.heard

    with caplog.at_level(logging.WARNING, "dovetail"):
        last = run(use())[-1]
    assert (last.target, last.method) == (INBOX, "notifications/cancelled")
    assert caplog.text == ""


def test_a_timeout_during_the_fallback_leaks_nothing() -> None:
    async def use() -> None:
        asked, left = asyncio.Event(), asyncio.Event()

        async def serve(heard: Heard, wire: Wire) -> None:
            if heard.verb == "GET":
                asked.set()
                await wire.gone()
                left.set()
            else:
                await wire.respond(405, kind="")

        async with fake_http(serve) as fake:
            opening = asyncio.create_task(Client(fake.url, mode="legacy").__aenter__())
            await asked.wait()
            opening.cancel()
            await left.wait()
            with pytest.raises(asyncio.CancelledError):
                await opening

    run(use())


# -- real servers ---------------------------------------------------------------------------


own = Server("own-old")
_is_waiting = threading.Event()
_is_stopped = threading.Event()


@own.tool
async def wait_forever() -> str:
    """Take all the time there is."""
    _is_waiting.set()
    try:
        await asyncio.Event().wait()
    finally:
        _is_stopped.set()
    return "never"


@pytest.fixture(scope="module")
def old_own() -> Iterator[str]:
    with serving(server.http_app(old_sse="/sse"), "/sse") as url:
        yield url


@pytest.mark.parametrize("mode", ["auto", "legacy", "2024-11-05", "2025-11-25"])
def test_our_own_server_works(old_own: str, mode: str) -> None:
    async def use() -> None:
        steps: list[float] = []
        async with Client(old_own, mode=mode, timeout=CAP) as client:
            assert client.server_info is not None
            assert (await client.call("add", {"a": 1, "b": 2})).text == "3"
            await client.call("climb", {"steps": 2}, progress=lambda s: steps.append(s.progress))
            results = await asyncio.gather(*(client.call("add", {"a": n}) for n in range(20)))
            assert [result.text for result in results] == [str(n + 1) for n in range(20)]
            await client.ping()
        assert steps == [1, 2]

    run(use())


def test_our_own_server_answers_the_command_line(old_own: str) -> None:
    result = CliRunner().invoke(command_line, ["call", old_own, "add", "a=2", "b=40"], obj=[])
    assert (result.exit_code, result.stdout) == (0, "42\n")
    facts = CliRunner().invoke(command_line, ["inspect", old_own, "--json"], obj=[]).stdout
    revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
    assert codec.decode_json(facts.encode())["revisions"] == revisions


def test_a_tool_of_our_own_server_stops_when_its_request_is_cancelled() -> None:
    async def use(url: str) -> None:
        async with Client(url, timeout=CAP) as client:
            call = asyncio.create_task(client.call("wait_forever"))
            assert await asyncio.to_thread(_is_waiting.wait, 4)
            call.cancel()
            assert await asyncio.to_thread(_is_stopped.wait, 4)

    with serving(own.http_app(old_sse="/old/stream"), "/old/stream") as url:
        run(use(url))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "app"),
    [("sdk_server", "server.sse_app()"), ("fastmcp_server", "server.http_app(transport='sse')")],
)
def test_servers_of_other_frameworks_work(module: str, app: str) -> None:
    async def use(url: str) -> None:
        steps: list[float] = []
        logged: list[Any] = []
        async with Client(url, timeout=CAP, on_log=logged.append) as client:
            assert client.revision == "2025-11-25"
            await client.call("climb", {"steps": 2}, progress=lambda s: steps.append(s.progress))
            await client.call("remark", {"text": "hm"})
            assert [prompt.name for prompt in await client.list_prompts()] == ["review"]
            assert (await client.read("memo://days/monday")).text == "sun on monday"
        assert steps == [1, 2]
        assert logged

    with serving_peer(module, app, "/sse") as url:
        run(use(url))


@pytest.mark.slow
def test_the_official_server_requests_input() -> None:
    async def use(url: str) -> None:
        options: dict[str, Any] = {"sample": lambda _: "Paris", "roots": ["/srv"]}
        async with Client(url, timeout=CAP, **options) as client:
            assert (await client.call("capital")).text == "Paris says dovetail"
            assert (await client.call("folders")).text == "file:///srv"

    with serving_peer("sdk_server", "server.sse_app()", "/sse") as url:
        run(use(url))

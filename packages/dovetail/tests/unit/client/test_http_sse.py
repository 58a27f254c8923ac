"""HTTP+SSE of 2024-11-05: found by asking, spoken with anybody, and clear when it breaks."""

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
from dovetail.client import Client, http_old_sse
from dovetail.client.http_channel import HttpChannel
from dovetail.errors import PeerError, RpcError, TransportError
from dovetail.wire import codec
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
        elif heard.method == "tools/call":
            await self.call(heard)

    async def call(self, heard: Heard) -> None:
        assert self.stream is not None
        await self.stream.event(b"{}", event=b"heartbeat")
        await self.stream.event(answer(heard, TOOL), event=b"message")


def call_once(serve: Serve, mode: str = "auto", **options: Any) -> list[Heard]:
    async def use() -> list[Heard]:
        async with fake_http(serve) as fake:
            async with Client(fake.url, mode=mode, timeout=4, **options) as client:
                assert (await client.call("work")).text == "done"
            return fake.heard

    heard: list[Heard] = run(use())
    return heard


# -- finding it -----------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 404, 405])
@pytest.mark.parametrize(
    "body", [b"", b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"GET me"}}']
)
def test_a_server_that_takes_no_post_is_asked_for_its_stream(status: int, body: bytes) -> None:
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
def test_any_success_means_that_a_message_was_taken(taken: int) -> None:
    call_once(OldServer(taken=taken), "legacy")


@pytest.mark.parametrize("code", [-32020, -32021, -32022, -32601])
def test_an_error_that_only_newer_servers_send_is_no_reason_to_look_for_it(code: int) -> None:
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"new"}}' % code

    async def use() -> list[str]:
        async with fake_http(OldServer(refusal=400, body=body)) as fake:
            with pytest.raises(RpcError, match="new"):
                async with Client(fake.url, mode="legacy", timeout=4):
                    pass
            return fake.methods()

    assert run(use()) == ["initialize"]


@pytest.mark.parametrize(
    "body", [b'{"jsonrpc":"2.0","id":null,"error":{"code":"x","message":"odd"}}', b"odd"]
)
def test_without_the_stream_the_refusal_is_told_as_it_was(body: bytes) -> None:
    async def serve(heard: Heard, wire: Wire) -> None:
        await wire.respond(405 if heard.verb == "GET" else 400, body)

    with pytest.raises(PeerError, match=r"does not fit JSON-RPC|400 Bad Request: odd; HTTP\+SSE"):
        call_once(serve, "legacy")


def test_an_error_in_the_body_is_told_where_there_is_no_stream() -> None:
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
def test_a_stream_that_does_not_begin_with_the_endpoint_is_not_it(
    stream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_old_sse, "_ENDPOINT_SECONDS", 0.2)

    async def serve(heard: Heard, wire: Wire) -> None:
        if heard.verb == "GET":
            await stream(wire)
        else:
            await wire.respond(405, kind="")

    with pytest.raises(PeerError, match=r"405 Method Not Allowed; HTTP\+SSE is not served there"):
        call_once(serve, "legacy")


@pytest.mark.parametrize("mode", ["modern", "2026-07-28"])
def test_the_modern_era_has_no_such_transport(mode: str) -> None:
    async def use() -> list[str]:
        async with fake_http(OldServer()) as fake:
            with pytest.raises(PeerError, match="405"):
                async with Client(fake.url, mode=mode, timeout=4):
                    pass
            return fake.methods()

    assert run(use()) == ["server/discover"]


# -- where to post --------------------------------------------------------------------------


@pytest.mark.parametrize("endpoint", ["{origin}/inbox?session=1", "inbox?session=1", "?a=1"])
def test_the_place_to_post_to_may_be_spelled_as_any_reference(endpoint: str) -> None:
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
def test_a_place_of_another_origin_is_refused(endpoint: str) -> None:
    class Elsewhere(OldServer):
        async def __call__(self, heard: Heard, wire: Wire) -> None:
            self.endpoint = endpoint.format(host=heard.headers["host"])
            await super().__call__(heard, wire)

    async def use() -> list[str]:
        async with fake_http(Elsewhere()) as fake:
            allowed = r"to be posted to '.*'; allowed: a place of the same origin, http://127"
            with pytest.raises(PeerError, match=allowed) as caught:
                async with Client(fake.url, mode="legacy", timeout=4):
                    pass
            assert "hidden" not in str(caught.value)
            return fake.methods()

    assert run(use()) == ["initialize", "GET"]


def test_the_users_headers_go_with_every_request() -> None:
    heard = call_once(OldServer(), headers={"Authorization": "Bearer x"})
    assert {one.headers.get("authorization") for one in heard} == {"Bearer x"}
    assert {one.headers.get("accept-encoding") for one in heard} == {"identity"}


# -- the end --------------------------------------------------------------------------------


@pytest.mark.parametrize("is_torn", [True, False])
def test_whoever_waits_when_the_stream_ends_is_told(is_torn: bool) -> None:
    class Leaving(OldServer):
        async def call(self, heard: Heard) -> None:
            assert self.stream is not None
            if is_torn:
                self.stream.hang_up()
            else:
                await self.stream.end_events()

    async def use() -> None:
        async with (
            fake_http(Leaving()) as fake,
            Client(fake.url, mode="legacy", timeout=4) as client,
        ):
            async with client.subscribe(tools=True) as changes:
                calls = (client.call("a"), client.call("b"), anext(changes))
                for error in await asyncio.gather(*calls, return_exceptions=True):
                    assert isinstance(error, TransportError)
                    assert f"The stream of messages from {fake.url} is gone: " in str(error)
            with pytest.raises(TransportError, match="is gone"):
                await client.call("c")
            with pytest.raises(TransportError, match="is gone"):
                async with client.subscribe(tools=True):
                    pass

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
            await channel.open(lambda _: None, ended.set_result)
            await channel.send(codec.encode_request(b"1", "initialize"))
            await channel.send(codec.encode_request(b"2", "tools/call"))
            assert "limit of 1000 bytes" in str(await ended)
            await channel.close()

    run(use())


def test_leaving_closes_the_stream() -> None:
    async def use() -> None:
        serve = OldServer()
        async with fake_http(serve) as fake:
            async with Client(fake.url, mode="legacy", timeout=4) as client:
                await client.call("work")
                assert not serve.is_left.is_set()
            await serve.is_left.wait()

    run(use())


def test_a_message_that_is_refused_fails_its_request_alone() -> None:
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
            Client(fake.url, mode="legacy", timeout=4, headers=headers) as client,
        ):
            with pytest.raises(PeerError, match=r"tools/call with 404 Not Found: no session \*"):
                await client.call("404")
            with pytest.raises(TransportError, match="refuses access: 401"):
                await client.call("401")
            assert (await client.call("work")).text == "done"

    run(use())


def test_who_stops_waiting_says_so(caplog: pytest.LogCaptureFixture) -> None:
    class Slow(OldServer):
        async def call(self, heard: Heard) -> None:
            """Never."""

    async def use() -> list[Heard]:
        async with fake_http(Slow()) as fake:
            async with Client(fake.url, mode="legacy", timeout=4) as client:
                with pytest.raises(TimeoutError):
                    await client.call("work", timeout=0.05)
            return fake.heard

    with caplog.at_level(logging.WARNING, "dovetail"):
        last = run(use())[-1]
    assert (last.target, last.method) == (INBOX, "notifications/cancelled")
    assert caplog.text == ""


def test_a_client_that_gives_up_while_it_looks_leaves_nothing_behind() -> None:
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
def test_our_own_server_is_read_and_called(old_own: str, mode: str) -> None:
    async def use() -> None:
        steps: list[float] = []
        async with Client(old_own, mode=mode, timeout=4) as client:
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


def test_a_tool_of_our_own_server_stops_when_nobody_waits() -> None:
    async def use(url: str) -> None:
        async with Client(url, timeout=4) as client:
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
def test_the_servers_of_others_are_read_and_called(module: str, app: str) -> None:
    async def use(url: str) -> None:
        steps: list[float] = []
        logged: list[Any] = []
        async with Client(url, timeout=15, on_log=logged.append) as client:
            assert client.revision == "2025-11-25"
            await client.call("climb", {"steps": 2}, progress=lambda s: steps.append(s.progress))
            await client.call("remark", {"text": "hm"})
            assert [prompt.name for prompt in await client.list_prompts()] == ["review"]
            assert (await client.read("memo://days/monday")).text == "sun on monday"
        assert steps == [1, 2]
        assert logged

    with serving_peer(module, app, "/sse") as url:
        run(use(url), 18)


@pytest.mark.slow
def test_the_official_server_asks_back() -> None:
    async def use(url: str) -> None:
        options: dict[str, Any] = {"sample": lambda _: "Paris", "roots": ["/srv"]}
        async with Client(url, timeout=15, **options) as client:
            assert (await client.call("capital")).text == "Paris says dovetail"
            assert (await client.call("folders")).text == "file:///srv"

    with serving_peer("sdk_server", "server.sse_app()", "/sse") as url:
        run(use(url), 18)

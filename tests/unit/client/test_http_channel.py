"""The client against scripted HTTP servers: what may go wrong, and what else must not."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any

import pytest

from dovetail.client import Client
from dovetail.client.http_channel import HttpChannel
from dovetail.errors import (
    InternalError,
    InvalidParamsError,
    PeerError,
    RpcError,
    TransportError,
)
from dovetail.wire import codec
from tests.peers.scripted import DISCOVERED, INITIALIZED, run
from tests.unit.client.fake_http import Heard, Serve, Wire, answer, fake_http, legacy, modern

JSON = "application/json"
TOOL = {"content": [{"type": "text", "text": "done"}], "resultType": "complete"}


async def done(heard: Heard, wire: Wire) -> None:
    await wire.result(heard, TOOL)


def call_once(serve: Serve, mode: str = "modern", **options: Any) -> tuple[Any, list[Heard]]:
    async def use() -> tuple[Any, list[Heard]]:
        async with fake_http(serve) as fake:
            async with Client(fake.url, mode=mode, timeout=4, **options) as client:
                text = (await client.call("work")).text
            return text, fake.heard

    said: tuple[Any, list[Heard]] = run(use())
    return said


# -- what is sent ---------------------------------------------------------------------------


def test_a_modern_request_says_what_it_is_in_its_headers() -> None:
    headers = {"Authorization": "Bearer x"}
    text, heard = call_once(modern({"tools/call": done}), headers=headers)
    assert text == "done"
    assert [one.method for one in heard] == ["server/discover", "tools/call"]
    sent = heard[-1].headers
    assert sent["accept"] == "application/json, text/event-stream"
    assert sent["content-type"] == "application/json"
    assert sent["mcp-protocol-version"] == "2026-07-28"
    assert sent["mcp-method"] == "tools/call"
    assert sent["mcp-name"] == "work"
    assert sent["authorization"] == "Bearer x"
    assert "mcp-session-id" not in sent


def test_a_legacy_client_keeps_its_session_and_ends_it() -> None:
    text, heard = call_once(legacy({"tools/call": done}), "legacy")
    assert text == "done"
    assert [one.method or one.verb for one in heard] == [
        "initialize",
        "notifications/initialized",
        "GET",
        "tools/call",
        "DELETE",
    ]
    first, *others = (one.headers for one in heard)
    assert "mcp-session-id" not in first
    assert "mcp-protocol-version" not in first
    for headers in others:
        assert headers["mcp-session-id"] == "s1"
        assert headers["mcp-protocol-version"] == "2025-11-25"
    assert heard[2].headers["accept"] == "text/event-stream"


def test_connections_are_kept_for_the_next_request() -> None:
    async def use() -> int:
        async with fake_http(modern({"tools/call": done})) as fake:
            async with Client(fake.url, mode="modern") as client:
                for _ in range(5):
                    await client.call("work")
            return fake.connections

    assert run(use()) == 1


def test_the_query_of_a_url_is_sent_and_not_shown() -> None:
    async def use() -> None:
        async with (
            fake_http(modern({"tools/call": _gateway})) as fake,
            Client(fake.url + "?key=secret", mode="modern") as client,
        ):
            assert fake.heard[0].target == "/mcp?key=secret"
            with pytest.raises(TransportError, match="502") as caught:
                await client.call("work")
            assert "secret" not in str(caught.value)

    run(use())


# -- which era ------------------------------------------------------------------------------


async def _unsupported(heard: Heard, wire: Wire) -> None:
    await wire.error(heard, 400, -32022, data={"supported": ["2026-07-28"], "requested": "x"})


def test_a_modern_error_in_a_refusal_keeps_the_client_modern() -> None:
    tries: list[str] = []

    async def discover(heard: Heard, wire: Wire) -> None:
        tries.append(heard.method)
        await (_unsupported(heard, wire) if len(tries) == 1 else wire.result(heard, DISCOVERED))

    text, heard = call_once(modern({"server/discover": discover, "tools/call": done}), "auto")
    assert text == "done"
    assert "initialize" not in [one.method for one in heard]


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, b"", ""),
        (400, b"Bad Request: Missing session ID", "text/plain"),
        (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}', JSON),
        (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}', JSON),
        (404, b"Not Found", "text/html"),
        (405, b"", ""),
        (406, b"", ""),
        (500, b"oops", "text/plain"),
        (200, b"<html>", "text/html"),
        (200, b"{", JSON),
    ],
)  # fmt: skip
def test_any_other_answer_means_legacy(status: int, body: bytes, kind: str) -> None:
    async def discover(heard: Heard, wire: Wire) -> None:
        await wire.respond(status, body, kind)

    text, heard = call_once(legacy({"server/discover": discover, "tools/call": done}), "auto")
    assert text == "done"
    assert [one.method for one in heard[:2]] == ["server/discover", "initialize"]


def test_a_server_that_hangs_up_on_the_probe_is_met_as_legacy() -> None:
    async def discover(heard: Heard, wire: Wire) -> None:
        wire.hang_up()

    assert call_once(legacy({"server/discover": discover, "tools/call": done}), "auto")[0] == "done"


@pytest.mark.parametrize("mode", ["auto", "modern", "legacy"])
@pytest.mark.parametrize("status", [401, 403])
def test_who_is_not_let_in_reads_why(mode: str, status: int) -> None:
    async def serve(heard: Heard, wire: Wire) -> None:
        await wire.respond(status, b"Token expired", "text/plain", WWW_Authenticate="Bearer x=1")

    async def use() -> int:
        async with fake_http(serve) as fake:
            with pytest.raises(TransportError, match=rf"refuses access: {status}.*Bearer x=1") as e:
                async with Client(fake.url, mode=mode):
                    pass
            assert "Token expired" in str(e.value)
            return len(fake.heard)

    assert run(use()) == 1


@pytest.mark.parametrize("mode", ["auto", "modern", "legacy"])
def test_nobody_listens(mode: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    async def use() -> None:
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode):
            pass

    with pytest.raises(TransportError, match=rf"127.0.0.1:{port}/mcp: nothing listens there"):
        run(use())


# -- answers that make no sense -------------------------------------------------------------


async def _cut_json(heard: Heard, wire: Wire) -> None:
    await wire.raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
    )
    wire.hang_up()


async def _no_http(heard: Heard, wire: Wire) -> None:
    await wire.raw(b"SSH-2.0-OpenSSH\r\n\r\n")
    wire.hang_up()


async def _other_id(heard: Heard, wire: Wire) -> None:
    await wire.respond(200, b'{"jsonrpc":"2.0","id":999,"result":{}}')


async def _html(heard: Heard, wire: Wire) -> None:
    await wire.respond(200, b"<html>", "text/html; charset=utf-8")


async def _accepted(heard: Heard, wire: Wire) -> None:
    await wire.respond(202, kind="")


async def _moved(heard: Heard, wire: Wire) -> None:
    await wire.respond(307, kind="", Location="http://elsewhere/mcp/")


async def _gateway(heard: Heard, wire: Wire) -> None:
    await wire.respond(502, b"<h1>Bad\n gateway</h1>", "text/html")


async def _short_stream(heard: Heard, wire: Wire) -> None:
    await wire.start_events()
    await wire.event(b'{"jsonrpc":"2.0","method":"notifications/x"}', id=b"1")
    await wire.end_events()


async def _torn_stream(heard: Heard, wire: Wire) -> None:
    await wire.start_events()
    wire.hang_up()


async def _bad_error(heard: Heard, wire: Wire) -> None:
    await wire.respond(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":"x"}}')


@pytest.mark.parametrize(
    ("serve", "error", "text"),
    [
        (_cut_json, TransportError, "broke off"),
        (_no_http, TransportError, "sent no HTTP"),
        (_other_id, PeerError, "JSON that is no answer to it"),
        (_html, PeerError, "answered tools/call with text/html; allowed"),
        (_accepted, PeerError, "202 Accepted"),
        (_moved, PeerError, "moved to http://elsewhere/mcp/"),
        (_gateway, TransportError, "502 Bad Gateway: <h1>Bad gateway</h1>"),
        (_short_stream, TransportError, "ended before tools/call was answered"),
        (_torn_stream, TransportError, "broke off"),
        (_bad_error, PeerError, "does not fit JSON-RPC"),
    ],
)
def test_a_broken_answer_ends_its_request_and_nothing_else(
    serve: Serve, error: type[Exception], text: str
) -> None:
    async def use() -> None:
        async with (
            fake_http(modern({"tools/call": serve, "tools/list": _no_tools})) as fake,
            Client(fake.url, mode="modern", timeout=4) as client,
        ):
            with pytest.raises(error, match=text) as caught:
                await client.call("work")
            assert fake.url in str(caught.value) or error is PeerError
            assert await client.list_tools() == []

    run(use())


async def _no_tools(heard: Heard, wire: Wire) -> None:
    await wire.result(heard, {"tools": [], "resultType": "complete"})


@pytest.mark.parametrize("is_stream", [False, True])
def test_an_answer_beyond_the_limit_is_refused(is_stream: bool) -> None:
    async def serve(heard: Heard, wire: Wire) -> None:
        if is_stream:
            await wire.start_events()
            await wire.event(answer(heard, {"x": "x" * 2000}))
        else:
            await wire.result(heard, {"x": "x" * 2000})

    async def use() -> None:
        async with fake_http(serve) as fake:
            channel = HttpChannel(fake.url, limit=1000)
            await channel.open(lambda _: None, lambda _: None)
            try:
                await channel.send(codec.encode_request(b"1", "ping"))
            finally:
                await channel.close()

    with pytest.raises(PeerError, match="limit of 1000 bytes"):
        run(use())


def test_an_error_without_an_id_is_about_the_request_it_answers() -> None:
    async def serve(heard: Heard, wire: Wire) -> None:
        name = heard.message["params"]["name"]
        code = -32602 if name == "a" else -32603
        error = {"code": code, "message": name}
        await wire.respond(400, codec.encode({"jsonrpc": "2.0", "id": None, "error": error}))

    async def use() -> None:
        async with (
            fake_http(modern({"tools/call": serve})) as fake,
            Client(fake.url, mode="modern") as client,
        ):
            first, second = await asyncio.gather(
                client.call("a"), client.call("b"), return_exceptions=True
            )
            assert isinstance(first, InvalidParamsError)
            assert isinstance(second, InternalError)

    run(use())


def test_a_closed_channel_sends_nothing() -> None:
    async def use() -> None:
        channel = HttpChannel("http://127.0.0.1:1/mcp")
        await channel.open(lambda _: None, lambda _: None)
        await channel.close()
        await channel.close()
        await channel.send(b"{}")

    with pytest.raises(TransportError, match="closed"):
        run(use())


# -- modern streams -------------------------------------------------------------------------


def test_cancelling_closes_the_response_and_says_no_more() -> None:
    async def use() -> list[str]:
        started, closed = asyncio.Event(), asyncio.Event()

        async def serve(heard: Heard, wire: Wire) -> None:
            await wire.start_events()
            started.set()
            await wire.gone()
            closed.set()

        async with (
            fake_http(modern({"tools/call": serve})) as fake,
            Client(fake.url, mode="modern") as client,
        ):
            call = asyncio.create_task(client.call("work"))
            await started.wait()
            call.cancel()
            await closed.wait()
            with pytest.raises(asyncio.CancelledError):
                await call
            return fake.methods()

    assert run(use()) == ["server/discover", "tools/call"]


def test_a_stream_that_is_not_ended_after_the_answer_holds_nobody_up() -> None:
    async def serve(heard: Heard, wire: Wire) -> None:
        await wire.start_events()
        await wire.event(answer(heard, TOOL))
        await wire.gone()

    assert call_once(modern({"tools/call": serve}))[0] == "done"


def test_a_listen_stream_is_closed_by_leaving_the_subscription() -> None:
    async def use() -> list[str]:
        closed = asyncio.Event()

        async def listen(heard: Heard, wire: Wire) -> None:
            meta = {"io.modelcontextprotocol/subscriptionId": heard.message["id"]}
            wanted = heard.message["params"]["notifications"]
            await wire.start_events()
            told = {
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": {"_meta": meta, "notifications": wanted},
            }
            await wire.event(codec.encode(told))
            await wire.gone()
            closed.set()

        async with (
            fake_http(modern({"subscriptions/listen": listen})) as fake,
            Client(fake.url, mode="modern") as client,
        ):
            async with client.subscribe(tools=True) as changes:
                assert changes.refused == ()
            await closed.wait()
            return fake.methods()

    assert run(use()) == ["server/discover", "subscriptions/listen"]


def test_a_listen_stream_that_breaks_says_so() -> None:
    async def use() -> None:
        async def listen(heard: Heard, wire: Wire) -> None:
            meta = {"io.modelcontextprotocol/subscriptionId": heard.message["id"]}
            told = {
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": {"_meta": meta, "notifications": {}},
            }
            await wire.start_events()
            await wire.event(codec.encode(told))
            wire.hang_up()

        async with (
            fake_http(modern({"subscriptions/listen": listen})) as fake,
            Client(fake.url, mode="modern") as client,
            client.subscribe(tools=True) as changes,
        ):
            await anext(changes)

    with pytest.raises(TransportError, match="broke off"):
        run(use())


def test_a_listen_request_that_is_refused_is_an_error() -> None:
    async def use() -> None:
        async with (
            fake_http(modern({})) as fake,
            Client(fake.url, mode="modern") as client,
            client.subscribe(tools=True),
        ):
            pass

    with pytest.raises(RpcError, match="no"):
        run(use())


def test_tools_with_an_invalid_header_are_not_listed(caplog: pytest.LogCaptureFixture) -> None:
    bad = {"type": "object", "properties": {"a": {"type": "array", "x-mcp-header": "A"}}}
    tools = [
        {"name": "good", "inputSchema": {"type": "object"}},
        {"name": "bad", "inputSchema": bad},
    ]

    async def listed(heard: Heard, wire: Wire) -> None:
        await wire.result(heard, {"tools": tools, "resultType": "complete"})

    async def names(mode: str) -> list[str]:
        serve = modern if mode == "modern" else legacy
        async with (
            fake_http(serve({"tools/list": listed})) as fake,
            Client(fake.url, mode=mode) as client,
        ):
            return [tool.name for tool in await client.list_tools()]

    with caplog.at_level(logging.WARNING, "dovetail"):
        assert run(names("modern")) == ["good"]
    assert "'bad'" in caplog.text
    assert run(names("legacy")) == ["good", "bad"]


@pytest.mark.parametrize("is_fixed", [True, False])
def test_a_header_mismatch_is_met_with_a_fresh_list_once(is_fixed: bool) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}

    async def listed(heard: Heard, wire: Wire) -> None:
        page: dict[str, Any] = {"tools": [{"name": "work", "inputSchema": schema}]}
        if "cursor" not in heard.message["params"]:
            page = {"tools": [], "nextCursor": "2"}
        await wire.result(heard, {**page, "resultType": "complete"})

    async def work(heard: Heard, wire: Wire) -> None:
        if is_fixed and heard.headers.get("mcp-param-a") == "x":
            await wire.result(heard, TOOL)
        else:
            await wire.error(heard, 400, -32020)

    async def use() -> list[str]:
        async with (
            fake_http(modern({"tools/list": listed, "tools/call": work})) as fake,
            Client(fake.url, mode="modern") as client,
        ):
            if is_fixed:
                assert (await client.call("work", {"a": "x"})).text == "done"
            else:
                with pytest.raises(RpcError):
                    await client.call("work", {"a": "x"})
            return fake.methods()[1:]

    assert run(use()) == ["tools/call", "tools/list", "tools/list", "tools/call"]


# -- legacy sessions and streams ------------------------------------------------------------


def test_a_stream_that_breaks_off_is_picked_up_where_it_broke() -> None:
    asked: list[Heard] = []

    async def work(heard: Heard, wire: Wire) -> None:
        asked.append(heard)
        await wire.start_events()
        await wire.event(b"", id=b"s_1", retry=1)
        wire.hang_up()

    async def get(heard: Heard, wire: Wire) -> None:
        last = heard.headers.get("last-event-id")
        if last is None:
            await wire.respond(405, kind="")
        elif last == "s_1":
            await wire.start_events()
            await wire.event(b"", id=b"s_2")
            await wire.end_events()
        else:
            assert last == "s_2"
            await wire.start_events()
            await wire.event(answer(asked[0], TOOL), id=b"s_3")
            await wire.end_events()

    text, heard = call_once(legacy({"tools/call": work, "GET": get}), "legacy")
    assert text == "done"
    assert [one.method or one.verb for one in heard][3:] == ["tools/call", "GET", "GET", "DELETE"]


def test_a_stream_that_is_not_resumed_fails_its_request() -> None:
    async def work(heard: Heard, wire: Wire) -> None:
        await wire.start_events()
        await wire.event(b"", id=b"s_1", retry=1)
        await wire.end_events()

    with pytest.raises(PeerError, match="does not resume it"):
        call_once(legacy({"tools/call": work}), "legacy")


def test_a_stream_that_brings_nothing_new_is_given_up() -> None:
    async def silent(heard: Heard, wire: Wire) -> None:
        if heard.verb == "GET" and "last-event-id" not in heard.headers:
            await wire.respond(405, kind="")
            return
        await wire.start_events()
        if heard.verb == "POST":
            await wire.event(b"", id=b"s_1", retry=0)
        wire.hang_up()

    with pytest.raises(TransportError, match="broke off"):
        call_once(legacy({"tools/call": silent, "GET": silent}), "legacy")


def test_a_session_that_ended_is_begun_again_once() -> None:
    sessions = iter(["s1", "s2", "s3"])

    async def initialize(heard: Heard, wire: Wire) -> None:
        await wire.result(heard, INITIALIZED, Mcp_Session_Id=next(sessions))

    async def work(heard: Heard, wire: Wire) -> None:
        if heard.headers["mcp-session-id"] == "s1" or heard.message["params"]["name"] == "doomed":
            await wire.respond(404, b"{}")
        else:
            await wire.result(heard, TOOL)

    async def use() -> list[str]:
        async with (
            fake_http(legacy({"initialize": initialize, "tools/call": work})) as fake,
            Client(fake.url, mode="legacy") as client,
        ):
            assert (await client.call("work")).text == "done"
            with pytest.raises(TransportError, match="has ended the session"):
                await client.call("doomed")
            return [one.headers.get("mcp-session-id", "") for one in fake.heard if one.method]

    assert run(use()) == ["", "s1", "s1", "", "s2", "s2", "s2", "", "s3", "s3"]


def test_the_server_asks_on_the_stream_of_a_request_and_on_its_own() -> None:
    async def use() -> list[dict[str, Any]]:
        answered: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        ping = {"jsonrpc": "2.0", "method": "ping"}

        async def get(heard: Heard, wire: Wire) -> None:
            await wire.start_events()
            await wire.event(codec.encode({**ping, "id": "own"}), id=b"g_1")
            await wire.gone()

        async def work(heard: Heard, wire: Wire) -> None:
            await wire.start_events()
            await wire.event(codec.encode({**ping, "id": 7}))
            assert (await answered.get())["id"] in ("own", 7)
            assert (await answered.get())["id"] in ("own", 7)
            await wire.event(answer(heard, TOOL))
            await wire.end_events()

        async def response(heard: Heard, wire: Wire) -> None:
            answered.put_nowait(heard.message)
            await wire.respond(202, kind="")

        async with (
            fake_http(legacy({"GET": get, "tools/call": work, "": response})) as fake,
            Client(fake.url, mode="legacy") as client,
        ):
            assert (await client.call("work")).text == "done"
            return [one.message for one in fake.heard if one.verb == "POST" and not one.method]

    assert sorted(str(message["id"]) for message in run(use())) == ["7", "own"]


def test_the_servers_own_stream_is_opened_again_with_the_last_id() -> None:
    async def use() -> list[str]:
        ids: list[str] = []
        settled = asyncio.Event()

        async def get(heard: Heard, wire: Wire) -> None:
            ids.append(heard.headers.get("last-event-id", ""))
            if len(ids) == 3:
                await wire.respond(400, kind="")
                return
            await wire.start_events()
            if len(ids) == 4:
                settled.set()
                await wire.gone()
            await wire.event(b"", id=b"g_%d" % len(ids), retry=0)
            wire.hang_up()

        async with fake_http(legacy({"GET": get})) as fake, Client(fake.url, mode="legacy"):
            await settled.wait()
        return ids

    assert run(use()) == ["", "g_1", "g_2", ""]


def test_a_message_that_is_lost_does_not_end_the_client(caplog: pytest.LogCaptureFixture) -> None:
    async def refuse(heard: Heard, wire: Wire) -> None:
        await wire.respond(400, b"what?", "text/plain")

    async def hang(heard: Heard, wire: Wire) -> None:
        await wire.gone()

    async def use() -> str:
        serve: dict[str, Serve] = {
            "tools/call": hang,
            "notifications/cancelled": refuse,
            "prompts/list": _prompts,
        }
        async with (
            fake_http(legacy(serve)) as fake,
            Client(fake.url, mode="legacy") as client,
        ):
            with pytest.raises(TimeoutError):
                await client.call("work", timeout=0.05)
            await client.request("prompts/list")
        return caplog.text

    with caplog.at_level(logging.WARNING, "dovetail"):
        assert "a message to the server was lost" in run(use())


async def _prompts(heard: Heard, wire: Wire) -> None:
    await wire.result(heard, {"prompts": []})


def test_a_handshake_that_is_not_taken_fails() -> None:
    async def refuse(heard: Heard, wire: Wire) -> None:
        await wire.respond(503, b"busy", "text/plain")

    with pytest.raises(TransportError, match="notifications/initialized with 503"):
        call_once(legacy({"notifications/initialized": refuse}), "legacy")


def test_a_session_id_that_is_no_visible_ascii_is_refused() -> None:
    async def initialize(heard: Heard, wire: Wire) -> None:
        await wire.result(heard, INITIALIZED, Mcp_Session_Id="a b")

    with pytest.raises(PeerError, match="no visible ASCII"):
        call_once(legacy({"initialize": initialize}), "legacy")


def test_a_silent_server_is_given_up_in_time() -> None:
    async def silent(heard: Heard, wire: Wire) -> None:
        await wire.gone()

    async def use() -> None:
        async with fake_http(silent) as fake, Client(fake.url, timeout=0.1):
            pass

    with pytest.raises(TimeoutError, match="did not answer initialize"):
        run(use())


def test_whoever_waits_for_changes_learns_that_the_server_is_gone() -> None:
    async def get(heard: Heard, wire: Wire) -> None:
        await wire.start_events()
        await wire.event(b"", id=b"g_1", retry=0)
        await wire.gone()

    async def use() -> None:
        async with fake_http(legacy({"GET": get})) as fake:
            client = await Client(fake.url, mode="legacy").__aenter__()
        try:
            async with client.subscribe(tools=True) as changes:
                await anext(changes)
        finally:
            await client.__aexit__(None, None, None)

    with pytest.raises(TransportError, match="nothing listens there"):
        run(use())


def test_a_batch_of_messages_may_hold_the_answer() -> None:
    async def work(heard: Heard, wire: Wire) -> None:
        log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
        await wire.respond(200, codec.encode_batch([codec.encode(log), answer(heard, TOOL)]))

    assert call_once(legacy({"tools/call": work}), "legacy")[0] == "done"


def test_an_answer_that_is_no_json_rpc_is_told_to_whoever_waits() -> None:
    async def work(heard: Heard, wire: Wire) -> None:
        await wire.respond(200, codec.encode({"jsonrpc": "2.0", "id": heard.message["id"]}))

    with pytest.raises(PeerError, match="is no JSON-RPC"):
        call_once(modern({"tools/call": work}))


def test_an_error_without_an_id_on_a_stream_is_the_answer() -> None:
    async def work(heard: Heard, wire: Wire) -> None:
        await wire.start_events()
        await wire.event(b'{"jsonrpc":"2.0","error":{"code":-32603,"message":"broken"}}')
        await wire.end_events()

    with pytest.raises(InternalError, match="broken"):
        call_once(modern({"tools/call": work}))

"""The client against scripted HTTP servers: an error ends its request and nothing else."""

from __future__ import annotations

import asyncio
import logging
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
from tests.patience import CAP
from tests.peers.scripted import run
from tests.unit.client.fake_http import Heard, Serve, Wire, answer, fake_http, legacy, modern

JSON = "application/json"
TOOL = {"content": [{"type": "text", "text": "done"}], "resultType": "complete"}


async def done(heard: Heard, wire: Wire) -> None:
    await wire.result(heard, TOOL)


def call_once(serve: Serve, mode: str = "modern", **options: Any) -> tuple[Any, list[Heard]]:
    async def use() -> tuple[Any, list[Heard]]:
        async with fake_http(serve) as fake:
            async with Client(fake.url, mode=mode, timeout=CAP, **options) as client:
                text = (await client.call("work")).text
            return text, fake.heard

    said: tuple[Any, list[Heard]] = run(use())
    return said


# -- what is sent ---------------------------------------------------------------------------


def test_a_modern_request_has_mirrored_headers() -> None:
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


def test_a_response_may_be_chunked() -> None:
    async def work(heard: Heard, wire: Wire) -> None:
        assert heard.headers["accept-encoding"] == "identity"
        await wire.raw(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n"
            b"Content-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for byte in answer(heard, TOOL):
            await wire.raw(b"1\r\n%c\r\n" % byte)
        await wire.raw(b"0\r\nX-Trailer: x\r\n\r\n")

    assert call_once(modern({"tools/call": work}))[0] == "done"


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


async def _packed(heard: Heard, wire: Wire) -> None:
    await wire.respond(200, b"\x1f\x8b\x08", Content_Encoding="gzip")


async def _packed_refusal(heard: Heard, wire: Wire) -> None:
    await wire.respond(503, b"\x1f\x8b\x08", "text/html", Content_Encoding="gzip")


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
        (_cut_json, TransportError, "incomplete or invalid HTTP"),
        (_no_http, TransportError, "invalid HTTP"),
        (_other_id, PeerError, "JSON that is not a response to it"),
        (_html, PeerError, "answered tools/call with text/html; expected"),
        (_accepted, PeerError, "202 Accepted"),
        (_moved, PeerError, "moved: use http://elsewhere/mcp/"),
        (_gateway, TransportError, "502 Bad Gateway: Bad gateway$"),
        (
            _packed,
            PeerError,
            "compressed its response to tools/call with gzip; the request allowed only identity",
        ),
        (_packed_refusal, TransportError, "503 Service Unavailable$"),
        (_short_stream, TransportError, "ended before tools/call was answered"),
        (_torn_stream, TransportError, "incomplete or invalid HTTP"),
        (_bad_error, PeerError, "is not valid JSON-RPC"),
    ],
)
def test_a_broken_response_fails_only_its_request(
    serve: Serve, error: type[Exception], text: str
) -> None:
    async def use() -> None:
        async with (
            fake_http(modern({"tools/call": serve, "tools/list": _no_tools})) as fake,
            Client(fake.url, mode="modern", timeout=CAP) as client,
        ):
            with pytest.raises(error, match=text) as caught:
                await client.call("work")
            assert fake.url in str(caught.value) or error is PeerError
            assert await client.list_tools() == []

    run(use())


async def _no_tools(heard: Heard, wire: Wire) -> None:
    await wire.result(heard, {"tools": [], "resultType": "complete"})


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_response_beyond_the_limit_is_rejected(is_stream: bool) -> None:
    async def serve(heard: Heard, wire: Wire) -> None:
        if is_stream:
            await wire.start_events()
            await wire.event(answer(heard, {"x": "x" * 2000}))
        else:
            await wire.result(heard, {"x": "x" * 2000})

    async def use() -> None:
        async with fake_http(serve) as fake:
            channel = HttpChannel(fake.url, limit=1000)
            await channel.open(lambda *_: None, lambda _: None)
            try:
                await channel.send(codec.encode_request(b"1", "ping"))
            finally:
                await channel.close()

    with pytest.raises(PeerError, match="limit of 1000 bytes"):
        run(use())


def test_an_error_without_an_id_answers_its_request() -> None:
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
        await channel.open(lambda *_: None, lambda _: None)
        await channel.close()
        await channel.close()
        await channel.send(b"{}")

    with pytest.raises(TransportError, match="closed"):
        run(use())


# -- modern streams -------------------------------------------------------------------------


def test_cancelling_closes_the_response_without_a_message() -> None:
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


def test_an_open_stream_after_the_response_does_not_block() -> None:
    async def serve(heard: Heard, wire: Wire) -> None:
        await wire.start_events()
        await wire.event(answer(heard, TOOL))
        await wire.gone()

    assert call_once(modern({"tools/call": serve}))[0] == "done"


def test_leaving_the_subscription_closes_the_listen_stream() -> None:
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


def test_a_broken_listen_stream_raises() -> None:
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

    with pytest.raises(TransportError, match="incomplete or invalid HTTP"):
        run(use())


def test_a_rejected_listen_request_raises() -> None:
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
def test_a_header_mismatch_refreshes_the_tool_list_once(is_fixed: bool) -> None:
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


def test_a_batch_may_contain_the_response() -> None:
    async def work(heard: Heard, wire: Wire) -> None:
        log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
        await wire.respond(200, codec.encode_batch([codec.encode(log), answer(heard, TOOL)]))

    assert call_once(legacy({"tools/call": work}), "legacy")[0] == "done"


def test_an_invalid_json_rpc_response_fails_its_request() -> None:
    async def work(heard: Heard, wire: Wire) -> None:
        await wire.respond(200, codec.encode({"jsonrpc": "2.0", "id": heard.message["id"]}))

    with pytest.raises(PeerError, match="is not valid JSON-RPC"):
        call_once(modern({"tools/call": work}))


def test_an_error_without_an_id_on_a_stream_is_the_response() -> None:
    async def work(heard: Heard, wire: Wire) -> None:
        await wire.start_events()
        await wire.event(b'{"jsonrpc":"2.0","error":{"code":-32603,"message":"broken"}}')
        await wire.end_events()

    with pytest.raises(InternalError, match="broken"):
        call_once(modern({"tools/call": work}))

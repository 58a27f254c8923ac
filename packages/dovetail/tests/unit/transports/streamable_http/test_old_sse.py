"""HTTP+SSE of 2024-11-05: where to post, what comes on the stream, and readers that do not read."""

from __future__ import annotations

import asyncio

import pytest

from dovetail.auth import Guard
from dovetail.core.options import complete_http_options
from dovetail.transports.asgi import reply as reply_module
from dovetail.transports.streamable_http import old_sse as module
from dovetail.transports.streamable_http.app import HttpApp
from dovetail.wire import codec
from tests.patience import CAP
from tests.unit.fakes import settle
from tests.unit.talk import OLDEST, request, run, text_of
from tests.unit.transports.streamable_http.asgi_client import Client, Response
from tests.unit.transports.streamable_http.workshop import NamedByTest, Workshop

HELLO = request(
    "initialize",
    {
        "protocolVersion": OLDEST,
        "capabilities": {},
        "clientInfo": {"name": "tester", "version": "1"},
    },
)


def old_workshop(**options: object) -> Workshop:
    return Workshop({"old_sse": "/sse", **options})


async def open_stream(client: Client) -> tuple[Response, str]:
    """The stream, and where to post to."""
    stream = client.start("GET", b"", path="/sse")
    await stream.until(lambda response: bool(response.body))
    return stream, stream.events[0].data.decode()


def call(tool: str, arguments: dict[str, object] | None = None, id: int = 1) -> bytes:
    return request("tools/call", {"name": tool, "arguments": arguments or {}}, id=id)


def answers_on(stream: Response) -> dict[int, str]:
    """What tools have answered so far; the first event is no message."""
    said = [event.data for event in stream.events[1:]]
    messages = [codec.decode_json(data) for data in said]
    return {
        message["id"]: text_of(message["result"])
        for message in messages
        if "content" in message.get("result", {})
    }


def test_what_is_posted_is_answered_on_the_stream() -> None:
    async def play() -> None:
        client = old_workshop().client
        stream, path = await open_stream(client)
        for body in (HELLO, call("echo", {"text": "hi"}, 2)):
            response = await client.send("POST", body, path=path)
            assert (response.status, response.body) == (202, b"")
        await stream.until(lambda response: answers_on(response) == {2: "hi"})
        stream.disconnect()
        await stream.done()
        assert (await client.send("POST", HELLO, path=path)).status == 404

    run(play())


@pytest.mark.parametrize("query", ["", "?session_id=made-up", "?session_id=", "?x=y"])
def test_a_stream_that_is_not_there_is_a_404(query: str) -> None:
    response = run(_send(f"/sse/messages{query}"))
    assert (response.status, response.code) == (404, -32600)


async def _send(path: str) -> Response:
    return await old_workshop().client.send("POST", HELLO, path=path)


def test_a_stream_belongs_to_whoever_opened_it() -> None:
    async def play() -> None:
        shop = old_workshop()
        user = NamedByTest("anna")
        engine, find = shop.server.engine, shop.server.tools.header_params
        app = HttpApp(engine, "/mcp", complete_http_options({"old_sse": "/sse"}), find, Guard(user))
        client = Client(app)
        stream, path = await open_stream(client)
        user.name = "bert"
        assert (await client.send("POST", HELLO, path=path)).status == 404
        user.name = "anna"
        assert (await client.send("POST", HELLO, path=path)).status == 202
        app.close()
        await stream.done()

    run(play())


def test_a_message_may_do_what_its_own_sender_may() -> None:
    async def play() -> None:
        shop = old_workshop()

        @shop.server.tool(scopes={"deep"})
        async def dig() -> str:
            return "dug"

        user = NamedByTest("anna", "deep")
        engine, find = shop.server.engine, shop.server.tools.header_params
        app = HttpApp(engine, "/mcp", complete_http_options({"old_sse": "/sse"}), find, Guard(user))
        client = Client(app)
        stream, path = await open_stream(client)
        assert (await client.send("POST", HELLO, path=path)).status == 202
        message = request("tools/call", {"name": "dig", "arguments": {}}, id=2)
        await client.send("POST", message, path=path)
        # The same person, with a smaller token.
        user.scopes = ()
        message = request("tools/call", {"name": "dig", "arguments": {}}, id=3)
        await client.send("POST", message, path=path)
        await settle()
        app.close()
        said = (await stream.done()).body.decode()
        assert "dug" in said
        assert "Unknown tool: 'dig'" in said

    run(play())


def test_there_are_only_so_many_streams() -> None:
    async def play() -> None:
        shop = old_workshop(max_sessions=1)
        stream, _ = await open_stream(shop.client)
        refused = await shop.client.send("GET", b"", path="/sse")
        assert (refused.status, refused.code) == (503, -32600)
        assert shop.app.counts().streams == 1
        shop.app.close()
        await stream.done()
        assert shop.app.counts().streams == 0

    run(play())


def test_who_does_not_read_misses_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reply_module, "_MAX_QUEUED_BYTES", 1000)

    async def play() -> None:
        shop = old_workshop()
        stream, path = await open_stream(shop.client)
        await shop.client.send("POST", HELLO, path=path)
        stream.reads.clear()
        text = "x" * 2000
        posts = [
            shop.client.start("POST", call("echo", {"text": text}, id), path=path)
            for id in range(2, 7)
        ]
        await settle()
        late = shop.client.start("POST", call("echo", {"text": text}, 7), path=path)
        await settle()
        assert [post.task.done() for post in (*posts, late)] == [True] * 5 + [False]
        stream.reads.set()
        await stream.until(lambda response: len(answers_on(response)) == 6)
        assert (await late.done()).status == 202
        assert set(answers_on(stream).values()) == {text}
        stream.disconnect()
        await stream.done()

    run(play())


def test_who_does_not_read_misses_notifications(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_module, "_MAX_QUEUED_BYTES", 1000)

    async def play() -> None:
        shop = old_workshop()
        stream, path = await open_stream(shop.client)
        await shop.client.send("POST", HELLO, path=path)
        stream.reads.clear()
        await shop.client.send("POST", call("flood", id=2), path=path)
        await shop.reached.wait()
        await settle()
        stream.reads.set()
        await stream.until(lambda response: answers_on(response) == {2: "flooded"})
        assert 2 < len(stream.events) < 20
        stream.disconnect()
        await stream.done()

    run(play())


def test_a_message_that_waits_for_a_stream_that_ends_is_a_404(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reply_module, "_MAX_QUEUED_BYTES", 1000)

    async def play() -> None:
        shop = old_workshop()
        stream, path = await open_stream(shop.client)
        await shop.client.send("POST", HELLO, path=path)
        stream.reads.clear()
        await shop.client.send("POST", call("echo", {"text": "x" * 2000}, 2), path=path)
        late = shop.client.start("POST", call("echo", {"text": "x"}, 3), path=path)
        await settle()
        stream.disconnect()
        await settle()
        stream.reads.set()
        assert (await late.done()).status == 404
        await stream.done()

    run(play())


def test_who_never_reads_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_module, "_MAX_QUEUED_BYTES", 1000)
    monkeypatch.setattr(module, "_TIMEOUT", 0.01)

    async def play() -> None:
        shop = old_workshop()
        stream, path = await open_stream(shop.client)
        await shop.client.send("POST", HELLO, path=path)
        stream.reads.clear()
        await shop.client.send("POST", call("echo", {"text": "x" * 2000}, 2), path=path)
        async with asyncio.timeout(CAP):
            refused = await shop.client.send("POST", call("echo", {"text": "x"}, 3), path=path)
        assert (refused.status, refused.code) == (503, -32600)
        stream.reads.set()
        stream.disconnect()
        await stream.done()

    run(play())

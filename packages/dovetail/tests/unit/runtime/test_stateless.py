"""Message in, message out: `server.handle` in both eras."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dovetail import Context, Options, Server
from dovetail.spec.keys import SUBSCRIPTION_ID
from tests.patience import CAP
from tests.unit.talk import (
    BATCHES,
    ERAS,
    LEGACY,
    MODERN,
    OLDEST,
    answer,
    notification,
    refusal,
    request,
    run,
    text_of,
    turn,
)


def echo_server(**options: Any) -> Server:
    server = Server("s", options=Options(**options))

    @server.tool(blocking=False)
    def echo(word: str) -> str:
        return word

    @server.tool
    async def speak(ctx: Context) -> str:
        for step in range(3):
            ctx.progress(step)
        return "done"

    return server


ECHO = {"name": "echo", "arguments": {"word": "hi"}}


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("as_text", [True, False])
def test_a_request_is_answered(revision: str, as_text: bool) -> None:
    message = request("tools/call", ECHO, id="x", revision=revision)
    response = run(echo_server().handle(message.decode() if as_text else message))
    assert response is not None
    decoded = json.loads(response)
    assert decoded["id"] == "x"
    assert text_of(decoded["result"]) == "hi"


@pytest.mark.parametrize(
    "message",
    [
        notification("notifications/initialized"),
        notification("notifications/cancelled", {"requestId": 1}),
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
    ],
)
def test_what_needs_no_answer_gets_none(message: bytes) -> None:
    assert run(echo_server().handle(message)) is None


@pytest.mark.parametrize(("revision", "id"), [(OLDEST, None), (LEGACY, "absent")])
def test_rubbish_is_answered_with_an_error(revision: str, id: Any) -> None:
    response = run(echo_server().handle(b"{", revision=revision))
    assert response is not None
    decoded = json.loads(response)
    assert decoded["error"]["code"] == -32700
    assert decoded.get("id", "absent") == id


def test_a_message_over_the_limit_is_refused_with_the_limit() -> None:
    response = run(echo_server(max_message_bytes=100).handle(b" " * 101))
    assert response is not None
    assert "is over the limit of 100" in json.loads(response)["error"]["message"]
    assert run(echo_server(max_message_bytes=100).handle(b" " * 100)) is not None


def test_a_handshake_is_answered_and_forgotten() -> None:
    server = echo_server()
    client = {"name": "t", "version": "1"}
    params = {"protocolVersion": OLDEST, "capabilities": {}, "clientInfo": client}
    for _ in range(2):
        result = run(answer(server, "initialize", params))["result"]
        assert result["protocolVersion"] == OLDEST


def test_a_modern_request_without_its_meta_is_served_at_the_legacy_revision() -> None:
    seen: list[str] = []
    server = Server("s")

    @server.tool(blocking=False)
    def look(ctx: Context) -> str:
        seen.append(ctx.revision)
        return "ok"

    run(answer(server, "tools/call", {"name": "look"}, revision=BATCHES))
    run(answer(server, "tools/call", {"name": "look"}, revision=MODERN))
    assert seen == [BATCHES, MODERN]


def test_an_envelope_that_is_refused_is_answered_under_its_id() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "1999-01-01"}
    meta["io.modelcontextprotocol/clientCapabilities"] = {}  # type: ignore[assignment]
    error = refusal(echo_server(), "tools/list", meta=meta)
    assert error["code"] == -32022


class Asynchronous:
    """An object whose call returns something to await."""

    def __init__(self, sent: list[Any]) -> None:
        self.sent = sent

    async def __call__(self, message: bytes) -> None:
        await asyncio.sleep(0)
        self.sent.append(json.loads(message)["params"]["progress"])


@pytest.mark.parametrize("kind", ["plain", "async", "object", "lambda", "queue"])
def test_what_a_handler_says_goes_to_any_kind_of_send_in_order(kind: str) -> None:
    sent: list[Any] = []
    asynchronous = Asynchronous(sent)

    async def send(message: bytes) -> None:
        await asynchronous(message)

    def plain(message: bytes) -> None:
        sent.append(json.loads(message)["params"]["progress"])

    async def scenario() -> None:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        sends: dict[str, Any] = {
            "plain": plain,
            "async": send,
            "object": asynchronous,
            "lambda": lambda message: send(message),
            "queue": queue.put,
        }
        await answer(
            echo_server(),
            "tools/call",
            {"name": "speak"},
            send=sends[kind],
            meta={"progressToken": 1},
        )
        while not queue.empty():
            plain(queue.get_nowait())

    run(scenario())
    assert sent == [0, 1, 2]


def test_a_send_may_be_plain_after_it_was_async() -> None:
    sent: list[Any] = []

    def send(message: bytes) -> Any:
        sent.append(json.loads(message)["params"]["progress"])
        return asyncio.sleep(0) if len(sent) == 1 else None

    run(
        answer(echo_server(), "tools/call", {"name": "speak"}, send=send, meta={"progressToken": 1})
    )
    assert sent == [0, 1, 2]


def test_a_send_that_fails_fails_the_caller_and_not_the_loop() -> None:
    async def send(message: bytes) -> None:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        run(
            answer(
                echo_server(), "tools/call", {"name": "speak"}, send=send, meta={"progressToken": 1}
            )
        )


def test_cancelling_handle_cancels_the_handler() -> None:
    async def scenario() -> None:
        server = Server("s")
        started, ended = asyncio.Event(), asyncio.Event()
        kept: list[Context] = []

        @server.tool
        async def wait(ctx: Context) -> str:
            kept.append(ctx)
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return "never"

        sent: list[bytes] = []
        message = request("tools/call", {"name": "wait"})
        task = asyncio.create_task(server.handle(message, sent.append))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()
        kept[0].log.error("too late")
        assert sent == []

    run(scenario())


# -- batches ----------------------------------------------------------------------------------


def test_a_batch_is_answered_in_one_array_where_there_are_batches() -> None:
    batch = b"[%b]" % b",".join(
        [
            request("tools/call", ECHO, id=1),
            notification("notifications/initialized"),
            b"5",
            request("nope", id=2),
        ]
    )
    response = run(echo_server().handle(batch, revision=BATCHES))
    assert response is not None
    answers = {answer["id"]: answer for answer in json.loads(response)}
    assert answers.keys() == {None, 1, 2}
    assert text_of(answers[1]["result"]) == "hi"
    assert (answers[2]["error"]["code"], answers[None]["error"]["code"]) == (-32601, -32600)
    quiet = b"[%b]" % notification("notifications/initialized")
    assert run(echo_server().handle(quiet, revision=BATCHES)) is None


@pytest.mark.parametrize("revision", [OLDEST, LEGACY])
def test_a_batch_is_refused_where_there_are_none(revision: str) -> None:
    response = run(echo_server().handle(b"[%b]" % request("ping"), revision=revision))
    assert response is not None
    assert json.loads(response)["error"]["code"] == -32600


# -- streams ----------------------------------------------------------------------------------

LISTEN = {"notifications": {"toolsListChanged": True, "promptsListChanged": True}}


def test_listening_without_a_send_ends_at_once() -> None:
    result = run(answer(echo_server(), "subscriptions/listen", LISTEN, revision=MODERN))["result"]
    assert result["_meta"][SUBSCRIPTION_ID] == 1


def test_listening_with_a_send_delivers_until_the_caller_stops() -> None:
    async def scenario() -> None:
        server = echo_server()
        sent: list[Any] = []
        news = asyncio.Event()

        async def send(message: bytes) -> None:
            sent.append(json.loads(message))
            news.set()

        message = request("subscriptions/listen", LISTEN, revision=MODERN)
        task = asyncio.create_task(server.handle(message, send))
        await news.wait()
        assert sent[0]["method"] == "notifications/subscriptions/acknowledged"
        assert sent[0]["params"]["notifications"] == {"toolsListChanged": True}
        news.clear()
        server.tools.add(lambda: "x", name="new")
        await news.wait()
        assert sent[1]["method"] == "notifications/tools/list_changed"
        news.clear()
        server.prompts.add(lambda: "x", name="unwanted")
        thread = threading.Thread(target=server.tools.remove, args=("new",))
        thread.start()
        thread.join(CAP)
        await news.wait()
        assert len(sent) == 3
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        server.tools.add(lambda: "x", name="later")
        await turn()
        assert len(sent) == 3

    run(scenario())


# -- the lifespan -----------------------------------------------------------------------------


def test_the_lifespan_is_entered_before_the_first_message() -> None:
    entered: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[str]:
        entered.append(server.name)
        yield "state"

    async def scenario() -> None:
        server = Server("s", lifespan=lifespan)

        @server.tool(blocking=False)
        def look(ctx: Context) -> str:
            return str(ctx.lifespan)

        for _ in range(2):
            response = await answer(server, "tools/call", {"name": "look"})
            assert text_of(response["result"]) == "state"
        await server.close()

    run(scenario())
    assert entered == ["s"]


def test_a_lifespan_that_fails_is_an_error_and_tried_again() -> None:
    failures = [ConnectionError("no database")]

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        if failures:
            raise failures.pop()
        yield

    async def scenario() -> None:
        server = Server("s", lifespan=lifespan)
        server.tools.add(lambda: "x", name="x")
        failed = await answer(server, "tools/list")
        assert failed["error"]["code"] == -32603
        assert "failed to start" in failed["error"]["message"]
        assert "result" in await answer(server, "tools/list")
        await server.close()

    run(scenario())

"""One client on one connection: whatever it sends, what comes out is right and in order."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dovetail import Context, Options, Server
from dovetail.errors import InvalidRequestError
from dovetail.spec.keys import SUBSCRIPTION_ID
from tests.patience import CAP
from tests.unit.talk import (
    BATCHES,
    ERAS,
    FIRST_FORMS,
    LEGACY,
    MODERN,
    OLDEST,
    Wire,
    notification,
    request,
    run,
    text_of,
    turn,
)


class Desk:
    """A server with a tool that waits, and everything a test wants to know of it."""

    def __init__(self, **options: Any) -> None:
        self.server = Server("s", options=Options(**options))
        self.started = asyncio.Event()
        self.release = asyncio.Event()
        self.ended: list[str] = []

        @self.server.tool
        async def wait(ctx: Context, stubborn: bool = False) -> str:
            self.started.set()
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                self.ended.append("cancelled")
                ctx.progress(99)
                if stubborn:
                    return "an answer all the same"
                raise
            self.ended.append("done")
            return "done"

        @self.server.tool(blocking=False)
        def quick(word: str = "quick") -> str:
            return word

        @self.server.resource("n://a")
        def a() -> str:
            return "A"


# -- requests ---------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ERAS)
def test_requests_are_answered_as_they_finish(revision: str) -> None:
    async def scenario() -> None:
        desk = Desk()
        wire = await Wire(desk.server, revision).open()
        slow = wire.put_call("wait")
        await desk.started.wait()
        assert text_of((await wire.call("quick"))["result"]) == "quick"
        desk.release.set()
        assert text_of((await wire.response(slow))["result"]) == "done"
        await wire.connection.close()

    run(scenario())


@pytest.mark.parametrize("revision", ERAS)
def test_an_id_in_use_is_refused_and_free_again_after_the_answer(revision: str) -> None:
    async def scenario() -> None:
        desk = Desk()
        wire = await Wire(desk.server, revision).open()
        wire.put_call("wait", id=7)
        await desk.started.wait()
        wire.put_call("quick", id=7)
        refused = await wire.response(7)
        assert refused["error"]["code"] == -32600
        assert "id 7 is in use by a request that is not answered yet" in refused["error"]["message"]
        wire.sent.clear()
        wire.put_call("quick", id="7")
        assert "result" in await wire.response("7")
        desk.release.set()
        assert text_of((await wire.response(7))["result"]) == "done"
        wire.sent.clear()
        wire.put_call("quick", id=7)
        assert text_of((await wire.response(7))["result"]) == "quick"
        await wire.connection.close()

    run(scenario())


@pytest.mark.parametrize(
    ("revision", "id"), [(OLDEST, None), (BATCHES, None), (FIRST_FORMS, None), (LEGACY, "absent")]
)
def test_bad_input_is_answered_and_the_connection_goes_on(revision: str, id: Any) -> None:
    async def scenario() -> None:
        wire = await Wire(Desk().server, revision).open()
        wire.sent.clear()
        for bad, code in (
            (b"{", -32700),
            (b"\xff", -32700),
            (b"5", -32600),
            (b'{"jsonrpc":"1.0","id":null}', -32600),
        ):
            wire.connection.receive(bad)
            said = wire.sent.pop()
            assert said["error"]["code"] == code
            assert said.get("id", "absent") == id
        wire.connection.refuse(InvalidRequestError("too long"))
        assert wire.sent.pop()["error"]["message"] == "too long"
        wire.connection.receive(b'{"jsonrpc":"2.0","id":9,"method":5}')
        assert wire.sent.pop()["id"] == 9
        assert text_of((await wire.call("quick"))["result"]) == "quick"
        await wire.connection.close()

    run(scenario())


def test_a_message_over_the_limit_is_refused_with_the_limit() -> None:
    async def scenario() -> None:
        wire = await Wire(Desk(max_message_bytes=1000).server).open()
        wire.sent.clear()
        wire.connection.receive(b" " * 1001)
        assert "is over the limit of 1,000 bytes" in wire.sent[0]["error"]["message"]
        await wire.connection.close()

    run(scenario())


def test_before_the_handshake_an_unreadable_message_is_answered_without_an_id() -> None:
    async def scenario() -> None:
        desk = Desk()
        await desk.server.start()
        wire = Wire(desk.server)
        wire.connection.receive(b"{")
        assert "id" not in wire.sent[0]
        wire.connection.receive(b"[]")
        assert wire.sent[1]["error"]["code"] == -32600
        wire.connection.receive(request("tools/list"))
        assert wire.sent[2]["error"]["code"] == -32602
        await desk.server.close()

    run(scenario())


def test_notifications_and_stray_responses_are_never_answered() -> None:
    async def scenario() -> None:
        desk = Desk()
        await desk.server.start()
        wire = Wire(desk.server)
        stray = (
            notification("notifications/initialized"),
            notification("notifications/whatever"),
            notification("tools/call", {"name": "quick"}),
            b'{"jsonrpc":"2.0","id":1,"result":{}}',
            b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}',
        )
        for message in stray:
            wire.connection.receive(message)
        await turn()
        assert wire.sent == []
        await wire.open()
        wire.sent.clear()
        for message in stray:
            wire.connection.receive(message)
        await turn()
        assert wire.sent == []
        await wire.connection.close()
        await desk.server.close()

    run(scenario())


# -- cancellation -----------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("stubborn", [False, True])
def test_a_cancelled_call_is_really_cancelled_and_never_answered(
    revision: str, stubborn: bool
) -> None:
    async def scenario() -> None:
        desk = Desk()
        wire = await Wire(desk.server, revision).open()
        wire.sent.clear()
        id = wire.put_call("wait", {"stubborn": stubborn}, meta={"progressToken": 1})
        await desk.started.wait()
        wire.tell("notifications/cancelled", {"requestId": id, "reason": "bored"})
        await turn()
        assert desk.ended == ["cancelled"]
        assert wire.sent == []
        wire.put_call("quick", id=id)
        assert text_of((await wire.response(id))["result"]) == "quick"
        await wire.connection.close()

    run(scenario())


def test_a_call_that_finishes_in_the_moment_of_its_cancellation_is_not_answered() -> None:
    async def scenario() -> None:
        desk = Desk()
        wire = await Wire(desk.server).open()
        wire.sent.clear()
        id = wire.put_call("wait")
        await desk.started.wait()
        desk.release.set()
        wire.tell("notifications/cancelled", {"requestId": id})
        await turn()
        assert desk.ended == ["done"]
        assert wire.sent == []
        await wire.connection.close()

    run(scenario())


@pytest.mark.parametrize("revision", ERAS)
def test_a_call_cancelled_in_the_same_breath_never_begins_and_frees_its_id(revision: str) -> None:
    async def scenario() -> None:
        desk = Desk()
        wire = await Wire(desk.server, revision).open()
        wire.sent.clear()
        wire.put_call("wait", id=7)
        wire.tell("notifications/cancelled", {"requestId": 7})
        await turn()
        assert wire.sent == []
        assert not desk.started.is_set()
        wire.put_call("quick", id=7)
        assert text_of((await wire.response(7))["result"]) == "quick"
        await wire.connection.close()

    run(scenario())


@pytest.mark.parametrize(
    "params", [{}, {"requestId": 99}, {"requestId": "55"}, {"requestId": None}, {"requestId": {}}]
)
def test_a_cancellation_of_nothing_is_ignored(params: Any) -> None:
    async def scenario() -> None:
        desk = Desk()
        wire = await Wire(desk.server).open()
        id = wire.put_call("wait", id=55)
        await desk.started.wait()
        wire.tell("notifications/cancelled", params)
        desk.release.set()
        assert text_of((await wire.response(id))["result"]) == "done"
        await wire.connection.close()

    run(scenario())


def test_the_reason_of_a_cancellation_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "dovetail")

    async def scenario() -> None:
        desk = Desk()
        wire = await Wire(desk.server).open()
        wire.put_call("wait", id=7)
        await desk.started.wait()
        wire.tell("notifications/cancelled", {"requestId": 7, "reason": "the user left"})
        await turn()
        await wire.connection.close()

    run(scenario())
    assert "request 7 cancelled: the user left" in caplog.text


# -- batches ----------------------------------------------------------------------------------


def batch(*messages: bytes) -> bytes:
    return b"[" + b",".join(messages) + b"]"


def test_a_batch_is_answered_in_one_array_without_what_needs_no_answer() -> None:
    async def scenario() -> None:
        desk = Desk()
        wire = await Wire(desk.server, BATCHES).open()
        wire.sent.clear()
        quick = {"name": "quick"}
        wire.connection.receive(
            batch(
                request("ping", id=1),
                notification("notifications/whatever"),
                request("tools/call", quick, id=2),
                b"5",
                request("tools/call", {"name": "wait"}, id=3),
                request("tools/call", quick, id=3),
            )
        )
        await desk.started.wait()
        assert wire.sent == []
        desk.release.set()
        [answers] = [await wire.until(lambda m: isinstance(m, list))]
        assert sorted(str(answer["id"]) for answer in answers) == ["1", "2", "3", "3", "None"]
        codes = [answer["error"]["code"] for answer in answers if "error" in answer]
        assert codes == [-32600, -32600]
        await wire.connection.close()

    run(scenario())


def test_an_id_that_stands_twice_in_a_batch_is_answered_once() -> None:
    async def scenario() -> None:
        wire = await Wire(Desk().server, BATCHES).open()
        wire.sent.clear()
        wire.connection.receive(batch(request("ping", id=1), request("ping", id=1)))
        [[first, second]] = wire.sent
        assert (first["result"], second["error"]["code"]) == ({}, -32600)
        await wire.connection.close()

    run(scenario())


def test_a_batch_of_notifications_has_no_answer_and_one_of_pings_comes_at_once() -> None:
    async def scenario() -> None:
        wire = await Wire(Desk().server, BATCHES).open()
        wire.sent.clear()
        wire.connection.receive(batch(notification("notifications/whatever")))
        assert wire.sent == []
        wire.connection.receive(batch(request("ping", id=1), request("ping", id=2)))
        assert [[answer["id"] for answer in answers] for answers in wire.sent] == [[1, 2]]
        await wire.connection.close()

    run(scenario())


@pytest.mark.parametrize("cancelled", [(3,), (3, 4)])
def test_a_cancelled_call_of_a_batch_is_left_out(cancelled: tuple[int, ...]) -> None:
    async def scenario() -> None:
        desk = Desk()
        wire = await Wire(desk.server, BATCHES).open()
        wire.sent.clear()
        wait = {"name": "wait"}
        wire.connection.receive(
            batch(request("tools/call", wait, id=3), request("tools/call", wait, id=4))
        )
        await turn()
        for id in cancelled:
            wire.tell("notifications/cancelled", {"requestId": id})
        await turn()
        desk.release.set()
        await turn()
        ids = [[answer["id"] for answer in answers] for answers in wire.sent]
        assert ids == ([[4]] if cancelled == (3,) else [])
        await wire.connection.close()

    run(scenario())


@pytest.mark.parametrize("revision", [OLDEST, FIRST_FORMS, LEGACY])
def test_a_batch_is_refused_where_there_are_none(revision: str) -> None:
    async def scenario() -> None:
        wire = await Wire(Desk().server, revision).open()
        wire.sent.clear()
        wire.connection.receive(batch(request("ping")))
        [refused] = wire.sent
        assert refused["error"]["code"] == -32600
        assert "batches exist at 2025-03-26 only" in refused["error"]["message"]
        await wire.connection.close()

    run(scenario())


# -- the lifespan -----------------------------------------------------------------------------


class Doors:
    """A lifespan that opens when it is let."""

    def __init__(self, failures: int = 0) -> None:
        self.open = asyncio.Event()
        self.failures = failures
        self.entered = 0

    @asynccontextmanager
    async def lifespan(self, server: Server) -> AsyncIterator[str]:
        self.entered += 1
        await self.open.wait()
        if self.failures:
            self.failures -= 1
            raise ConnectionError("no database")
        yield "state"


def with_doors(doors: Doors) -> Server:
    server = Server("s", lifespan=doors.lifespan)

    @server.tool(blocking=False)
    def look(ctx: Context) -> str:
        return str(ctx.lifespan)

    return server


def test_messages_wait_for_the_lifespan_and_keep_their_order() -> None:
    async def scenario() -> None:
        doors = Doors()
        wire = Wire(with_doors(doors), MODERN)
        ids = [wire.put_call("look") for _ in range(3)]
        wire.connection.receive(b"{")
        await turn()
        assert (wire.sent, doors.entered) == ([], 1)
        doors.open.set()
        for id in ids:
            assert text_of((await wire.response(id))["result"]) == "state"
        # The answers of calls come a turn later than what can be said at once.
        assert [m.get("id") for m in wire.sent] == [None, *ids]
        await wire.connection.close()

    run(scenario())


def test_a_lifespan_that_fails_answers_every_request_and_is_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        doors = Doors(failures=1)
        doors.open.set()
        wire = Wire(with_doors(doors), MODERN)
        ids = [wire.put_call("look"), wire.put_call("look")]
        wire.tell("notifications/whatever")
        for id in ids:
            error = (await wire.response(id))["error"]
            assert error["code"] == -32603
            assert "failed to start" in error["message"]
            assert "database" not in error["message"]
        assert text_of((await wire.call("look"))["result"]) == "state"
        await wire.connection.close()

    run(scenario())
    assert "no database" in caplog.text


@pytest.mark.parametrize("opens", [True, False])
def test_closing_waits_for_a_lifespan_that_is_just_starting(opens: bool) -> None:
    async def scenario() -> None:
        doors = Doors()
        wire = Wire(with_doors(doors), MODERN)
        id = wire.put_call("look")
        if opens:
            doors.open.set()
        await wire.connection.close(grace=1.0 if opens else 0.01)
        assert [message["id"] for message in wire.sent] == ([id] if opens else [])
        doors.open.set()
        await turn()
        assert len(wire.sent) == (1 if opens else 0)

    run(scenario())


# -- changes ----------------------------------------------------------------------------------


async def listen(wire: Wire, wanted: dict[str, Any], id: int | str = "L") -> None:
    wire.put("subscriptions/listen", {"notifications": wanted}, id=id)
    await wire.until(
        lambda m: (
            m.get("method") == "notifications/subscriptions/acknowledged"
            and m["params"]["_meta"][SUBSCRIPTION_ID] == id
        )
    )


def add_tool(server: Server, name: str) -> None:
    server.tools.add(lambda: "x", name=name, blocking=False)


def test_a_listen_stream_gets_what_it_asked_for_tagged_with_its_id() -> None:
    async def scenario() -> None:
        desk = Desk()
        wire = Wire(desk.server, MODERN)
        await listen(wire, {"toolsListChanged": True, "resourceSubscriptions": ["n://a"]})
        await listen(wire, {"toolsListChanged": True}, 5)
        wire.sent.clear()
        add_tool(desk.server, "new")
        desk.server.resources.add("n://b", lambda: "B", name="b")
        desk.server.resource_updated("n://a")
        desk.server.resource_updated("n://a")
        desk.server.resource_updated("n://b")
        await turn()
        changed = wire.heard("notifications/tools/list_changed")
        assert {m["params"]["_meta"][SUBSCRIPTION_ID] for m in changed} == {"L", 5}
        [updated] = wire.heard("notifications/resources/updated")
        assert updated["params"] == {"_meta": {SUBSCRIPTION_ID: "L"}, "uri": "n://a"}
        assert len(wire.sent) == 3
        await wire.connection.close()

    run(scenario())


def test_a_listen_stream_ends_without_a_word_when_the_client_cancels_it() -> None:
    async def scenario() -> None:
        desk = Desk()
        wire = Wire(desk.server, MODERN)
        await listen(wire, {"toolsListChanged": True})
        wire.sent.clear()
        wire.tell("notifications/cancelled", {"requestId": "L"})
        await turn()
        add_tool(desk.server, "new")
        await turn()
        assert wire.sent == []
        await wire.connection.close()
        assert wire.sent == []

    run(scenario())


def test_closing_ends_listen_streams_with_both_messages_that_the_revision_asks_for() -> None:
    async def scenario() -> None:
        wire = Wire(Desk().server, MODERN)
        await listen(wire, {"toolsListChanged": True})
        wire.sent.clear()
        await wire.connection.close(grace=1)
        result, cancelled = wire.sent
        assert result["id"] == "L"
        assert result["result"]["_meta"][SUBSCRIPTION_ID] == "L"
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == "L"

    run(scenario())


def test_a_legacy_session_hears_of_lists_after_it_said_that_it_is_ready() -> None:
    async def scenario() -> None:
        desk = Desk()
        await desk.server.start()
        wire = Wire(desk.server)
        add_tool(desk.server, "before")
        await turn()
        assert wire.sent == []
        client = {"name": "t", "version": "1"}
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client}
        await wire.ask("initialize", params)
        add_tool(desk.server, "greeted")
        await turn()
        assert wire.heard("notifications/tools/list_changed") == []
        wire.tell("notifications/initialized")
        add_tool(desk.server, "ready")
        desk.server.resource_updated("n://a")
        await turn()
        assert len(wire.heard("notifications/tools/list_changed")) == 1
        assert wire.heard("notifications/resources/updated") == []
        await wire.connection.close()
        wire.sent.clear()
        add_tool(desk.server, "after")
        await turn()
        assert wire.sent == []
        await desk.server.close()

    run(scenario())


@pytest.mark.parametrize("revision", ERAS)
def test_changes_made_in_another_thread_arrive_on_the_loop(revision: str) -> None:
    async def scenario() -> None:
        desk = Desk()
        wire = await Wire(desk.server, revision).open()
        if revision == MODERN:
            await listen(wire, {"toolsListChanged": True})
        thread = threading.Thread(target=add_tool, args=(desk.server, "new"))
        thread.start()
        thread.join(CAP)
        assert wire.heard("notifications/tools/list_changed") == []
        await wire.until(lambda m: m.get("method") == "notifications/tools/list_changed")
        await wire.connection.close()

    run(scenario())


# -- asking -----------------------------------------------------------------------------------


def asking_server() -> Server:
    server = Server("s")

    @server.tool
    async def ask(ctx: Context) -> str:
        return (await ctx.elicit("?", {"type": "object", "properties": {}})).action

    return server


def test_an_answer_of_the_client_reaches_the_handler_that_asked() -> None:
    async def scenario() -> None:
        wire = await Wire(asking_server(), LEGACY, {"elicitation": {}}).open()
        ids = [wire.put_call("ask"), wire.put_call("ask")]
        first = await wire.asked("elicitation/create")
        second = await wire.asked("elicitation/create")
        wire.reply(second["id"], {"action": "decline"})
        wire.reply(first["id"], {"action": "cancel"})
        wire.reply(first["id"], {"action": "accept"})
        assert text_of((await wire.response(ids[0]))["result"]) == "cancel"
        assert text_of((await wire.response(ids[1]))["result"]) == "decline"
        await wire.connection.close()

    run(scenario())


def test_when_the_client_goes_those_who_wait_for_its_answer_are_told() -> None:
    async def scenario() -> None:
        wire = await Wire(asking_server(), LEGACY, {"elicitation": {}}).open()
        id = wire.put_call("ask")
        await wire.asked("elicitation/create")
        await wire.connection.close(grace=1)
        assert (await wire.response(id))["result"]["isError"] is True

    run(scenario())


# -- the end ----------------------------------------------------------------------------------


@pytest.mark.parametrize("finishes", [True, False])
def test_calls_in_flight_get_the_grace_and_are_cancelled_after_it(finishes: bool) -> None:
    async def scenario() -> None:
        desk = Desk()
        wire = await Wire(desk.server).open()
        id = wire.put_call("wait")
        await desk.started.wait()
        wire.sent.clear()
        if finishes:
            asyncio.get_running_loop().call_soon(desk.release.set)
        await wire.connection.close(grace=1.0 if finishes else 0.01)
        assert desk.ended == ["done" if finishes else "cancelled"]
        assert [message["id"] for message in wire.sent] == ([id] if finishes else [])

    run(scenario())


def test_closing_without_anything_in_flight_is_immediate_and_may_be_repeated() -> None:
    async def scenario() -> None:
        wire = await Wire(Desk().server).open()
        wire.sent.clear()
        await wire.connection.close(grace=60)
        await wire.connection.close(grace=60)
        assert wire.sent == []

    run(scenario())


def test_handlers_keep_the_pace_of_a_slow_reader() -> None:
    async def scenario() -> None:
        server = Server("s")
        room = asyncio.Event()
        sent: list[Any] = []

        async def drain() -> None:
            await room.wait()

        @server.tool
        async def speak(ctx: Context) -> str:
            await ctx.log.info("one")
            await ctx.log.info("two")
            return "done"

        connection = server.connect(lambda m: sent.append(json.loads(m)), drain=drain)
        client = {"name": "t", "version": "1"}
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client}
        connection.receive(request("initialize", params))
        await turn()
        connection.receive(request("tools/call", {"name": "speak"}, id=2))
        await turn()
        assert [m["params"]["data"] for m in sent[1:]] == ["one"]
        room.set()
        await turn()
        assert len(sent) == 4
        await connection.close()

    run(scenario())


def test_without_a_drain_nothing_is_waited_for() -> None:
    async def scenario() -> None:
        connection = Server("s").connect(lambda message: None)
        await connection.drain()
        await connection.close()

    run(scenario())

"""Sessions over HTTP: begun, found again, ended; streams that outlive their connections."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dovetail.transports.streamable_http import legacy as module
from dovetail.transports.streamable_http import reply as reply_module
from dovetail.transports.streamable_http.app import HttpApp, HttpOptions
from tests.unit.fakes import settle
from tests.unit.talk import (
    BATCHES,
    FIRST_FORMS,
    LEGACY,
    Json,
    notification,
    request,
    run,
    text_of,
)
from tests.unit.transports.streamable_http.asgi_client import Client, Response
from tests.unit.transports.streamable_http.workshop import Workshop

UNPRIMED = (BATCHES, FIRST_FORMS)


def answer_in(response: Response) -> str:
    """The text of the tool's answer, on the stream or alone."""
    message = response.messages[-1] if response.is_stream else response.json
    return text_of(message["result"])


# -- sessions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", [BATCHES, FIRST_FORMS, LEGACY])
def test_a_session_begins_with_initialize_and_answers_in_json(revision: str) -> None:
    async def play() -> None:
        client = await Workshop().client.open(revision)
        assert client.version == revision
        assert client.session
        response = await client.call("echo", {"text": "hi"}).done()
        assert response.status == 200
        assert answer_in(response) == "hi"

    run(play())


def test_an_initialize_that_fails_begins_no_session() -> None:
    async def play() -> None:
        shop = Workshop()
        response = await shop.client.send("POST", request("initialize", {"protocolVersion": 5}))
        assert (response.status, response.code) == (200, -32602)
        assert "mcp-session-id" not in response.headers
        assert len(shop.app.legacy.sessions) == 0

    run(play())


def test_a_request_needs_a_session_that_exists() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        for session, status in ((None, 400), ("made-up", 404), ("\xff", 404), ("", 404)):
            other = shop.another()
            other.session = session
            for response in (
                await other.call("echo", {"text": "hi"}).done(),
                await other.tell("notifications/initialized"),
                await other.send("POST", b"{", other.own),
                await other.send("GET", b"", other.own),
                await other.delete(),
            ):
                assert (response.status, response.code) == (status, -32600)
        assert (await client.post("ping").done()).json["result"] == {}

    run(play())


def test_a_refusal_says_which_request_it_refuses() -> None:
    async def play() -> None:
        response = await Workshop().client.post("ping", id=77).done()
        assert response.json["id"] == 77

    run(play())


@pytest.mark.parametrize(("version", "status"), [("1999-01-01", 400), ("junk", 400), (None, 200)])
def test_a_version_header_must_be_one_of_ours_or_none(version: str | None, status: int) -> None:
    async def play() -> None:
        client = await Workshop().client.open()
        client.version = version
        assert (await client.post("ping").done()).status == status

    run(play())


def test_delete_ends_a_session_and_whatever_goes_on_in_it() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        stream = client.listen()
        call = client.call("talk_and_wait")
        quiet = client.call("wait")
        await call.hear("notifications/message")
        await settle()
        response = await client.delete()
        assert (response.status, response.body) == (204, b"")
        await stream.done()
        await call.done()
        assert (await quiet.done()).status == 202
        assert shop.finished == 0
        for response in (await client.post("ping").done(), await client.delete()):
            assert response.status == 404
        shop.change()

    run(play())


def test_a_session_belongs_to_whoever_began_it() -> None:
    async def play() -> None:
        shop = Workshop()
        user = "anna"
        engine, find = shop.server.engine, shop.server.tools.header_params
        shop.app = HttpApp(engine, HttpOptions(), find, lambda scope: user)
        client = await Client(shop.app).open()
        user = "bert"
        for response in (
            await client.post("ping").done(),
            await client.send("GET", b"", client.own),
            await client.delete(),
        ):
            assert response.status == 404
        user = "anna"
        assert (await client.post("ping").done()).status == 200

    run(play())


def test_there_are_only_so_many_sessions() -> None:
    async def play() -> None:
        shop = Workshop({"max_sessions": 1})
        client = await shop.client.open()
        response = await shop.another().hello()
        assert (response.status, response.code) == (503, -32603)
        assert response.headers["retry-after"] == "60"
        await client.delete()
        assert (await shop.another().hello()).status == 200

    run(play())


def test_a_session_that_nobody_uses_is_forgotten_and_a_busy_one_is_not() -> None:
    async def play() -> None:
        shop = Workshop({"session_lifetime": 0})
        client = shop.client
        client.session = (await client.hello()).headers["mcp-session-id"]
        stream = client.listen()
        await stream.until(lambda response: response.status != 0)
        assert (await client.post("ping").done()).status == 200
        stream.disconnect()
        await stream.done()
        assert (await client.post("ping").done()).status == 404

    run(play())


def test_closing_the_app_ends_sessions_and_streams() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        stream, call = client.listen(), client.call("wait")
        await shop.reached.wait()
        shop.app.close()
        await stream.done()
        await call.done()
        assert len(shop.app.legacy.sessions) == 0

    run(play())


# -- one message, or several ------------------------------------------------------------------


def test_notifications_and_responses_are_accepted_with_nothing() -> None:
    async def play() -> None:
        client = await Workshop().client.open()
        for response in (
            await client.tell("notifications/initialized"),
            await client.tell("notifications/roots/list_changed"),
            await client.tell("notifications/cancelled", {"requestId": 99}),
            await client.tell("notifications/cancelled", {}),
            await client.reply(99, {}),
        ):
            assert (response.status, response.body) == (202, b"")

    run(play())


@pytest.mark.parametrize(
    ("body", "code"), [(b"{", -32700), (b"5", -32600), (b'{"jsonrpc":"1.0","id":1}', -32600)]
)
def test_what_is_no_message_is_a_400(body: bytes, code: int) -> None:
    async def play() -> None:
        client = await Workshop().client.open()
        response = await client.send("POST", body, client.own)
        assert (response.status, response.code) == (400, code)

    run(play())


@pytest.mark.parametrize(
    ("method", "params", "code"), [("nothing/here", None, -32601), ("tools/call", {}, -32602)]
)
def test_an_error_of_a_request_is_an_answer(method: str, params: Json | None, code: int) -> None:
    async def play() -> None:
        client = await Workshop().client.open()
        response = await client.post(method, params).done()
        assert (response.status, response.code) == (200, code)

    run(play())


def batch(*items: bytes) -> bytes:
    return b"[" + b",".join(items) + b"]"


def test_a_batch_is_answered_as_a_batch_where_there_are_batches() -> None:
    async def play() -> None:
        client = await Workshop().client.open(BATCHES)
        body = batch(
            request("ping", id=1),
            request("tools/call", {"name": "echo", "arguments": {"text": "hi"}}, id=2),
            notification("notifications/initialized"),
            b"5",
            b'{"jsonrpc":"2.0","id":9,"result":{}}',
            request("tools/call", {}, id=3),
        )
        response = await client.send("POST", body, client.own)
        assert response.status == 200
        answers = {answer.get("id"): answer for answer in response.json}
        assert len(response.json) == 4
        assert answers[1]["result"] == {}
        assert text_of(answers[2]["result"]) == "hi"
        assert answers[3]["error"]["code"] == -32602
        assert answers[None]["error"]["code"] == -32600
        silent = await client.send("POST", batch(notification("notifications/x")), client.own)
        assert (silent.status, silent.body) == (202, b"")

    run(play())


def test_a_batch_that_talks_is_a_stream_with_every_answer() -> None:
    async def play() -> None:
        client = await Workshop().client.open(BATCHES)
        talk = {"name": "talk", "arguments": {"times": 1}}
        body = batch(*(request("tools/call", talk, id=id) for id in (1, 2)))
        response = await client.send("POST", body, client.own)
        assert len(response.heard("notifications/message")) == 2
        assert {message["id"] for message in response.messages if "id" in message} == {1, 2}

    run(play())


@pytest.mark.parametrize("revision", [FIRST_FORMS, LEGACY])
def test_a_batch_is_refused_where_there_are_none(revision: str) -> None:
    async def play() -> None:
        client = await Workshop().client.open(revision)
        response = await client.send("POST", batch(request("ping")), client.own)
        assert (response.status, response.code) == (400, -32600)

    run(play())


def test_an_id_cannot_be_used_twice_at_once() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        first = client.call("wait", id=5)
        await shop.reached.wait()
        second = await client.post("ping", id=5).done()
        assert (second.status, second.code) == (200, -32600)
        assert (await client.post("ping", id="5").done()).json["result"] == {}
        shop.gate.set()
        assert answer_in(await first.done()) == "waited"
        assert (await client.post("ping", id=5).done()).json["result"] == {}

    run(play())


# -- what a handler says before it answers ----------------------------------------------------


@pytest.mark.parametrize("tool", ["talk", "talk_from_thread"])
@pytest.mark.parametrize("revision", [BATCHES, FIRST_FORMS, LEGACY])
def test_a_stream_has_ids_and_is_primed_where_that_exists(revision: str, tool: str) -> None:
    async def play() -> None:
        client = await Workshop().client.open(revision)
        response = await client.call(tool).done()
        assert response.headers["content-type"] == "text/event-stream"
        assert answer_in(response) == "talked"
        first = response.events[0]
        assert (first.data == b"") is (revision == LEGACY)
        assert all(event.id for event in response.events)
        assert len(set(response.ids)) == len(response.ids)
        assert all(event.data for event in response.events[1:])

    run(play())


def test_ids_differ_between_the_streams_of_a_session() -> None:
    async def play() -> None:
        client = await Workshop().client.open()
        one, two = await client.call("talk").done(), await client.call("talk").done()
        assert set(one.ids).isdisjoint(two.ids)

    run(play())


def test_a_question_travels_on_the_stream_and_its_answer_in_a_post() -> None:
    async def play() -> None:
        client = await Workshop().client.open(capabilities={"elicitation": {}})
        call = client.call("ask")
        question = await call.hear("elicitation/create")
        accepted = await client.reply(
            question["id"], {"action": "accept", "content": {"name": "blue"}}
        )
        assert (accepted.status, accepted.body) == (202, b"")
        assert answer_in(await call.done()) == "blue"

    run(play())


def test_a_question_cannot_be_answered_by_another_session() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open(capabilities={"elicitation": {}})
        stranger = await shop.another().open()
        call = client.call("ask")
        question = await call.hear("elicitation/create")
        stolen = {"action": "accept", "content": {"name": "red"}}
        assert (await stranger.reply(question["id"], stolen)).status == 202
        await settle()
        assert not call.task.done()
        await client.reply(question["id"], {"action": "decline"})
        assert answer_in(await call.done()) == "decline"

    run(play())


def test_a_request_that_is_cancelled_gets_no_answer() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        quiet = client.call("wait", id=5)
        await shop.reached.wait()
        await client.tell("notifications/cancelled", {"requestId": 5})
        assert (await quiet.done()).status == 202
        assert quiet.body == b""
        talking = client.call("talk_and_wait", id=6)
        await talking.hear("notifications/message")
        await client.tell("notifications/cancelled", {"requestId": 6})
        await talking.done()
        assert talking.is_complete
        assert all("id" not in message for message in talking.messages)
        assert shop.finished == 0
        # There is nothing to come back for.
        again = await client.listen(talking.ids[-1]).done()
        assert again.events == []

    run(play())


def test_one_of_a_batch_can_be_cancelled() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open(BATCHES)
        wait = {"name": "wait", "arguments": {}}
        body = batch(request("tools/call", wait, id=1), request("ping", id=2))
        response = client.start("POST", body, client.own)
        await shop.reached.wait()
        await client.tell("notifications/cancelled", {"requestId": 1})
        await response.done()
        assert response.json == [{"jsonrpc": "2.0", "id": 2, "result": {}}]

    run(play())


def test_a_server_that_stops_leaves_no_stream_open() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        response = client.call("talk_and_wait")
        await response.hear("notifications/message")
        response.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await response.task
        await response.until(lambda response: response.is_complete)

    run(play())


def test_a_slow_reader_keeps_only_so_much_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_module, "_MOST_WAITING", 1000)

    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        response = client.call("flood", reads=False)
        stream = client.listen()
        await stream.until(lambda response: response.status != 0)
        stream.reads.clear()
        await shop.reached.wait()
        for _ in range(500):
            shop.change()
        await settle()
        response.reads.set()
        stream.reads.set()
        await response.done()
        assert len(response.messages) < 20
        assert answer_in(response) == "flooded"
        await client.delete()
        await stream.done()
        assert 2 < len(stream.messages) < 30

    run(play())


# -- the stream of a GET ----------------------------------------------------------------------


@pytest.mark.parametrize("revision", [BATCHES, FIRST_FORMS, LEGACY])
def test_a_get_stream_tells_of_changes_from_any_thread(revision: str) -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open(revision)
        # Nobody listens yet.
        shop.change()
        stream = client.listen()
        await stream.until(lambda response: response.status == 200)
        shop.change()
        await stream.hear("notifications/tools/list_changed")
        await asyncio.to_thread(shop.change)
        await stream.hear("notifications/tools/list_changed", 2)
        assert (stream.events[0].data == b"") is (revision == LEGACY)
        assert all(event.id for event in stream.events)
        shop.server.resource_updated("notes://today")
        await settle()
        assert stream.heard("notifications/resources/updated") == []
        stream.disconnect()
        await stream.done()

    run(play())


def test_a_loop_that_ended_with_streams_open_harms_nobody_who_makes_changes() -> None:
    async def play() -> Workshop:
        shop = Workshop()
        client = await shop.client.open()
        stream = client.listen()
        await stream.until(lambda response: response.status == 200)
        return shop

    shop = run(play())
    shop.change()
    shop.change()


def test_of_two_get_streams_the_newer_one_is_told() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        old = client.listen()
        await old.until(lambda response: response.status == 200)
        new = client.listen()
        await new.until(lambda response: response.status == 200)
        shop.change()
        await new.hear("notifications/tools/list_changed")
        assert old.messages == []
        await client.delete()
        await old.done()
        await new.done()

    run(play())


def test_answers_to_posts_do_not_travel_on_the_get_stream() -> None:
    async def play() -> None:
        client = await Workshop().client.open()
        stream = client.listen()
        await stream.until(lambda response: response.status == 200)
        await client.call("talk").done()
        assert stream.messages == []
        stream.disconnect()
        await stream.done()

    run(play())


# -- coming back ------------------------------------------------------------------------------


def test_a_broken_connection_cancels_nothing_and_the_rest_can_be_fetched() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        call = client.call("talk_and_wait")
        await call.hear("notifications/message")
        call.disconnect()
        await settle()
        assert not shop.cancelled.is_set()
        back = client.listen(call.ids[-1])
        await back.until(lambda response: response.status == 200)
        shop.gate.set()
        await back.done()
        await call.done()
        assert [m.get("params", {}).get("data") for m in back.messages] == ["second", None]
        assert answer_in(back) == "done"
        assert shop.finished == 1

    run(play())


def test_what_was_missed_is_told_again_from_any_event_on() -> None:
    async def play() -> None:
        client = await Workshop().client.open()
        whole = await client.call("talk", {"times": 3}).done()
        for index, id in enumerate(whole.ids):
            again = await client.listen(id).done()
            assert again.messages == whole.messages[index:]
            assert again.ids == whole.ids[index + 1 :]

    run(play())


def test_only_the_stream_of_the_event_is_told_again() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        one = await client.call("talk").done()
        two = await client.call("echo", {"text": "alone"}).done()
        three = await client.call("talk").done()
        assert two.json
        again = await client.listen(one.ids[0]).done()
        assert again.messages == one.messages
        assert set(again.ids).isdisjoint(three.ids)
        # Another session has streams of the same name, and none of these events.
        other = await shop.another().open()
        assert (await other.listen(one.ids[0]).done()).status == 400

    run(play())


def test_a_get_stream_goes_on_where_it_broke() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        stream = client.listen()
        await stream.until(lambda response: bool(response.status and response.ids))
        stream.disconnect()
        await stream.done()
        shop.change()
        await settle()
        back = client.listen(stream.ids[-1])
        await back.hear("notifications/tools/list_changed")
        shop.change()
        await back.hear("notifications/tools/list_changed", 2)
        back.disconnect()
        await back.done()

    run(play())


@pytest.mark.parametrize("id", [b"99_0", b"junk", b"", b"1_99", b"1_"])
def test_an_event_nobody_knows_is_a_400(id: bytes) -> None:
    async def play() -> None:
        client = await Workshop().client.open()
        await client.call("talk").done()
        response = await client.listen(id).done()
        assert (response.status, response.code) == (400, -32600)

    run(play())


def test_a_handler_can_hang_up_and_the_client_comes_back() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        call = client.call("hang_up")
        await call.until(lambda response: response.is_complete)
        assert [event.retry for event in call.events] == [None, b"500"]
        assert call.messages == []
        back = client.listen(call.ids[-1])
        await back.until(lambda response: response.status == 200)
        shop.gate.set()
        assert answer_in(await back.done()) == "came back"
        await call.done()

    run(play())


def test_a_handler_on_a_thread_can_hang_up_too() -> None:
    async def play() -> None:
        # In this mode the loop minds being touched from another thread.
        asyncio.get_running_loop().set_debug(True)
        client = await Workshop().client.open()
        call = await client.call("hang_up_from_thread").done()
        assert call.messages == []
        assert answer_in(await client.listen(call.ids[-1]).done()) == "came back"

    run(play())


@pytest.mark.parametrize("revision", UNPRIMED)
def test_nobody_is_hung_up_on_who_would_not_come_back(revision: str) -> None:
    async def play() -> None:
        client = await Workshop().client.open(revision)
        response = await client.call("hang_up_from_thread").done()
        assert answer_in(response) == "came back"
        assert not response.is_stream

    run(play())


def test_streams_that_are_over_are_forgotten_but_none_that_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MOST_STREAMS", 3)

    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        stream = client.listen()
        await stream.until(lambda response: response.status == 200)
        calls = [client.call("talk_and_wait") for _ in range(5)]
        for call in calls:
            await call.hear("notifications/message")
        over = [await client.call("talk").done() for _ in range(3)]
        assert (await client.listen(over[0].ids[0]).done()).status == 400
        shop.change()
        await stream.hear("notifications/tools/list_changed")
        shop.gate.set()
        for call in calls:
            assert answer_in(await call.done()) == "done"
        # An older GET makes room when a newer one has taken its place.
        newer = client.listen()
        await newer.until(lambda response: response.status == 200)
        for _ in range(9):
            await client.call("talk").done()
        await stream.done()
        assert not newer.is_complete
        await client.delete()
        await newer.done()

    run(play())


# -- without sessions -------------------------------------------------------------------------


def test_without_sessions_every_request_stands_alone() -> None:
    async def play() -> None:
        shop = Workshop({"stateless": True})
        client = await shop.client.open()
        assert client.session is None
        assert (await client.post("ping").done()).json["result"] == {}
        response = await client.call("talk").done()
        assert answer_in(response) == "talked"
        assert response.ids == []
        for method in ("GET", "DELETE"):
            refused = await client.send(method, b"", client.own)
            assert (refused.status, refused.code) == (405, -32600)
        asked = await client.call("ask").done()
        assert asked.json["result"]["isError"] is True
        hung_up = await client.call("hang_up_from_thread").done()
        assert answer_in(hung_up) == "came back"
        assert (await client.reply(1, {})).status == 202

    run(play())


def test_without_a_session_or_a_version_header_a_request_may_be_a_batch() -> None:
    async def play() -> None:
        client = Workshop({"stateless": True}).client
        response = await client.send("POST", batch(request("ping", id=1), request("ping", id=2)))
        assert [answer["id"] for answer in response.json] == [1, 2]
        headers = [("mcp-protocol-version", LEGACY)]
        refused = await client.send("POST", batch(request("ping")), headers)
        assert refused.status == 400
        broken = await client.send("POST", b"{", headers)
        assert (broken.status, broken.code) == (400, -32700)

    run(play())


def test_without_streaming_there_are_answers_only() -> None:
    async def play() -> None:
        client = await Workshop({"streaming": False}).client.open()
        response = await client.call("talk").done()
        assert answer_in(response) == "talked"
        assert not response.is_stream
        assert (await client.send("GET", b"", client.own)).status == 405

    run(play())


def test_what_is_said_reads_as_it_was_meant() -> None:
    async def play() -> Any:
        client = await Workshop().client.open()
        response = await client.call("echo", {"text": "a\nb\r\n☃"}).done()
        return json.loads(response.body)

    assert text_of(run(play())["result"]) == "a\nb\r\n☃"

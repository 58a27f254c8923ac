"""One POST: a message or several, ids, cancellation, and what its client can read."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dovetail import Options
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
from tests.unit.transports.streamable_http.asgi_client import answer_in, batch
from tests.unit.transports.streamable_http.workshop import Workshop


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


def test_what_is_said_reads_as_it_was_meant() -> None:
    async def play() -> Any:
        client = await Workshop().client.open()
        response = await client.call("echo", {"text": "a\nb\r\n☃"}).done()
        return json.loads(response.body)

    assert text_of(run(play())["result"]) == "a\nb\r\n☃"


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


# -- ids --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("first", ["ping", "tools/call", "nothing/here"])
def test_an_id_stands_once_in_a_batch(first: str, stateless: bool) -> None:
    async def play() -> None:
        client = await Workshop({"stateless": stateless}).client.open(BATCHES)
        body = batch(request(first, id=1), request("ping", id=1), request("ping", id="1"))
        response = await client.send("POST", body, client.own)
        assert len(response.json) == 3
        refused = [
            answer
            for answer in response.json
            if "in use" in answer.get("error", {}).get("message", "")
        ]
        assert [(answer["id"], answer["error"]["code"]) for answer in refused] == [(1, -32600)]
        assert {"jsonrpc": "2.0", "id": "1", "result": {}} in response.json
        # With the answer the id is free again.
        assert (await client.post("ping", id=1).done()).json["result"] == {}

    run(play())


def test_an_id_of_a_batch_is_in_use_until_the_batch_is_answered() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open(BATCHES)
        wait = {"name": "wait", "arguments": {}}
        body = batch(request("tools/call", wait, id=1), request("ping", id=2))
        first = client.start("POST", body, client.own)
        await shop.reached.wait()
        assert (await client.post("ping", id=1).done()).code == -32600
        # To cancel what is done already changes nothing.
        await client.tell("notifications/cancelled", {"requestId": 2})
        shop.gate.set()
        assert {answer["id"] for answer in (await first.done()).json} == {1, 2}

    run(play())


def test_a_batch_can_take_back_what_it_asks() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open(BATCHES)
        body = batch(
            request("tools/call", {"name": "wait", "arguments": {}}, id=1),
            notification("notifications/cancelled", {"requestId": 1}),
            request("ping", id=2),
        )
        response = await client.send("POST", body, client.own)
        assert [answer["id"] for answer in response.json] == [2]
        assert not shop.reached.is_set()

    run(play())


def test_a_batch_that_is_cut_off_leaves_no_id_in_use() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open(BATCHES)
        wait = {"name": "wait", "arguments": {}}
        body = batch(*(request("tools/call", wait, id=id) for id in (1, 2)))
        response = client.start("POST", body, client.own)
        await settle()
        response.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await response.task
        for id in (1, 2):
            assert (await client.post("ping", id=id).done()).json["result"] == {}
        assert shop.app.counts().calls == 0

    run(play())


# -- how many at once -------------------------------------------------------------------------


def test_a_session_has_only_so_many_calls_at_once() -> None:
    async def play() -> None:
        shop = Workshop(options=Options(max_calls_per_client=2))
        client = await shop.client.open()
        calls = [client.call("wait") for _ in range(2)]
        await settle()
        refused = await client.post("ping", id=9).done()
        assert (refused.status, refused.code, refused.json["id"]) == (429, 429, 9)
        assert refused.headers["retry-after"] == "1"
        # It can still say things, and others are served.
        assert (await client.tell("notifications/progress")).status == 202
        other = await shop.another().open()
        assert (await other.post("ping").done()).status == 200
        shop.gate.set()
        for call in calls:
            assert answer_in(await call.done()) == "waited"
        assert (await client.post("ping").done()).status == 200

    run(play())


def test_a_batch_holds_only_so_many_calls() -> None:
    async def play() -> None:
        shop = Workshop(options=Options(max_calls_per_client=2))
        client = await shop.client.open(BATCHES)
        wait = {"name": "wait"}
        body = batch(*(request("tools/call", wait, id=id) for id in range(4)))
        posted = client.start("POST", body, client.own)
        await settle()
        shop.gate.set()
        response = await posted.done()
        assert response.status == 200
        refused = {answer["id"] for answer in response.json if "error" in answer}
        assert (len(response.json), refused) == (4, {2, 3})

    run(play())


# -- clients that take no stream --------------------------------------------------------------


@pytest.mark.parametrize("revision", [BATCHES, FIRST_FORMS, LEGACY])
@pytest.mark.parametrize("tool", ["talk", "talk_from_thread", "hang_up_from_thread"])
def test_who_takes_only_json_gets_the_answer_and_nothing_else(tool: str, revision: str) -> None:
    async def play() -> None:
        client = await Workshop().client.open(revision)
        body = request("tools/call", {"name": tool, "arguments": {}})
        response = await client.send("POST", body, client.own, accept="application/json")
        assert response.json["id"] == 1
        assert answer_in(response) in ("talked", "came back")

    run(play())


def test_who_takes_only_json_cannot_be_asked() -> None:
    async def play() -> None:
        client = await Workshop().client.open(capabilities={"elicitation": {}})
        body = request("tools/call", {"name": "ask", "arguments": {}})
        response = await client.send("POST", body, client.own, accept="application/json")
        assert response.json["result"]["isError"] is True
        assert "allows no text/event-stream" in answer_in(response)

    run(play())

"""Streams have ids, outlive their connections, and are told again from any event on."""

from __future__ import annotations

import asyncio

import pytest

from dovetail.transports.asgi import reply as reply_module
from tests.unit.fakes import settle
from tests.unit.talk import (
    BATCHES,
    FIRST_FORMS,
    LEGACY,
    run,
)
from tests.unit.transports.streamable_http.asgi_client import answer_in
from tests.unit.transports.streamable_http.workshop import Workshop

UNPRIMED = (BATCHES, FIRST_FORMS)


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


def test_a_slow_reader_keeps_only_so_much_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_module, "_MAX_QUEUED_BYTES", 1000)

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
            await settle(3)
        response.reads.set()
        stream.reads.set()
        await response.done()
        assert len(response.messages) < 20
        assert answer_in(response) == "flooded"
        await client.delete()
        await stream.done()
        assert 2 < len(stream.messages) < 30

    run(play())


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

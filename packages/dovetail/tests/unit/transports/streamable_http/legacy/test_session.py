"""The stream of a GET, and how much of its streams a session keeps."""

from __future__ import annotations

import asyncio

import pytest

from dovetail.transports.streamable_http.legacy import session as session_module
from dovetail.wire.messages import Notification
from tests.unit.fakes import settle
from tests.unit.talk import (
    BATCHES,
    FIRST_FORMS,
    LEGACY,
    run,
)
from tests.unit.transports.streamable_http.asgi_client import answer_in
from tests.unit.transports.streamable_http.workshop import Workshop


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


def test_what_belongs_to_no_request_goes_to_whoever_listens() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        [kept] = shop.app.legacy.sessions
        # Nobody listens yet.
        kept.send_unrelated(Notification("notifications/early"))
        stream = client.listen()
        await stream.until(lambda response: response.status == 200)
        kept.send_unrelated(Notification("notifications/late"))
        await stream.hear("notifications/late")
        assert stream.heard("notifications/early") == []
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


def test_streams_that_are_over_are_forgotten_but_none_that_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session_module, "_MAX_STREAMS", 3)

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


def test_streams_that_are_over_keep_only_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_MAX_FINISHED_BYTES", 1000)

    async def play() -> None:
        client = await Workshop().client.open()
        over = [await client.call("talk", {"times": 5}).done() for _ in range(4)]
        statuses = [(await client.listen(response.ids[0]).done()).status for response in over]
        assert statuses[0] == 400
        assert statuses[-1] == 200

    run(play())


def test_get_streams_without_end_are_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_MAX_STREAMS", 3)

    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        streams = []
        for _ in range(10):
            stream = client.listen()
            await stream.until(lambda response: response.status == 200)
            streams.append(stream)
        for stream in streams[:7]:
            await stream.done()
        assert shop.app.counts().streams == 3
        shop.change()
        await streams[-1].hear("notifications/tools/list_changed")
        assert all(stream.messages == [] for stream in streams[:-1])
        await client.delete()
        for stream in streams:
            await stream.done()

    run(play())

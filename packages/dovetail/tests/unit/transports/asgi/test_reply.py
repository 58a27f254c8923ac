"""A reply: JSON as long as nothing else is said, a stream from then on, bounded in any case."""

from __future__ import annotations

import asyncio
import json

import pytest

from dovetail.transports.asgi import reply as module
from dovetail.transports.asgi.messages import Transmit
from dovetail.transports.asgi.reply import Reply
from tests.unit.fakes import settle
from tests.unit.talk import run
from tests.unit.transports.streamable_http.asgi_client import Message, Response


def test_an_answer_alone_is_json() -> None:
    async def play() -> None:
        response = Response()
        reply = Reply(response.transmit)
        await reply.drain()
        await reply.written()
        await reply.finish(b"{}", 404)
        assert (response.status, response.json) == (404, {})
        assert not reply.is_stream

    run(play())


def test_what_is_said_before_makes_it_a_stream() -> None:
    async def play() -> None:
        response = Response()
        reply = Reply(response.transmit)
        reply.send(b"1")
        assert reply.is_stream
        await reply.drain()
        await reply.finish(b"2", 404)
        assert response.status == 200
        assert response.headers == {
            "content-type": "text/event-stream",
            "cache-control": "no-store",
            "x-accel-buffering": "no",
        }
        assert response.messages == [1, 2]
        assert response.ids == []
        assert response.is_complete
        # Too late.
        reply.send(b"3")
        await reply.end()
        assert response.messages == [1, 2]

    run(play())


def test_without_streams_only_the_answer_is_sent() -> None:
    async def play() -> None:
        response = Response()
        reply = Reply(response.transmit, streams=False)
        reply.send(b"1")
        await reply.finish(b"2")
        assert response.json == 2

    run(play())


def test_messages_may_come_from_any_thread() -> None:
    async def play() -> None:
        response = Response()
        reply = Reply(response.transmit)

        def talk() -> None:
            for number in range(5):
                reply.send(b"%d" % number)

        await asyncio.to_thread(talk)
        await reply.finish(b"5")
        assert response.messages == [0, 1, 2, 3, 4, 5]

    run(play())


def test_what_a_slow_reader_has_no_room_for_is_dropped_but_never_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MAX_QUEUED_BYTES", 1000)

    async def play() -> None:
        response = Response()
        response.reads.clear()
        reply = Reply(response.transmit)
        for number in range(1000):
            reply.send(json.dumps([number, "x" * 100]).encode())
        ending = asyncio.ensure_future(reply.finish(b'["answer"]'))
        await settle()
        assert not ending.done()
        response.reads.set()
        await ending
        numbers = [message[0] for message in response.messages]
        assert numbers == [*range(len(numbers) - 1), "answer"]
        assert 5 < len(numbers) < 15

    run(play())


def test_whoever_drains_waits_for_a_slow_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_QUEUED_BYTES", 100)

    async def play() -> None:
        response = Response()
        response.reads.clear()
        reply = Reply(response.transmit)
        reply.send(b'"%s"' % (b"x" * 200))
        draining = asyncio.ensure_future(reply.drain())
        await settle()
        assert not draining.done()
        response.reads.set()
        await draining
        await reply.end()

    run(play())


def test_a_quiet_stream_shows_that_it_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEEP_ALIVE", 0.001)

    async def play() -> None:
        response = Response()
        reply = Reply(response.transmit)
        reply.open()
        await response.until(lambda response: response.body.count(b": \n\n") >= 2)
        assert response.events == []
        await reply.end()
        assert response.is_complete

    run(play())


def test_who_reads_nothing_for_long_has_lost_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WRITE_TIMEOUT", 0.01)

    async def play() -> None:
        async def transmit(message: Message) -> None:
            if message["type"] == "http.response.body":
                await asyncio.Event().wait()

        reply = Reply(transmit)
        reply.send(b"{}")
        await reply.written()
        reply.send(b"{}")
        assert reply._size == 0

    run(play())


def gone_after(count: int) -> Transmit:
    left = count

    async def transmit(message: Message) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise ConnectionResetError

    return transmit


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_client_that_is_gone_ends_the_stream_quietly(count: int) -> None:
    async def play() -> None:
        reply = Reply(gone_after(count))
        reply.send(b"1")
        await settle()
        reply.send(b"2")
        await reply.drain()
        await reply.finish(b"3")

    run(play())


def test_nobody_waits_for_a_reader_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_QUEUED_BYTES", 100)

    async def play() -> None:
        reply = Reply(gone_after(0))
        reply.send(b"x" * 1000)
        await reply.drain()
        await reply.end()

    run(play())


def test_whoever_drains_is_let_go_when_the_stream_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MAX_QUEUED_BYTES", 100)

    async def play() -> None:
        response = Response()
        response.reads.clear()
        reply = Reply(response.transmit)
        reply.send(b'"%s"' % (b"x" * 200))
        draining = asyncio.ensure_future(reply.drain())
        await settle()
        assert not draining.done()
        assert reply._writer is not None
        reply._writer.cancel()
        await draining
        await reply.drain()  # nor does anybody wait who comes later

    run(play())

"""The back channel: each answer finds its question, and no question is left behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import Raw

from dovetail.core.call import Ask
from dovetail.core.link import Outgoing
from dovetail.eras.legacy.back_channel import BackChannel
from dovetail.errors import (
    InvalidParamsError,
    LimitError,
    RpcError,
    TransportError,
)
from dovetail.wire import codec
from dovetail.wire.messages import Response
from tests.unit.fakes import drive

ASK = Ask("k", "elicitation/create", b'{"message":"m"}')


class Wire:
    """The client's end of a back channel."""

    def __init__(self, timeout: float | None = None) -> None:
        self.sent: list[Any] = []
        self.channel = BackChannel(timeout)

    def send(self, message: Outgoing) -> None:
        self.sent.append(json.loads(codec.encode_message(message)))

    def answer(self, message: bytes) -> bool:
        response = codec.decode(message)
        assert isinstance(response, Response)
        return self.channel.resolve(response)

    async def start(self, ask: Ask = ASK) -> asyncio.Task[Raw]:
        """A question that has been sent."""
        before = len(self.sent)
        task = asyncio.ensure_future(self.channel.request(ask, self.send))
        while len(self.sent) == before:
            await asyncio.sleep(0)
        return task


def played(play: Callable[[Wire], Awaitable[None]], timeout: float | None = None) -> list[Any]:
    """What the client has got when `play` is over."""

    async def run() -> list[Any]:
        wire = Wire(timeout)
        await play(wire)
        return wire.sent

    return drive(run())


def test_an_answer_ends_the_wait_and_is_handed_on_as_it_is() -> None:
    async def play(wire: Wire) -> None:
        task = await wire.start()
        assert list(wire.channel.waiting) == [b"1"]
        assert wire.answer(b'{"jsonrpc":"2.0","id":1,"result":{"action":"accept", "x":1}}')
        assert bytes(await task) == b'{"action":"accept", "x":1}'
        assert not wire.channel.waiting

    assert played(play) == [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "elicitation/create",
            "params": {"message": "m"},
        }
    ]


def test_a_question_without_params_has_none() -> None:
    async def play(wire: Wire) -> None:
        task = await wire.start(Ask("k", "roots/list", None))
        wire.answer(b'{"jsonrpc":"2.0","id":1,"result":{}}')
        await task

    assert played(play) == [{"jsonrpc": "2.0", "id": 1, "method": "roots/list"}]


def test_ids_never_repeat_and_answers_may_come_in_any_order() -> None:
    async def play(wire: Wire) -> None:
        tasks = [await wire.start() for _ in range(3)]
        for id in (3, 1, 2):
            assert wire.answer(b'{"jsonrpc":"2.0","id":%d,"result":{"of":%d}}' % (id, id))
        answers = [bytes(answer) for answer in await asyncio.gather(*tasks)]
        assert answers == [b'{"of":1}', b'{"of":2}', b'{"of":3}']
        last = await wire.start()
        wire.answer(b'{"jsonrpc":"2.0","id":4,"result":{}}')
        await last

    assert [message["id"] for message in played(play)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("error", "kind", "code", "message", "data"),
    [
        (b'{"code":-32602,"message":"bad"}', InvalidParamsError, -32602, "bad", None),
        (b'{"code":-1,"message":"no","data":[1]}', RpcError, -1, "no", [1]),
        (b'{"code":7}', RpcError, 7, "", None),
    ],
)
def test_an_error_answer_is_raised(
    error: bytes, kind: type[RpcError], code: int, message: str, data: Any
) -> None:
    async def play(wire: Wire) -> None:
        task = await wire.start()
        assert wire.answer(b'{"jsonrpc":"2.0","id":1,"error":%b}' % error)
        with pytest.raises(kind) as caught:
            await task
        assert type(caught.value) is kind
        assert (caught.value.code, caught.value.message, caught.value.data) == (
            code,
            message,
            data,
        )

    assert len(played(play)) == 1


@pytest.mark.parametrize("error", [b"null", b"[]", b"{}", b'{"code":"x"}', b'{"code":1.5}'])
def test_a_malformed_error_answer_is_an_error_too(error: bytes) -> None:
    async def play(wire: Wire) -> None:
        task = await wire.start()
        assert wire.answer(b'{"jsonrpc":"2.0","id":1,"error":%b}' % error)
        with pytest.raises(RpcError, match="malformed error") as caught:
            await task
        assert caught.value.code == -32603

    assert len(played(play)) == 1


def cancelled(id: int, reason: str) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": id, "reason": reason},
    }


def test_no_answer_in_time_cancels_the_question_at_the_client() -> None:
    async def play(wire: Wire) -> None:
        with pytest.raises(LimitError) as caught:
            await wire.channel.request(ASK, wire.send)
        assert str(caught.value) == (
            "The client did not answer elicitation/create within 0.001 seconds."
        )
        assert not wire.answer(b'{"jsonrpc":"2.0","id":1,"result":{}}')

    assert played(play, timeout=0.001)[1:] == [cancelled(1, "no answer in time")]


def test_a_question_nobody_waits_for_any_more_is_cancelled_at_the_client() -> None:
    async def play(wire: Wire) -> None:
        first, second = await wire.start(), await wire.start()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert not wire.answer(b'{"jsonrpc":"2.0","id":1,"result":{}}')
        assert wire.answer(b'{"jsonrpc":"2.0","id":2,"result":{}}')
        await second

    assert played(play)[2:] == [cancelled(1, "the answer is not needed any more")]


@pytest.mark.parametrize(
    "stray",
    [
        b'{"jsonrpc":"2.0","id":2,"result":{}}',
        b'{"jsonrpc":"2.0","id":"1","result":{}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":1}}',
        b'{"jsonrpc":"2.0","error":{"code":1}}',
    ],
)
def test_an_answer_to_nothing_that_was_asked_is_ignored(stray: bytes) -> None:
    async def play(wire: Wire) -> None:
        task = await wire.start()
        assert not wire.answer(stray)
        assert wire.answer(b'{"jsonrpc":"2.0","id":1,"result":{"good":1}}')
        assert bytes(await task) == b'{"good":1}'

    played(play)


def test_of_two_answers_the_first_counts() -> None:
    async def play(wire: Wire) -> None:
        task = await wire.start()
        assert wire.answer(b'{"jsonrpc":"2.0","id":1,"result":{"first":1}}')
        assert not wire.answer(b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}')
        assert bytes(await task) == b'{"first":1}'
        assert not wire.answer(b'{"jsonrpc":"2.0","id":1,"result":{}}')

    played(play)


def test_closing_ends_every_wait_and_tells_the_client_nothing() -> None:
    async def play(wire: Wire) -> None:
        tasks = [await wire.start() for _ in range(3)]
        wire.answer(b'{"jsonrpc":"2.0","id":2,"result":{}}')
        wire.channel.close()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(outcome, TransportError) for outcome in outcomes] == [True, False, True]
        wire.channel.close()

    assert [message["id"] for message in played(play)] == [1, 2, 3]


def test_a_question_after_the_end_fails_at_once() -> None:
    async def play(wire: Wire) -> None:
        wire.channel.close()
        with pytest.raises(TransportError, match="the client is gone"):
            await wire.channel.request(ASK, wire.send)

    assert played(play) == []


def test_ids_name_the_process_that_asks_if_answers_may_arrive_elsewhere() -> None:
    async def run() -> None:
        wire = Wire()
        wire.channel = BackChannel(None, "a1")
        task = await wire.start()
        assert wire.sent[0]["id"] == "a1-1"
        assert wire.answer(b'{"jsonrpc":"2.0","id":"a1-1","result":{}}')
        assert bytes(await task) == b"{}"

    drive(run())

"""Admission, the table of calls, cancellation and limits."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from dovetail import Options, Server
from dovetail.core.call import Call, StaticScope
from dovetail.core.call_state import ANSWERED
from dovetail.core.principal import Principal
from dovetail.errors import InternalError, RpcError
from dovetail.runtime.link import NULL_LINK, ResponseOnlyLink
from dovetail.runtime.message_handler import (
    ClientHandler,
    MessageHandler,
    StatelessHandler,
    finish_batch,
    refuse_message,
    start_lifespan,
)
from dovetail.spec.revisions import LATEST_LEGACY, V2025_03_26
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Notification, Request, Response
from tests.unit.fakes import settle
from tests.unit.talk import MODERN, notification, request, run

ORIGIN = StaticScope(None)
ADA, BOB = Principal("ada"), Principal("bob")


class Workbench:
    """A server with a tool that waits and one that does not."""

    def __init__(self, **options: Any) -> None:
        self.server = Server("s", options=Options(**options))
        self.gate = asyncio.Event()
        self.cancelled: list[bool] = []

        @self.server.tool
        async def wait() -> str:
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled.append(True)
                raise
            return "waited"

        @self.server.tool
        async def echo(word: str) -> str:
            return word

    def open(
        self, handler: MessageHandler, id: int, tool: str = "wait", who: Principal | None = None
    ) -> Call | RpcError:
        arguments = {"word": "hi"} if tool == "echo" else {}
        params = {"name": tool, "arguments": arguments}
        message = codec.decode(request("tools/call", params, id=id, revision=MODERN))
        assert isinstance(message, Request)
        return handler.open(message, who)

    def start(self, handler: MessageHandler, id: int, who: Principal | None = None) -> Any:
        call = self.open(handler, id, who=who)
        assert isinstance(call, Call)
        return handler.start_task(call, NULL_LINK, ORIGIN)


def cancel(id: int, reason: str = "done") -> Notification:
    message = codec.decode(
        notification("notifications/cancelled", {"requestId": id, "reason": reason})
    )
    assert isinstance(message, Notification)
    return message


def test_a_call_that_needs_no_waiting_is_answered_without_a_coroutine() -> None:
    async def scenario() -> None:
        bench = Workbench()
        handler = ClientHandler(bench.server.engine)
        call = bench.open(handler, 1, "echo")
        assert isinstance(call, Call)
        answer = handler.start(call, NULL_LINK, ORIGIN)
        assert isinstance(answer, bytes) and b"hi" in answer
        assert call.phase is ANSWERED and handler.in_flight == {}

    run(scenario())


def test_a_call_that_waits_is_in_flight_until_it_is_answered() -> None:
    async def scenario() -> None:
        bench = Workbench()
        handler = ClientHandler(bench.server.engine)
        task = bench.start(handler, 1)
        await settle()
        refused = bench.open(handler, 1)
        assert isinstance(refused, RpcError) and "id 1 is in use" in refused.message
        bench.gate.set()
        assert b"waited" in await task
        assert handler.in_flight == {}
        assert isinstance(bench.open(handler, 1), Call)

    run(scenario())


@pytest.mark.parametrize("turns", [0, 10])
def test_a_cancelled_call_ends_without_an_answer(
    turns: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "dovetail")

    async def scenario() -> None:
        bench = Workbench()
        handler = ClientHandler(bench.server.engine)
        task = bench.start(handler, 1)
        await settle(turns)
        handler.notify(cancel(1, "changed my mind"))
        assert await task is None
        assert handler.in_flight == {}
        # Before its first step the handler never runs.
        assert bench.cancelled == ([True] if turns else [])

    run(scenario())
    assert "request 1 cancelled: changed my mind" in caplog.text


def test_a_call_is_cancelled_but_not_the_task_that_runs_it() -> None:
    async def scenario() -> None:
        bench = Workbench()
        handler = ClientHandler(bench.server.engine)
        call = bench.open(handler, 1)
        assert isinstance(call, Call)
        answer = handler.start(call, NULL_LINK, ORIGIN)
        assert not isinstance(answer, bytes)
        asyncio.get_running_loop().call_soon(handler.notify, cancel(1))
        assert await answer is None
        task = asyncio.current_task()
        assert task is not None and not task.cancelling()

    run(scenario())


def test_somebody_elses_cancellation_passes_through() -> None:
    async def scenario() -> None:
        bench = Workbench()
        handler = ClientHandler(bench.server.engine)
        task = bench.start(handler, 1)
        await settle()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert handler.in_flight == {}

    run(scenario())


def test_a_task_that_is_cancelled_before_its_first_step_is_forgotten() -> None:
    async def scenario() -> None:
        bench = Workbench()
        for handler in (ClientHandler(bench.server.engine), StatelessHandler(bench.server.engine)):
            task = bench.start(handler, 1, ADA)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await settle()
            assert handler.in_flight == {}

    run(scenario())


def test_a_call_that_ends_late_leaves_its_id_to_the_call_that_uses_it_now() -> None:
    async def scenario() -> None:
        bench = Workbench()
        handler = ClientHandler(bench.server.engine)
        bench.gate.set()
        await bench.start(handler, 1)
        bench.gate.clear()
        # Before the callbacks of the first task run.
        again = bench.start(handler, 1)
        await settle()
        assert list(handler.in_flight) == [b"1"]
        bench.gate.set()
        assert b"waited" in await again

    run(scenario())


def test_the_end_of_a_client_answers_what_waits() -> None:
    async def scenario() -> None:
        bench = Workbench()
        handler = ClientHandler(bench.server.engine)
        task = bench.start(handler, 1)
        await settle()
        handler.end(InternalError("gone"))
        assert json.loads(await task)["error"]["message"] == "gone"

    run(scenario())


@pytest.mark.parametrize(
    "message",
    [
        notification("notifications/cancelled", {"requestId": 99}),
        notification("notifications/cancelled"),
        notification("notifications/initialized"),
        notification("notifications/else"),
    ],
)
def test_notifications_of_nothing_change_nothing(message: bytes) -> None:
    async def scenario() -> None:
        for handler in (
            ClientHandler(Server("s").engine),
            StatelessHandler(Server("s").engine, LATEST_LEGACY),
        ):
            decoded = codec.decode(message)
            assert isinstance(decoded, Notification)
            handler.notify(decoded)
            handler.resolve(Response(b"7"))
            assert handler.session is None or not handler.session.ready

    run(scenario())


def test_what_another_process_may_wait_for_is_passed_on() -> None:
    async def scenario() -> None:
        bench = Workbench()
        handler = ClientHandler(bench.server.engine)
        passed: list[Notification | Response] = []
        handler.relay = passed.append
        task = bench.start(handler, 1)
        await settle()
        given: list[dict[str, Any]] = [{"requestId": 1}, {"requestId": 2}, {"requestId": {}}]
        known, unknown, invalid = (
            codec.decode(notification("notifications/cancelled", params)) for params in given
        )
        response = Response(b"7")
        for message in (known, unknown, invalid):
            assert isinstance(message, Notification)
            handler.notify(message)
        handler.resolve(response)
        assert passed == [unknown, response]
        assert await task is None

    run(scenario())


def test_a_client_has_only_so_many_calls_in_flight() -> None:
    async def scenario() -> None:
        bench = Workbench(max_calls_per_client=2)
        handler = ClientHandler(bench.server.engine)
        tasks = [bench.start(handler, id) for id in (1, 2)]
        refused = bench.open(handler, 3)
        assert isinstance(refused, RpcError) and refused.code == 429
        bench.gate.set()
        await asyncio.gather(*tasks)
        assert isinstance(bench.open(handler, 3), Call)

    run(scenario())


def test_stateless_callers_are_told_apart_by_their_principal() -> None:
    async def scenario() -> None:
        bench = Workbench(max_calls_per_client=1)
        handler = StatelessHandler(bench.server.engine)
        tasks = [bench.start(handler, 1, who) for who in (ADA, BOB, None, None)]
        refused = bench.open(handler, 2, who=ADA)
        assert isinstance(refused, RpcError) and refused.code == 429
        # Anonymous callers cannot be told apart, so they are not limited.
        assert isinstance(bench.open(handler, 2), Call)
        bench.gate.set()
        await asyncio.gather(*tasks)
        assert isinstance(bench.open(handler, 2, who=ADA), Call)
        assert handler.in_flight == {}

    run(scenario())


def test_a_batch_answers_each_request_and_takes_everything_else() -> None:
    async def scenario() -> list[Any]:
        bench = Workbench()
        handler = StatelessHandler(bench.server.engine, V2025_03_26)
        assert handler.refuse_batch() is None
        items = (
            request("ping", id=1),
            request("ping", id=1),
            request("tools/call", {"name": "echo", "arguments": {"word": "x"}}, id=2),
            b"5",
            notification("notifications/else"),
            b'{"jsonrpc":"2.0","id":9,"result":{}}',
        )
        batch = codec.decode(b"[%b]" % b",".join(items))
        assert isinstance(batch, Batch)
        link = ResponseOnlyLink(handler.session)
        responses = await finish_batch(*handler.start_batch(batch, link, ORIGIN, None))
        return [json.loads(response) for response in responses]

    answers = run(scenario())
    assert [answer.get("id") for answer in answers] == [1, 1, None, 2]
    assert ["error" in answer for answer in answers] == [False, True, True, False]


def test_a_batch_is_refused_where_the_revision_has_none() -> None:
    handler = StatelessHandler(Server("s").engine, LATEST_LEGACY)
    refusal = handler.refuse_batch()
    assert refusal is not None and b"one message at a time" in refusal


def test_every_request_of_a_message_can_be_refused() -> None:
    error = InternalError("no")
    single = refuse_message(codec.decode(request("ping", id=3)), error)
    assert single is not None and json.loads(single)["id"] == 3
    assert refuse_message(codec.decode(notification("a")), error) is None
    assert refuse_message(codec.decode(b"[%b]" % notification("a")), error) is None
    malformed = refuse_message(codec.decode(b"{"), error)
    assert malformed is not None and json.loads(malformed)["error"]["code"] == -32700
    both = refuse_message(codec.decode(b"[%b,5]" % request("ping", id=3)), error)
    assert both is not None and len(json.loads(both)) == 2


def test_a_lifespan_that_starts_has_no_error() -> None:
    async def scenario() -> None:
        assert await start_lifespan(Server("s").engine) is None

    run(scenario())

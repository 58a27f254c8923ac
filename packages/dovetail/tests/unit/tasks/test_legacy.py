"""Tasks as 2025-11-25 has them; the transcripts show the conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Raw

from dovetail.core.call import Ask, Call
from dovetail.core.principal import Principal
from dovetail.eras.legacy.back_channel import BackChannel
from dovetail.eras.legacy.session import LegacySession
from dovetail.errors import (
    InvalidParamsError,
    LimitError,
    MethodNotFoundError,
    RpcError,
    ToolError,
)
from dovetail.spec.revisions import V2025_06_18, V2025_11_25
from dovetail.tasks.legacy import LegacyTasks, result_methods
from dovetail.tasks.views import Status, TaskPage, TaskView, describe
from dovetail.wire import codec
from dovetail.wire.messages import Response
from tests.unit.fakes import drive, in_session, make_call, sent_by, session_in, settle

SHAPE = LegacyTasks(V2025_11_25)
EARLIER = LegacyTasks(V2025_06_18)
QUESTION = Ask("k", "elicitation/create", b'{"message":"m"}')


def view(status: Status = Status.WORKING, **members: Any) -> TaskView:
    return TaskView("a", status, 0, 1, 1000, 50, **members)


def called_with(task: str | None) -> Call:
    extra = "" if task is None else f',"task":{task}'
    return make_call(params=f'{{"name":"t"{extra}}}'.encode())


def test_a_task_is_wanted_where_it_is_asked_for_and_known() -> None:
    assert SHAPE.is_wanted(called_with("{}"))
    assert not SHAPE.is_wanted(called_with(None))
    assert not EARLIER.is_wanted(called_with("{}"))
    assert not SHAPE.is_wanted(make_call("prompts/get"))


def test_what_cannot_be_is_refused_in_the_words_of_the_revision() -> None:
    assert isinstance(SHAPE.needed("t"), MethodNotFoundError)
    assert isinstance(EARLIER.needed("t"), ToolError)
    assert isinstance(SHAPE.unsupported("t"), MethodNotFoundError)
    SHAPE.require(make_call())


def test_the_client_says_how_long() -> None:
    assert SHAPE.wanted_ttl_ms(called_with('{"ttl":60000}')) == 60000
    assert SHAPE.wanted_ttl_ms(called_with("{}")) is None
    with pytest.raises(InvalidParamsError, match="task: Expected"):
        SHAPE.wanted_ttl_ms(called_with('{"ttl":"long"}'))


@pytest.mark.parametrize("is_kept", [True, False])
def test_the_session_that_made_it_is_told_of_it(is_kept: bool) -> None:
    call = make_call()
    session = in_session(call, LegacySession(V2025_11_25, None, {}, None))
    session.is_kept = is_kept
    body = codec.decode_json(SHAPE.created(call, view(message="m")).body)
    assert body["task"] == describe(view(message="m"))
    assert body["task"]["statusMessage"] == "m"
    assert session_in(call).tasks == ({"a"} if is_kept else set())


def test_what_has_ended_cannot_be_cancelled() -> None:
    shown = SHAPE.cancelled(view(Status.CANCELLED), was_final=False)
    assert codec.decode_json(shown.body)["status"] == "cancelled"
    with pytest.raises(InvalidParamsError, match="ended already: it is completed"):
        SHAPE.cancelled(view(Status.COMPLETED), was_final=True)


@pytest.mark.parametrize(
    ("result", "status", "message"),
    [
        ({"content": []}, Status.COMPLETED, None),
        ({"content": [{"text": "a"}, {"data": ""}, {"text": "b"}], "isError": True}, "x", "a\nb"),
        ({"content": [], "isError": True}, "x", "The tool failed without saying why."),
        ({"content": [{"text": "x" * 900}], "isError": True}, "x", "x" * 500),
    ],
)
def test_a_tool_that_failed_makes_a_task_that_failed(
    result: Any, status: Any, message: str | None
) -> None:
    expected = (Status.FAILED if status == "x" else status, message)
    assert SHAPE.status_of(codec.encode(result)) == expected


# -- fetching the result ------------------------------------------------------------------------


class Tasks:
    """Keeps one task, as far as tasks/result needs it."""

    def __init__(self, task: TaskView) -> None:
        self.task = task
        self.answers: dict[str, bytes] = {}
        self.refused: dict[str, Exception] = {}
        self.given_back: list[str] = []
        self.is_mine = True
        self.next_cursor: str | None = None
        self._news: asyncio.Queue[TaskView] = asyncio.Queue()

    def become(self, task: TaskView) -> None:
        self._news.put_nowait(task)

    async def get(self, call: Call, id: str) -> TaskView:
        return self.task

    async def changed(self, call: Call, seen: TaskView) -> TaskView:
        return await self._news.get()

    def take(self, id: str, key: str) -> bool:
        return self.is_mine

    def give_back(self, id: str, key: str) -> None:
        self.given_back.append(key)

    def refuse(self, id: str, key: str, error: Exception) -> None:
        self.refused[key] = error

    async def answer(self, call: Call, id: str, answers: Mapping[str, Raw]) -> None:
        self.answers.update({key: bytes(raw) for key, raw in answers.items()})

    async def page(self, call: Call, cursor: str | None) -> TaskPage:
        return TaskPage([self.task], self.next_cursor)


class Services:
    def __init__(self, tasks: Tasks) -> None:
        self.tasks = SimpleNamespace(keeper=tasks)


def fetching(tasks: Tasks, *, timeout: float | None = None, ready: bool = True) -> Call:
    call = make_call("tasks/result", b'{"taskId":"a"}')
    call.services = Services(tasks)  # type: ignore[assignment]
    session = LegacySession(V2025_11_25, None, {"elicitation": {}}, None)
    session.ready = ready
    session.back_channel = BackChannel(timeout)
    in_session(call, session)
    return call


def channel_in(call: Call) -> BackChannel:
    channel = session_in(call).back_channel
    assert channel is not None
    return channel


async def fetch(call: Call) -> Any:
    outcome: Any = result_methods()["tasks/result"].run(call)
    return codec.decode_json((await outcome).body)


def test_what_has_ended_is_answered_at_once() -> None:
    meta = {"io.modelcontextprotocol/related-task": {"taskId": "a"}}
    done = fetching(Tasks(view(Status.COMPLETED, result=b'{"x":1,"_meta":{"y":2}}')))
    assert drive(fetch(done)) == {"x": 1, "_meta": {"y": 2, **meta}}
    failed = fetching(Tasks(view(Status.FAILED, error=b'{"code":7,"message":"no","data":[1]}')))
    with pytest.raises(RpcError, match="no") as caught:
        drive(fetch(failed))
    assert (caught.value.code, caught.value.data) == (7, [1])
    with pytest.raises(InvalidParamsError, match="was cancelled"):
        drive(fetch(fetching(Tasks(view(Status.CANCELLED)))))


def test_a_question_is_put_once_and_its_answer_handed_on() -> None:
    async def scenario() -> None:
        tasks = Tasks(view(Status.INPUT_REQUIRED, asks={"k": QUESTION}))
        call = fetching(tasks)
        waiting = asyncio.create_task(fetch(call))
        await settle()
        tasks.become(view(Status.INPUT_REQUIRED, asks={"k": QUESTION}))
        await settle()
        [asked] = sent_by(call)
        assert asked["params"]["_meta"] == {"io.modelcontextprotocol/related-task": {"taskId": "a"}}
        channel_in(call).resolve(Response(b"1", result=Raw(b'{"action":"accept"}')))
        await settle()
        assert tasks.answers == {"k": b'{"action":"accept"}'}
        tasks.become(view(Status.COMPLETED, result=b"{}"))
        await waiting

    drive(scenario())


@pytest.mark.parametrize("why", ["not mine", "not ready", "no channel", "no capability"])
def test_a_question_waits_for_somebody_who_can_put_it(why: str) -> None:
    async def scenario() -> None:
        tasks = Tasks(view(Status.INPUT_REQUIRED, asks={"k": QUESTION}))
        call = fetching(tasks, ready=why != "not ready")
        tasks.is_mine = why != "not mine"
        if why == "no channel":
            session_in(call).back_channel = None
        if why == "no capability":
            session_in(call).capabilities = {}
        waiting = asyncio.create_task(fetch(call))
        await settle()
        assert sent_by(call) == []
        tasks.become(view(Status.COMPLETED, result=b"{}"))
        await waiting

    drive(scenario())


def test_a_client_that_refuses_or_keeps_silent_is_told_of_to_the_function() -> None:
    async def scenario(timeout: float | None) -> Exception:
        tasks = Tasks(view(Status.INPUT_REQUIRED, asks={"k": QUESTION}))
        call = fetching(tasks, timeout=timeout)
        waiting = asyncio.create_task(fetch(call))
        await settle()
        if timeout is None:
            error = Raw(b'{"code":-1,"message":"not now"}')
            channel_in(call).resolve(Response(b"1", error=error))
        while not tasks.refused:
            await asyncio.sleep(0)
        tasks.become(view(Status.FAILED, result=b"{}"))
        await waiting
        return tasks.refused["k"]

    refusal = drive(scenario(None))
    assert isinstance(refusal, ToolError)
    assert str(refusal) == "The client refused elicitation/create: not now"
    assert isinstance(drive(scenario(0.001)), LimitError)


@pytest.mark.parametrize("how", ["gone", "cancelled"])
def test_a_client_that_goes_away_leaves_the_question_to_others(how: str) -> None:
    async def scenario() -> None:
        tasks = Tasks(view(Status.INPUT_REQUIRED, asks={"k": QUESTION}))
        call = fetching(tasks)
        waiting = asyncio.create_task(fetch(call))
        await settle()
        if how == "gone":
            channel_in(call).close()
        else:
            waiting.cancel()
        await settle()
        assert tasks.given_back == ["k"]
        waiting.cancel()
        await asyncio.wait([waiting])

    drive(scenario())


def test_a_list_is_for_callers_who_are_known() -> None:
    call = make_call("tasks/list", b"{}")
    call.services = Services(Tasks(view()))  # type: ignore[assignment]
    methods = result_methods()
    outcome: Any = methods["tasks/list"].run(call)
    with pytest.raises(MethodNotFoundError, match="cannot be told apart"):
        drive(outcome)


@pytest.mark.parametrize("next_cursor", [None, "c"])
def test_a_caller_with_a_principal_gets_a_page_of_tasks(next_cursor: str | None) -> None:
    tasks = Tasks(view())
    tasks.next_cursor = next_cursor
    call = make_call("tasks/list", b"{}")
    call.services = Services(tasks)  # type: ignore[assignment]
    call.principal = Principal("ann")
    outcome: Any = result_methods()["tasks/list"].run(call)
    listed = drive(outcome)
    assert listed["tasks"] == [describe(view())]
    assert listed.get("nextCursor") == next_cursor


def test_a_session_is_told_of_so_many_tasks_and_no_more() -> None:
    call = make_call()
    in_session(call, LegacySession(V2025_11_25, None, {}, None))
    session_in(call).tasks.update(str(number) for number in range(1000))
    SHAPE.created(call, view())
    assert len(session_in(call).tasks) == 1000
    assert "a" in session_in(call).tasks

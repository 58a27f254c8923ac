"""The extension io.modelcontextprotocol/tasks (SEP-2663): what a task looks like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.noting import answered
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.rules.tasks_extension import not_offered
from dovetail_check.rules.tasks_states import judge_entropy
from dovetail_check.task_traffic import Glimpse, call_of, created_tasks, glimpses
from dovetail_check.verdicts import Note, broken, kept

__all__: list[str] = []

_PROBE = ("extension-tasks",)
_INVALID_PARAMS = -32602


@rule("xtasks.resulttype-task", reads=_PROBE)
def a_task_is_called_one(seen: ProbeSession) -> Iterator[Note]:
    """resultType is `task` in the answer to a call that became one, and nowhere else."""
    yield from not_offered(seen)
    for exchange in seen.exchanges:
        result = exchange.result or {}
        kind = result.get("resultType")
        if exchange.method != "tools/call":
            if kind == "task":
                text = f"resultType 'task' in the result of {exchange.method!r:.60}"
                yield broken(exchange, f"{text}; it is for the answer to tools/call only")
        elif kind == "task":
            found = shapes.problems(result, "CreateTaskResult", seen.revision)
            text = f"resultType is 'task', but it is none: {'; '.join(found[:3])}"
            yield broken(exchange, text) if found else kept(exchange)
        elif "taskId" in result and "status" in result:
            yield broken(exchange, f"a call got a task, and resultType is {kind!r:.60}")


@rule("xtasks.durable", reads=_PROBE)
def a_task_can_be_found_at_once(seen: ProbeSession) -> Iterator[Note]:
    """tasks/get right behind the answer that made it known."""
    yield from not_offered(seen)
    for exchange in answered(seen.tagged("extension-tasks/get")):
        if exchange.tag != "extension-tasks/get":
            continue
        if exchange.result is not None:
            yield kept(exchange)
        elif exchange.code == _INVALID_PARAMS:
            text = f"tasks/get of a task that was just returned got {exchange.describe()}"
            yield broken(exchange, f"{text}; the task was due")


@rule("xtasks.get-shapes", reads=_PROBE)
def a_task_shows_what_its_status_brings(seen: ProbeSession) -> Iterator[Note]:
    """result, error or inputRequests, as the status says; and resultType is `complete`."""
    yield from not_offered(seen)
    for exchange in answered(seen.sent("tasks/get")):
        if exchange.result is None:
            continue
        found = shapes.result_problems(exchange.result, "tasks/get", seen.revision)
        kind = exchange.result.get("resultType")
        if kind != "complete":
            found.append(f"resultType is {kind!r:.60}, 'complete' was due")
        if exchange.result.get("taskId") != exchange.params.get("taskId"):
            found.append(f"taskId is {exchange.result.get('taskId')!r:.60}, another task's")
        yield broken(exchange, "; ".join(found[:3])) if found else kept(exchange)


@rule("xtasks.failed-only-jsonrpc", reads=_PROBE)
def a_tool_that_fails_completes_its_task(seen: ProbeSession) -> Iterator[Note]:
    """`failed` is for errors of JSON-RPC; a result with isError belongs to `completed`."""
    yield from not_offered(seen)
    made = {glimpse.id: call_of(glimpse.where) for glimpse in _texts(seen)}
    for glimpse in glimpses(seen):
        if glimpse.where.method != "tasks/get" or not glimpse.is_final:
            continue
        result, error = glimpse.task.get("result"), glimpse.task.get("error")
        id = glimpse.id if isinstance(glimpse.id, str) else ""
        if glimpse.status == "completed":
            if isinstance(result, dict) and result.get("isError") is True:
                yield kept(glimpse.where)
        elif glimpse.status == "failed":
            is_error = isinstance(error, dict) and isinstance(error.get("code"), int)
            if _fails_plainly(seen, made.get(id)) or not is_error:
                text = "a task is 'failed', but not by an error of JSON-RPC"
                yield broken(glimpse.where, f"{text}: it has {result or error!r:.100}")
            else:
                yield kept(glimpse.where)


def _texts(seen: ProbeSession) -> list[Glimpse]:
    return [glimpse for glimpse in created_tasks(seen) if isinstance(glimpse.id, str)]


def _fails_plainly(seen: ProbeSession, call: bytes | None) -> bool:
    """Whether the call without a task has a result that says it failed."""
    found = [
        one.result
        for one in seen.tagged("extension-tasks/plain")
        if one.result is not None and call_of(one) == call
    ]
    return any(result.get("isError") is True for result in found)


@rule("xtasks.id-entropy", reads=_PROBE)
def ids_of_tasks_cannot_be_guessed(seen: ProbeSession) -> Iterator[Note]:
    """As far as the ids of a few tasks show."""
    yield from not_offered(seen)
    yield from judge_entropy(_texts(seen))


@rule("xtasks.keys-unique", reads=_PROBE)
def a_key_stands_for_one_question(seen: ProbeSession) -> Iterator[Note]:
    """The same key of inputRequests never stands for another request of the task."""
    yield from not_offered(seen)
    asked: dict[tuple[str, str], Any] = {}
    for glimpse in glimpses(seen):
        questions = glimpse.task.get("inputRequests")
        if glimpse.status != "input_required" or not isinstance(questions, dict):
            continue
        for key, question in questions.items():
            known = asked.setdefault((repr(glimpse.id), key), question)
            if known == question:
                yield kept(glimpse.where)
            else:
                text = f"the key {key!r:.60} of inputRequests stands for another request than"
                yield broken(glimpse.where, f"{text} before")

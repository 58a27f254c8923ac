"""The extension io.modelcontextprotocol/tasks (SEP-2663): the form of a task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.escaping import shown
from dovetail_check.notes import answered
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.rules.tasks_extension import not_offered
from dovetail_check.rules.tasks_states import judge_entropy
from dovetail_check.task_traffic import TaskSnapshot, call_of, created_tasks, task_snapshots
from dovetail_check.verdicts import Note, satisfied, violated

__all__: list[str] = []

_PROBE = ("extension-tasks",)
_INVALID_PARAMS = -32602


@rule("xtasks.resulttype-task", reads=_PROBE)
def results_with_a_task_have_its_type(session: ProbeSession) -> Iterator[Note]:
    """resultType is `task` in the result of a call that became a task, and nowhere else."""
    yield from not_offered(session)
    for exchange in session.exchanges:
        result = exchange.result or {}
        kind = result.get("resultType")
        if exchange.method != "tools/call":
            if kind == "task":
                text = f"resultType 'task' in the result of {exchange.method!r:.60}"
                yield violated(exchange, f"{text}; expected it only for tools/call")
        elif kind == "task":
            found = shapes.problems(result, "CreateTaskResult", session.revision)
            text = f"resultType is 'task', but the result is not a task: {'; '.join(found[:3])}"
            yield violated(exchange, text) if found else satisfied(exchange)
        elif "taskId" in result and "status" in result:
            yield violated(
                exchange, f"a call got a task with resultType {kind!r:.60}; expected 'task'"
            )


@rule("xtasks.durable", reads=_PROBE)
def tasks_are_available_immediately(session: ProbeSession) -> Iterator[Note]:
    """tasks/get works directly after the result that created the task."""
    yield from not_offered(session)
    for exchange in answered(session.tagged("extension-tasks/get")):
        if exchange.tag != "extension-tasks/get":
            continue
        if exchange.result is not None:
            yield satisfied(exchange)
        elif exchange.code == _INVALID_PARAMS:
            text = f"tasks/get of a task that was just returned got {exchange.describe()}"
            yield violated(exchange, f"{text}; expected the task")


@rule("xtasks.get-shapes", reads=_PROBE)
def tasks_have_the_members_of_their_status(session: ProbeSession) -> Iterator[Note]:
    """A task has result, error or inputRequests by its status; resultType is `complete`."""
    yield from not_offered(session)
    for exchange in answered(session.sent("tasks/get")):
        if exchange.result is None:
            continue
        found = shapes.result_problems(exchange.result, "tasks/get", session.revision)
        kind = exchange.result.get("resultType")
        if kind != "complete":
            found.append(f"resultType: expected 'complete', got {kind!r:.60}")
        if exchange.result.get("taskId") != exchange.params.get("taskId"):
            found.append(f"taskId is {exchange.result.get('taskId')!r:.60} of another task")
        yield violated(exchange, "; ".join(found[:3])) if found else satisfied(exchange)


@rule("xtasks.failed-only-jsonrpc", reads=_PROBE)
def failing_tools_complete_their_task(session: ProbeSession) -> Iterator[Note]:
    """`failed` is for JSON-RPC errors; a result with isError belongs to `completed`."""
    yield from not_offered(session)
    made = {snapshot.id: call_of(snapshot.where) for snapshot in _texts(session)}
    for snapshot in task_snapshots(session):
        if snapshot.where.method != "tasks/get" or not snapshot.is_final:
            continue
        result, error = snapshot.task.get("result"), snapshot.task.get("error")
        id = snapshot.id if isinstance(snapshot.id, str) else ""
        if snapshot.status == "completed":
            if isinstance(result, dict) and result.get("isError") is True:
                yield satisfied(snapshot.where)
        elif snapshot.status == "failed":
            is_error = isinstance(error, dict) and isinstance(error.get("code"), int)
            if _fails_plainly(session, made.get(id)) or not is_error:
                text = "a task is 'failed', but not because of a JSON-RPC error"
                yield violated(snapshot.where, f"{text}: it has {shown(result or error)}")
            else:
                yield satisfied(snapshot.where)


def _texts(session: ProbeSession) -> list[TaskSnapshot]:
    return [snapshot for snapshot in created_tasks(session) if isinstance(snapshot.id, str)]


def _fails_plainly(session: ProbeSession, call: bytes | None) -> bool:
    """Whether the call without a task has a result with isError."""
    found = [
        one.result
        for one in session.tagged("extension-tasks/plain")
        if one.result is not None and call_of(one) == call
    ]
    return any(result.get("isError") is True for result in found)


@rule("xtasks.id-entropy", reads=_PROBE)
def task_ids_cannot_be_guessed(session: ProbeSession) -> Iterator[Note]:
    """Judged by the ids of a few tasks."""
    yield from not_offered(session)
    yield from judge_entropy(_texts(session))


@rule("xtasks.keys-unique", reads=_PROBE)
def input_request_keys_are_unique(session: ProbeSession) -> Iterator[Note]:
    """A key of inputRequests is never reused for another request of the task."""
    yield from not_offered(session)
    asked: dict[tuple[str, str], Any] = {}
    for snapshot in task_snapshots(session):
        questions = snapshot.task.get("inputRequests")
        if snapshot.status != "input_required" or not isinstance(questions, dict):
            continue
        for key, question in questions.items():
            known = asked.setdefault((repr(snapshot.id), key), question)
            if known == question:
                yield satisfied(snapshot.where)
            else:
                text = f"the key {key!r:.60} of inputRequests was used before"
                yield violated(snapshot.where, f"{text} for another request")

"""basic/utilities/tasks: creation and results of tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.exchanges import Exchange
from dovetail_check.notes import answered, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import as_json
from dovetail_check.task_traffic import (
    OPEN,
    SLOW,
    TERMINAL,
    TaskSnapshot,
    call_of,
    created_tasks,
    task_snapshots,
)
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__ = ["asked_for"]

_TASKS = ("tasks", "task-questions")
_CALLS = "tasks.requests.tools.call"

unjudged["tasks.internal-32603"] = (
    "needs an internal error of the server, which a check cannot cause"
)
unjudged["tasks.auth-bound"] = "needs the credentials of two users"
unjudged["tasks.cancel-stop"] = (
    "not visible from outside: whether work continues after a cancellation"
)


def asked_for(session: ProbeSession, *methods: str) -> list[Exchange]:
    """Answered requests about existing tasks."""
    known = [snapshot.id for snapshot in created_tasks(session)]
    sent = [
        exchange for exchange in session.sent(*methods) if exchange.params.get("taskId") in known
    ]
    return list(answered(sent))


def _last_seen(session: ProbeSession, id: Any) -> TaskSnapshot | None:
    """The last snapshot of a task."""
    mine = [snapshot for snapshot in task_snapshots(session) if snapshot.id == id]
    return mine[-1] if mine else None


# -- the result of the call ------------------------------------------------------------------------


@rule("tasks.create-result", reads=_TASKS)
def calls_as_tasks_return_a_task(session: ProbeSession) -> Iterator[Note]:
    """The result of a call that was accepted as a task is a CreateTaskResult."""
    yield from undeclared(session, _CALLS)
    for exchange in session.tagged("tasks/create", "task-questions/create"):
        if exchange.result is None:
            continue
        found = shapes.problems(exchange.result, "CreateTaskResult", session.revision)
        if found and exchange.result.get("isError") is True:
            text = "a call as a task got a result with isError; expected a task"
            yield ambiguous(exchange, f"{text}, unless the call was rejected")
        elif found:
            text = f"a call as a task did not return a CreateTaskResult: {'; '.join(found[:3])}"
            yield violated(exchange, text)
        else:
            yield satisfied(exchange)


@rule("tasks.create-fast", reads=_TASKS)
def tasks_are_returned_immediately(session: ProbeSession) -> Iterator[Note]:
    """The server returns the task before the work ends."""
    yield from undeclared(session, _CALLS)
    looks = {
        exchange.params.get("taskId"): exchange for exchange in session.tagged("tasks/get")[::-1]
    }
    created = list(created_tasks(session))
    # A late answer on a busy machine shows nothing: the tool was called again.
    fastest: dict[Any, float] = {}
    for snapshot in created:
        name, seconds = snapshot.where.params.get("name"), snapshot.where.seconds or 0.0
        fastest[name] = min(seconds, fastest.get(name, seconds))
    for snapshot in created:
        first = looks.get(_key(snapshot.id))
        if first is None:
            continue
        took = fastest[snapshot.where.params.get("name")]
        was_over = (first.result or {}).get("status") in TERMINAL
        # A server that is slow in general takes as long for tasks/get.
        usual = first.seconds or 0.0
        if took > SLOW + usual and was_over:
            text = (
                f"the task was returned after {took:.1f} s, when it had ended; expected it at once"
            )
            yield violated(snapshot.where, text)
        elif took <= SLOW + usual:
            yield satisfied(snapshot.where)


def _key(id: Any) -> str:
    return id if isinstance(id, str) else ""


# -- tasks/result ----------------------------------------------------------------------------------


@rule("tasks.result-blocks", reads=("tasks",))
def tasks_result_blocks(session: ProbeSession) -> Iterator[Note]:
    """tasks/result of a running task is answered only after the task ends."""
    yield from undeclared(session, _CALLS)
    for early in session.tagged("tasks/early-result"):
        id = early.params.get("taskId")
        before = _status(session, "tasks/get", id)
        after = _status(session, "tasks/get/after", id)
        late = [
            one for one in session.tagged("tasks/late-result") if one.params.get("taskId") == id
        ]
        if early.answer is None:
            if early.is_silent and after in OPEN:
                yield satisfied(early)
        elif after in OPEN:
            text = f"tasks/result got {early.describe()} while the task is {after!r}"
            yield violated(early, f"{text}; expected it to block")
        elif early.error is not None and late and late[-1].result is not None:
            text = f"tasks/result got {early.describe()} at first and a result later"
            yield violated(early, f"{text}; expected it to block")
        elif before in OPEN and after in TERMINAL:
            yield satisfied(early)


def _status(session: ProbeSession, tag: str, id: Any) -> Any:
    found = [one for one in session.exchanges if one.tag == tag and one.params.get("taskId") == id]
    return (found[-1].result or {}).get("status") if found else None


@rule("tasks.result-terminal", reads=("tasks",))
def the_result_equals_that_of_the_call(session: ProbeSession) -> Iterator[Note]:
    """tasks/result of a completed task returns what the plain call would have returned."""
    yield from undeclared(session, _CALLS)
    for exchange, made, last in _fetched(session):
        if last.status != "completed":
            continue
        if exchange.result is None:
            yield violated(exchange, f"tasks/result of a completed task got {exchange.describe()}")
            continue
        found = shapes.problems(exchange.result, "CallToolResult", session.revision)
        if found:
            yield violated(exchange, f"not a tools/call result: {'; '.join(found[:3])}")
            continue
        plain = [as_json(one.result) for one in _plain(session, made) if one.result is not None]
        is_stable = len(plain) > 1 and plain[0] == plain[-1]
        if is_stable and as_json(exchange.result) != plain[0]:
            text = "the result differs from two equal results of the plain call"
            yield ambiguous(exchange, f"{text}: a violation unless the result changed since")
        else:
            yield satisfied(exchange)


def _fetched(session: ProbeSession) -> Iterator[tuple[Exchange, TaskSnapshot, TaskSnapshot]]:
    """tasks/result of ended tasks, each with the first and last snapshot of the task."""
    made = {
        snapshot.id: snapshot for snapshot in created_tasks(session) if isinstance(snapshot.id, str)
    }
    for exchange in asked_for(session, "tasks/result"):
        id = exchange.params.get("taskId")
        last = _last_seen(session, id)
        if exchange.tag == "tasks/late-result" and last is not None and last.is_final:
            yield exchange, made[_key(id)], last


def _plain(session: ProbeSession, made: TaskSnapshot) -> list[Exchange]:
    """The same call without a task."""
    wanted = call_of(made.where)
    return [one for one in answered(session.tagged("tasks/plain")) if call_of(one) == wanted]


@rule("tasks.failed-error-same", reads=("tasks",))
def failures_equal_those_of_the_call(session: ProbeSession) -> Iterator[Note]:
    """tasks/result of a failed task returns the error or result of the plain call."""
    yield from undeclared(session, _CALLS)
    for exchange, made, last in _fetched(session):
        codes = {repr(one.code) for one in _plain(session, made)}
        if last.status != "failed" or len(codes) != 1:
            # A plain call with changing results cannot be compared.
            continue
        if {repr(exchange.code)} == codes:
            yield satisfied(exchange)
        else:
            [plain] = _plain(session, made)[-1:]
            text = f"tasks/result got {exchange.describe()}; the plain call got"
            yield violated(exchange, f"{text} {plain.describe()}")


@rule("tasks.failed-message", reads=("tasks",))
def failed_tasks_have_a_message(session: ProbeSession) -> Iterator[Note]:
    """tasks/get of a failed task returns statusMessage."""
    yield from undeclared(session, "tasks")
    for snapshot in task_snapshots(session):
        if snapshot.status != "failed" or snapshot.where.method != "tasks/get":
            continue
        text = snapshot.task.get("statusMessage")
        if isinstance(text, str) and text.strip():
            yield satisfied(snapshot.where)
        else:
            yield violated(
                snapshot.where, f"statusMessage of a failed task is {text!r:.60}; expected text"
            )

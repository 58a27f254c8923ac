"""basic/utilities/tasks: what a task comes to, and which messages belong to one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.exchanges import Exchange
from dovetail_check.noting import answered, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import as_json
from dovetail_check.task_traffic import (
    OPEN,
    TERMINAL,
    Glimpse,
    call_of,
    created_tasks,
    glimpses,
)
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__ = ["asked_for"]

_TASKS = ("tasks", "task-questions")
_CALLS = "tasks.requests.tools.call"
# Seconds after which an answer cannot be called immediate.
_SLOW = 1.0

unjudged["tasks.internal-32603"] = "it takes a fault inside the server, which a check cannot make"
unjudged["tasks.auth-bound"] = "it takes the credentials of two users"
unjudged["tasks.cancel-stop"] = "whether work goes on that nobody waits for is not seen"


def asked_for(seen: ProbeSession, *methods: str) -> list[Exchange]:
    """Requests about tasks that exist, with an answer."""
    known = [glimpse.id for glimpse in created_tasks(seen)]
    sent = [exchange for exchange in seen.sent(*methods) if exchange.params.get("taskId") in known]
    return list(answered(sent))


def _last_seen(seen: ProbeSession, id: Any) -> Glimpse | None:
    """A task as it was seen last."""
    mine = [glimpse for glimpse in glimpses(seen) if glimpse.id == id]
    return mine[-1] if mine else None


# -- the answer to the call ------------------------------------------------------------------------


@rule("tasks.create-result", reads=_TASKS)
def a_task_is_answered_with_a_task(seen: ProbeSession) -> Iterator[Note]:
    """The result of a call that was taken as a task is a CreateTaskResult."""
    yield from undeclared(seen, _CALLS)
    for exchange in seen.tagged("tasks/create", "task-questions/create"):
        if exchange.result is None:
            continue
        found = shapes.problems(exchange.result, "CreateTaskResult", seen.revision)
        if found and exchange.result.get("isError") is True:
            text = "a call as a task got a result with isError: a task was due"
            yield unsettled(exchange, f"{text}, unless the call was not accepted")
        elif found:
            text = f"a call as a task got no CreateTaskResult: {'; '.join(found[:3])}"
            yield broken(exchange, text)
        else:
            yield kept(exchange)


@rule("tasks.create-fast", reads=_TASKS)
def a_task_is_there_at_once(seen: ProbeSession) -> Iterator[Note]:
    """Nobody waited for the end of the task before answering."""
    yield from undeclared(seen, _CALLS)
    looks = {exchange.params.get("taskId"): exchange for exchange in seen.tagged("tasks/get")[::-1]}
    for glimpse in created_tasks(seen):
        answer, first = glimpse.where.answer, looks.get(_key(glimpse.id))
        if answer is None or first is None:
            continue
        took = answer.frame.at - glimpse.where.sent.at
        was_over = (first.result or {}).get("status") in TERMINAL
        if took > _SLOW and was_over:
            text = f"the task came after {took:.1f} s, when it had ended; at once was due"
            yield broken(glimpse.where, text)
        elif took <= _SLOW:
            yield kept(glimpse.where)


def _key(id: Any) -> str:
    return id if isinstance(id, str) else ""


# -- tasks/result ----------------------------------------------------------------------------------


@rule("tasks.result-blocks", reads=("tasks",))
def a_result_is_waited_for(seen: ProbeSession) -> Iterator[Note]:
    """tasks/result of a task at work is answered when it has ended, not before."""
    yield from undeclared(seen, _CALLS)
    for early in seen.tagged("tasks/early-result"):
        id = early.params.get("taskId")
        before = _status(seen, "tasks/get", id)
        after = _status(seen, "tasks/get/after", id)
        late = [one for one in seen.tagged("tasks/late-result") if one.params.get("taskId") == id]
        if early.answer is None:
            if early.is_silent and after in OPEN:
                yield kept(early)
        elif after in OPEN:
            text = f"tasks/result got {early.describe()} while the task is {after!r}"
            yield broken(early, f"{text}; it was to wait")
        elif early.error is not None and late and late[-1].result is not None:
            text = f"tasks/result got {early.describe()} at first and a result later"
            yield broken(early, f"{text}; it was to wait")
        elif before in OPEN and after in TERMINAL:
            yield kept(early)


def _status(seen: ProbeSession, tag: str, id: Any) -> Any:
    found = [one for one in seen.exchanges if one.tag == tag and one.params.get("taskId") == id]
    return (found[-1].result or {}).get("status") if found else None


@rule("tasks.result-terminal", reads=("tasks",))
def the_result_is_that_of_the_call(seen: ProbeSession) -> Iterator[Note]:
    """tasks/result of what has completed is what the call would have been answered with."""
    yield from undeclared(seen, _CALLS)
    for exchange, made, last in _fetched(seen):
        if last.status != "completed":
            continue
        if exchange.result is None:
            yield broken(exchange, f"a task that is completed got {exchange.describe()}")
            continue
        found = shapes.problems(exchange.result, "CallToolResult", seen.revision)
        if found:
            yield broken(exchange, f"no result of tools/call: {'; '.join(found[:3])}")
            continue
        plain = [as_json(one.result) for one in _plain(seen, made) if one.result is not None]
        is_stable = len(plain) > 1 and plain[0] == plain[-1]
        if is_stable and as_json(exchange.result) != plain[0]:
            text = "the call without a task has another result, twice the same"
            yield unsettled(exchange, f"{text}: it should be the same, or may be a later one")
        else:
            yield kept(exchange)


def _fetched(seen: ProbeSession) -> Iterator[tuple[Exchange, Glimpse, Glimpse]]:
    """What tasks/result gave of tasks that have ended: with their creation, and their end."""
    made = {glimpse.id: glimpse for glimpse in created_tasks(seen) if isinstance(glimpse.id, str)}
    for exchange in asked_for(seen, "tasks/result"):
        id = exchange.params.get("taskId")
        last = _last_seen(seen, id)
        if exchange.tag == "tasks/late-result" and last is not None and last.is_final:
            yield exchange, made[_key(id)], last


def _plain(seen: ProbeSession, made: Glimpse) -> list[Exchange]:
    """The same call without a task."""
    wanted = call_of(made.where)
    return [one for one in answered(seen.tagged("tasks/plain")) if call_of(one) == wanted]


@rule("tasks.failed-error-same", reads=("tasks",))
def a_failure_is_that_of_the_call(seen: ProbeSession) -> Iterator[Note]:
    """tasks/result of what has failed is the error, or the result, that the call would have got."""
    yield from undeclared(seen, _CALLS)
    for exchange, made, last in _fetched(seen):
        codes = {repr(one.code) for one in _plain(seen, made)}
        if last.status != "failed" or len(codes) != 1:
            # A call that ends now so, now otherwise, has nothing to be compared with.
            continue
        if {repr(exchange.code)} == codes:
            yield kept(exchange)
        else:
            [plain] = _plain(seen, made)[-1:]
            text = f"tasks/result got {exchange.describe()}; without a task it is"
            yield broken(exchange, f"{text} {plain.describe()}")


@rule("tasks.failed-message", reads=("tasks",))
def failed_tasks_say_why(seen: ProbeSession) -> Iterator[Note]:
    """statusMessage, where tasks/get shows a task that has failed."""
    yield from undeclared(seen, "tasks")
    for glimpse in glimpses(seen):
        if glimpse.status != "failed" or glimpse.where.method != "tasks/get":
            continue
        text = glimpse.task.get("statusMessage")
        if isinstance(text, str) and text.strip():
            yield kept(glimpse.where)
        else:
            yield broken(glimpse.where, f"a task has failed, and statusMessage is {text!r:.60}")

"""basic/utilities/tasks: which messages belong to a task, and what a task asks of the client."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.exchanges import Exchange, Heard
from dovetail_check.noting import answered, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import ASKS
from dovetail_check.rulebook import rule
from dovetail_check.rules.tasks_results import asked_for
from dovetail_check.task_traffic import NO_SUCH_TASK, created_tasks, related_id
from dovetail_check.verdicts import Note, broken, kept

__all__: list[str] = []

_TASKS = ("tasks", "task-questions")
_CALLS = "tasks.requests.tools.call"
_STATUS = "notifications/tasks/status"


@rule("tasks.result-related-meta", reads=_TASKS)
def a_result_names_its_task(seen: ProbeSession) -> Iterator[Note]:
    """The metadata of what tasks/result gives."""
    yield from undeclared(seen, _CALLS)
    for exchange in asked_for(seen, "tasks/result"):
        if exchange.result is None:
            # An error has no metadata.
            continue
        id, named = exchange.params.get("taskId"), related_id(exchange.result)
        if named == id:
            yield kept(exchange)
        else:
            yield broken(exchange, f"the metadata names the task {named!r:.60}; {id!r:.60} was due")


@rule("tasks.get-no-related-meta", reads=_TASKS)
def tasks_do_not_name_themselves_twice(seen: ProbeSession) -> Iterator[Note]:
    """No such metadata in the results of tasks/get, tasks/list and tasks/cancel."""
    yield from undeclared(seen, "tasks")
    for exchange in seen.sent("tasks/get", "tasks/list", "tasks/cancel"):
        if exchange.result is None:
            continue
        named = related_id(exchange.result)
        if named is None:
            yield kept(exchange)
        else:
            text = f"the result of {exchange.method} names its task {named!r:.60} in the metadata"
            yield broken(exchange, text)


@rule("tasks.notify-no-related-meta", reads=_TASKS)
def notices_do_not_name_their_task_twice(seen: ProbeSession) -> Iterator[Note]:
    """No such metadata in notifications/tasks/status."""
    for heard in seen.notifications(_STATUS):
        named = related_id(heard.params)
        if named is None:
            yield kept(heard)
        else:
            yield broken(heard, f"{_STATUS} names its task {named!r:.60} in the metadata")


@rule("tasks.ignore-related-meta", reads=("tasks",))
def the_parameter_says_which_task(seen: ProbeSession) -> Iterator[Note]:
    """A real id with the metadata of another task, and the other way round."""
    yield from undeclared(seen, _CALLS)
    for exchange in answered(seen.tagged("tasks/related/other")):
        due = exchange.params.get("taskId")
        if exchange.result is not None and exchange.result.get("taskId") == due:
            yield kept(exchange)
        else:
            text = f"tasks/get with the metadata of another task got {exchange.describe()}"
            yield broken(exchange, f"{text}; the task of the parameter was due")
    for exchange in answered(seen.tagged("tasks/related/only")):
        if exchange.result is None:
            yield kept(exchange)
        else:
            text = f"tasks/get of {NO_SUCH_TASK!r} got the task that the metadata names"
            yield broken(exchange, f"{text}; an error was due")


def _asked_by_tasks(seen: ProbeSession) -> Iterator[Heard]:
    """Questions that came on a line while only tasks were at work on it."""
    ours = seen.tagged("task-questions")
    for line in dict.fromkeys(exchange.line for exchange in ours):
        mine = [exchange for exchange in ours if exchange.line == line]
        begin, end = mine[0].sent.n, max(_end_of(exchange) for exchange in mine)
        for heard in seen.requests:
            is_mine = heard.frame.line == line and begin < heard.frame.n < end
            if is_mine and heard.method in ASKS:
                yield heard


def _end_of(exchange: Exchange) -> int:
    return max((frame.n for frame in exchange.replies), default=exchange.sent.n)


@rule("tasks.related-meta-on-requests", reads=("task-questions",))
def questions_name_their_task(seen: ProbeSession) -> Iterator[Note]:
    """The metadata of what a task asks of the client."""
    yield from undeclared(seen, _CALLS)
    known = [glimpse.id for glimpse in created_tasks(seen)]
    for heard in _asked_by_tasks(seen):
        named = related_id(heard.params)
        if named in known:
            yield kept(heard)
        else:
            yield broken(heard, f"a task asks, and the metadata names the task {named!r:.60}")


@rule("tasks.input-required-state", reads=("task-questions",))
def tasks_that_ask_say_so(seen: ProbeSession) -> Iterator[Note]:
    """`input_required` while a question is open."""
    yield from undeclared(seen, _CALLS)
    for exchange in seen.tagged("task-questions/get/asked"):
        if exchange.result is None:
            continue
        status = exchange.result.get("status")
        if status == "input_required":
            yield kept(exchange)
        else:
            text = f"a question is open, and the task is {status!r:.60}"
            yield broken(exchange, f"{text}; 'input_required' was due")


@rule("tasks.leave-input-required", reads=("task-questions",))
def tasks_that_were_answered_go_on(seen: ProbeSession) -> Iterator[Note]:
    """Another state when everything was answered."""
    yield from undeclared(seen, _CALLS)
    asked = [exchange.params.get("taskId") for exchange in seen.tagged("task-questions/get/asked")]
    for exchange in seen.tagged("task-questions/get/after"):
        if exchange.result is None or exchange.params.get("taskId") not in asked:
            continue
        status = exchange.result.get("status")
        if status == "input_required":
            yield broken(exchange, "every question was answered, and the task is 'input_required'")
        else:
            yield kept(exchange)

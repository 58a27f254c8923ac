"""basic/utilities/tasks: messages that belong to a task, and input requests of tasks."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.exchanges import Exchange, Incoming
from dovetail_check.notes import answered, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import ASKS
from dovetail_check.rulebook import rule
from dovetail_check.rules.tasks_results import asked_for
from dovetail_check.task_traffic import NO_SUCH_TASK, created_tasks, related_id
from dovetail_check.verdicts import Note, satisfied, violated

__all__: list[str] = []

_TASKS = ("tasks", "task-questions")
_CALLS = "tasks.requests.tools.call"
_STATUS = "notifications/tasks/status"


@rule("tasks.result-related-meta", reads=_TASKS)
def a_result_names_its_task(session: ProbeSession) -> Iterator[Note]:
    """`_meta` of a tasks/result result names the task."""
    yield from undeclared(session, _CALLS)
    for exchange in asked_for(session, "tasks/result"):
        if exchange.result is None:
            # An error has no metadata.
            continue
        id, named = exchange.params.get("taskId"), related_id(exchange.result)
        if named == id:
            yield satisfied(exchange)
        else:
            yield violated(exchange, f"_meta names the task {named!r:.60}; expected {id!r:.60}")


@rule("tasks.get-no-related-meta", reads=_TASKS)
def task_results_have_no_related_task(session: ProbeSession) -> Iterator[Note]:
    """The results of tasks/get, tasks/list and tasks/cancel do not name the task in `_meta`."""
    yield from undeclared(session, "tasks")
    for exchange in session.sent("tasks/get", "tasks/list", "tasks/cancel"):
        if exchange.result is None:
            continue
        named = related_id(exchange.result)
        if named is None:
            yield satisfied(exchange)
        else:
            text = f"the result of {exchange.method} names its task {named!r:.60} in _meta"
            yield violated(exchange, text)


@rule("tasks.notify-no-related-meta", reads=_TASKS)
def task_notifications_have_no_related_task(session: ProbeSession) -> Iterator[Note]:
    """notifications/tasks/status does not name the task in `_meta`."""
    for incoming in session.notifications(_STATUS):
        named = related_id(incoming.params)
        if named is None:
            yield satisfied(incoming)
        else:
            yield violated(incoming, f"{_STATUS} names its task {named!r:.60} in _meta")


@rule("tasks.ignore-related-meta", reads=("tasks",))
def the_task_id_param_decides(session: ProbeSession) -> Iterator[Note]:
    """If taskId and `_meta` name different tasks, taskId counts."""
    yield from undeclared(session, _CALLS)
    for exchange in answered(session.tagged("tasks/related/other")):
        expected = exchange.params.get("taskId")
        if exchange.result is not None and exchange.result.get("taskId") == expected:
            yield satisfied(exchange)
        else:
            text = f"tasks/get with another task in _meta got {exchange.describe()}"
            yield violated(exchange, f"{text}; expected the task that taskId names")
    for exchange in answered(session.tagged("tasks/related/only")):
        if exchange.result is None:
            yield satisfied(exchange)
        else:
            text = f"tasks/get of {NO_SUCH_TASK!r} got the task that _meta names"
            yield violated(exchange, f"{text}; expected an error")


def _asked_by_tasks(session: ProbeSession) -> Iterator[Incoming]:
    """Input requests on a connection while it ran only tasks."""
    ours = session.tagged("task-questions")
    for connection in dict.fromkeys(exchange.connection for exchange in ours):
        mine = [exchange for exchange in ours if exchange.connection == connection]
        begin, end = mine[0].sent.n, max(_end_of(exchange) for exchange in mine)
        for incoming in session.requests:
            is_mine = begin < incoming.frame.n < end and incoming.frame.connection == connection
            if is_mine and incoming.method in ASKS:
                yield incoming


def _end_of(exchange: Exchange) -> int:
    return max((frame.n for frame in exchange.replies), default=exchange.sent.n)


@rule("tasks.related-meta-on-requests", reads=("task-questions",))
def input_requests_name_their_task(session: ProbeSession) -> Iterator[Note]:
    """`_meta` of an input request names the task that sends it."""
    yield from undeclared(session, _CALLS)
    known = [snapshot.id for snapshot in created_tasks(session)]
    for incoming in _asked_by_tasks(session):
        named = related_id(incoming.params)
        if named in known:
            yield satisfied(incoming)
        else:
            yield violated(
                incoming,
                f"{incoming.method} of a task names {named!r:.60} in _meta; expected the task",
            )


@rule("tasks.input-required-state", reads=("task-questions",))
def waiting_tasks_have_input_required(session: ProbeSession) -> Iterator[Note]:
    """The status is `input_required` while an input request is unanswered."""
    yield from undeclared(session, _CALLS)
    for exchange in session.tagged("task-questions/get/asked"):
        if exchange.result is None:
            continue
        status = exchange.result.get("status")
        if status == "input_required":
            yield satisfied(exchange)
        else:
            text = f"an input request is unanswered, but the task is {status!r:.60}"
            yield violated(exchange, f"{text}; expected 'input_required'")


@rule("tasks.leave-input-required", reads=("task-questions",))
def answered_tasks_leave_input_required(session: ProbeSession) -> Iterator[Note]:
    """The status changes after all input requests are answered."""
    yield from undeclared(session, _CALLS)
    asked = [
        exchange.params.get("taskId") for exchange in session.tagged("task-questions/get/asked")
    ]
    for exchange in session.tagged("task-questions/get/after"):
        if exchange.result is None or exchange.params.get("taskId") not in asked:
            continue
        status = exchange.result.get("status")
        if status == "input_required":
            yield violated(
                exchange, "every input request was answered, but the task is 'input_required'"
            )
        else:
            yield satisfied(exchange)

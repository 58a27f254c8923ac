"""basic/utilities/tasks: capabilities, lists, cancellation and rejected requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check.auth_traffic import has_credentials
from dovetail_check.exchanges import Exchange
from dovetail_check.notes import answered, expect_codes, offered, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.task_traffic import created_tasks, id_of, task_in, task_snapshots
from dovetail_check.verdicts import Note, not_applicable, satisfied, violated

__all__: list[str] = []

_CALLS = "tasks.requests.tools.call"
_LIST = "tasks.list"
_METHOD_NOT_FOUND = -32601
_INVALID_PARAMS = -32602

_PERMISSION = "a permission: nothing to violate"
unjudged["tasks.require-augmentation"] = _PERMISSION
unjudged["tasks.need-task-32600"] = _PERMISSION
unjudged["tasks.list-paginated"] = "a check creates too few tasks for a second page"


# -- capabilities ----------------------------------------------------------------------------------


@rule("tasks.capability", reads=("tasks",))
def tasks_are_declared(session: ProbeSession) -> Iterator[Note]:
    """A server that does not declare tasks creates and lists none."""
    if session.has("tasks"):
        yield satisfied(session.opening, "tasks are declared")
        return
    for exchange in answered(session.tagged("tasks/undeclared/tools/call")):
        if id_of(exchange) is not None:
            yield violated(exchange, "a call became a task, but tasks is not declared")
    for exchange in answered(session.tagged("tasks/undeclared/tasks/list")):
        tasks = (exchange.result or {}).get("tasks")
        if isinstance(tasks, list):
            yield violated(exchange, "tasks/list succeeds, but tasks is not declared")
        elif exchange.code == _METHOD_NOT_FOUND:
            yield not_applicable("the server has no tasks")


@rule("tasks.undeclared-ignored", reads=("tasks",))
def undeclared_tasks_are_ignored(session: ProbeSession) -> Iterator[Note]:
    """A server without tasks answers a call with `task` as a plain call."""
    if session.opening is not None and session.has(_CALLS):
        yield not_applicable(f"the server declares {_CALLS}")
    for exchange in answered(session.tagged("tasks/undeclared/tools/call")):
        if task_in(exchange) is not None:
            text = f"a call became a task, but {_CALLS} is not declared"
            yield violated(exchange, f"{text}; expected the result of the call")
        elif exchange.result is not None:
            yield satisfied(exchange)
        elif exchange.code in (_METHOD_NOT_FOUND, _INVALID_PARAMS, -32600):
            yield from _rejected_for_its_task(session, exchange)


def _rejected_for_its_task(session: ProbeSession, exchange: Exchange) -> Iterator[Note]:
    """An error is a violation if the same call succeeds without `task`."""
    fine = [
        other
        for other in session.sent("tools/call")
        if "task" not in other.params
        and other.result is not None
        and other.params.get("name") == exchange.params.get("name")
        and other.params.get("arguments") == exchange.params.get("arguments")
    ]
    if fine:
        text = f"a call with `task` got {exchange.describe()}, and without it a result"
        yield violated(exchange, f"{text}; expected `task` to be ignored")


@rule("tasks.tool.no-request-capability", reads=("walk",))
def task_support_needs_the_capability(session: ProbeSession) -> Iterator[Note]:
    """taskSupport of tools has a meaning only if calls as tasks are declared."""
    for page, tool in offered(session, "tools"):
        execution = tool.get("execution")
        support = execution.get("taskSupport") if isinstance(execution, dict) else None
        if support not in ("optional", "required"):
            continue
        if session.has(_CALLS):
            yield satisfied(page)
        else:
            text = f"taskSupport of {tool.get('name')!r:.60} is {support!r}"
            yield violated(page, f"{text}, but {_CALLS} is not declared, so it has no meaning")


@rule("tasks.tool.required-32601", reads=("tasks",))
def tools_that_require_a_task_reject_plain_calls(session: ProbeSession) -> Iterator[Note]:
    """A plain call of a tool with taskSupport `required` gets -32601."""
    yield from undeclared(session, _CALLS)
    found = session.tagged("tasks/required")
    yield from expect_codes(
        found, "a plain call of a tool that requires a task", (_METHOD_NOT_FOUND,)
    )


@rule("tasks.tool.forbidden-32601", reads=("tasks",))
def tools_without_task_support_reject_tasks(session: ProbeSession) -> Iterator[Note]:
    """A call as a task of a tool without taskSupport gets -32601."""
    yield from undeclared(session, _CALLS)
    found = session.tagged("tasks/forbidden")
    yield from expect_codes(
        found, "a call as a task of a tool without taskSupport", (_METHOD_NOT_FOUND,)
    )


# -- rejected requests -----------------------------------------------------------------------------


@rule("tasks.unknown-id-32602", reads=("tasks",))
def unknown_tasks_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """An unknown id gets -32602."""
    yield from undeclared(session, _CALLS)
    for exchange in session.tagged("tasks/unknown"):
        what = f"{exchange.method} of an unknown task"
        yield from expect_codes([exchange], what, (_INVALID_PARAMS,))


@rule("tasks.bad-cursor-32602", reads=("tasks",))
def invalid_cursors_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """An invalid cursor gets -32602."""
    yield from undeclared(session, _LIST)
    found = session.tagged("tasks/list-cursor")
    yield from expect_codes(found, "an invalid cursor", (_INVALID_PARAMS,))


@rule("tasks.get-no-sse", reads=("tasks",))
def tasks_get_is_not_a_stream(session: ProbeSession) -> Iterator[Note]:
    """The response to tasks/get is plain JSON."""
    yield from undeclared(session, "tasks")
    for exchange in answered(session.sent("tasks/get")):
        if exchange.is_stream:
            yield violated(exchange, "tasks/get got an event stream; expected plain JSON")
        else:
            yield satisfied(exchange)


# -- cancellation ----------------------------------------------------------------------------------


@rule("tasks.cancel-terminal-32602", reads=("tasks",))
def ended_tasks_cannot_be_cancelled(session: ProbeSession) -> Iterator[Note]:
    """tasks/cancel of a task that has ended gets -32602."""
    yield from undeclared(session, "tasks.cancel")
    found = session.tagged("tasks/cancel/ended")
    yield from expect_codes(found, "tasks/cancel of a task that has ended", (_INVALID_PARAMS,))


@rule("tasks.cancel-status", reads=("tasks",))
def cancelled_tasks_stay_cancelled(session: ProbeSession) -> Iterator[Note]:
    """tasks/cancel returns the status `cancelled`, and the task keeps it."""
    yield from undeclared(session, "tasks.cancel")
    for cancelled in answered(session.sent("tasks/cancel")):
        if cancelled.result is None or cancelled.tag == "tasks/cancel/ended":
            # The task had ended or is unknown; other rules judge that.
            continue
        id, status = cancelled.params.get("taskId"), cancelled.result.get("status")
        if status != "cancelled":
            text = f"tasks/cancel returned the status {status!r:.60}; expected 'cancelled'"
            yield violated(cancelled, text)
            continue
        yield satisfied(cancelled)
        answered_at = cancelled.answer.frame.n if cancelled.answer is not None else cancelled.sent.n
        for snapshot in task_snapshots(session):
            if (
                snapshot.id == id
                and snapshot.where.sent.n > answered_at
                and snapshot.status != "cancelled"
            ):
                text = f"the task was cancelled, but is {snapshot.status!r:.60}"
                yield violated(snapshot.where, f"{text}; expected 'cancelled'")


# -- lists -----------------------------------------------------------------------------------------


def _listed(session: ProbeSession, tag: str) -> set[str]:
    """The ids of the tasks on all pages."""
    found = set()
    for page in session.tagged(tag):
        items = (page.result or {}).get("tasks")
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and isinstance(item.get("taskId"), str):
                found.add(item["taskId"])
    return found


@rule("tasks.list-next-cursor", reads=("tasks",))
def task_pages_end(session: ProbeSession) -> Iterator[Note]:
    """nextCursor is a string that returns another page, and the last page has none."""
    yield from undeclared(session, _LIST)
    used: list[Any] = []
    for page in session.tagged("tasks/list"):
        cursor = page.params.get("cursor")
        if page.result is None:
            if cursor is not None and page.answer is not None:
                yield violated(page, f"the cursor {cursor!r:.60} got {page.describe()}")
            continue
        used.append(cursor)
        following = page.result.get("nextCursor")
        if following is not None and not isinstance(following, str):
            yield violated(page, f"nextCursor is {following!r:.60}; expected a string")
        elif following is not None and following in used:
            yield violated(
                page, f"nextCursor {following!r:.60} was returned before, which is a loop"
            )
        else:
            yield satisfied(page)


@rule("tasks.list-complete", reads=("tasks",))
def available_tasks_are_listed(session: ProbeSession) -> Iterator[Note]:
    """A task that exists before and after the list was read is in the list."""
    yield from undeclared(session, _LIST)
    pages = session.tagged("tasks/list")
    if not pages or any(page.result is None for page in pages):
        return
    listed = _listed(session, "tasks/list")
    for exchange in session.tagged("tasks/get/listed"):
        id = exchange.params.get("taskId")
        if exchange.result is None:
            continue
        if id in listed:
            yield satisfied(exchange)
        else:
            yield violated(
                exchange, f"tasks/get returns the task {id!r:.60}, but tasks/list does not"
            )


@rule("tasks.list-not-anonymous", reads=("tasks",))
def clients_do_not_see_tasks_of_others(session: ProbeSession) -> Iterator[Note]:
    """A second client without credentials does not see the tasks of the first."""
    yield from undeclared(session, _LIST)
    if session.transport == "stdio" and session.has(_LIST):
        yield not_applicable("a stdio server has only one client")
    pages = session.tagged("tasks/list-other")
    if any(has_credentials(page.sent) for page in pages):
        yield not_applicable("both clients have the same credentials")
        return
    mine = {snapshot.id for snapshot in created_tasks(session) if isinstance(snapshot.id, str)}
    for page in pages:
        if page.result is None:
            continue
        shown = sorted(mine & _listed(session, "tasks/list-other"))
        if shown:
            text = f"another client without credentials sees {shown[0]!r:.60}"
            yield violated(page, f"tasks.list is declared, and {text}")
        elif mine:
            yield satisfied(page)

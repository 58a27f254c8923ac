"""basic/utilities/tasks: who may ask for what, lists, cancellation, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check.exchanges import Exchange
from dovetail_check.noting import answered, expect_codes, offered, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.task_traffic import created_tasks, glimpses, id_of, task_in
from dovetail_check.verdicts import Note, absent, broken, kept

__all__: list[str] = []

_CALLS = "tasks.requests.tools.call"
_LIST = "tasks.list"
_METHOD_NOT_FOUND = -32601
_INVALID_PARAMS = -32602

_PERMISSION = "a permission: there is nothing to break"
unjudged["tasks.require-augmentation"] = _PERMISSION
unjudged["tasks.need-task-32600"] = _PERMISSION
unjudged["tasks.list-paginated"] = "a check makes too few tasks for a second page to be due"


# -- what was declared -----------------------------------------------------------------------------


@rule("tasks.capability", reads=("tasks",))
def tasks_are_declared(seen: ProbeSession) -> Iterator[Note]:
    """No task, and no list of tasks, of a server that does not declare tasks."""
    if seen.has("tasks"):
        yield kept(seen.opening, "tasks are declared")
        return
    for exchange in answered(seen.tagged("tasks/undeclared/tools/call")):
        if id_of(exchange) is not None:
            yield broken(exchange, "a call became a task although tasks are not declared")
    for exchange in answered(seen.tagged("tasks/undeclared/tasks/list")):
        tasks = (exchange.result or {}).get("tasks")
        if isinstance(tasks, list):
            yield broken(exchange, "tasks/list is served although tasks are not declared")
        elif exchange.code == _METHOD_NOT_FOUND:
            yield absent("the server has no tasks")


@rule("tasks.undeclared-ignored", reads=("tasks",))
def what_is_not_declared_is_ignored(seen: ProbeSession) -> Iterator[Note]:
    """A call that asks for a task of a server without any is answered as a call."""
    if seen.opening is not None and seen.has(_CALLS):
        yield absent(f"the server declares {_CALLS}")
    for exchange in answered(seen.tagged("tasks/undeclared/tools/call")):
        if task_in(exchange) is not None:
            text = f"a call became a task although {_CALLS} is not declared"
            yield broken(exchange, f"{text}; the result of the call was due")
        elif exchange.result is not None:
            yield kept(exchange)
        elif exchange.code in (_METHOD_NOT_FOUND, _INVALID_PARAMS, -32600):
            yield from _refused_for_its_task(seen, exchange)


def _refused_for_its_task(seen: ProbeSession, exchange: Exchange) -> Iterator[Note]:
    """An error counts where the same call went well without a task."""
    fine = [
        other
        for other in seen.sent("tools/call")
        if "task" not in other.params
        and other.result is not None
        and other.params.get("name") == exchange.params.get("name")
        and other.params.get("arguments") == exchange.params.get("arguments")
    ]
    if fine:
        text = f"a call that asks for a task got {exchange.describe()}, and without it a result"
        yield broken(exchange, f"{text}; the member `task` was to be ignored")


@rule("tasks.tool.no-request-capability", reads=("walk",))
def tools_do_not_promise_what_is_not_declared(seen: ProbeSession) -> Iterator[Note]:
    """taskSupport of tools says something only where such calls are declared."""
    for page, tool in offered(seen, "tools"):
        execution = tool.get("execution")
        support = execution.get("taskSupport") if isinstance(execution, dict) else None
        if support not in ("optional", "required"):
            continue
        if seen.has(_CALLS):
            yield kept(page)
        else:
            text = f"taskSupport of {tool.get('name')!r:.60} is {support!r}"
            yield broken(page, f"{text}, but {_CALLS} is not declared: it has no meaning")


@rule("tasks.tool.required-32601", reads=("tasks",))
def task_tools_want_a_task(seen: ProbeSession) -> Iterator[Note]:
    """-32601 for a plain call of a tool whose taskSupport is `required`."""
    yield from undeclared(seen, _CALLS)
    found = seen.tagged("tasks/required")
    yield from expect_codes(found, "a call of a tool that wants a task", (_METHOD_NOT_FOUND,))


@rule("tasks.tool.forbidden-32601", reads=("tasks",))
def other_tools_want_none(seen: ProbeSession) -> Iterator[Note]:
    """-32601 for a call as a task of a tool without taskSupport."""
    yield from undeclared(seen, _CALLS)
    found = seen.tagged("tasks/forbidden")
    yield from expect_codes(found, "a task of a tool that has none", (_METHOD_NOT_FOUND,))


# -- what is refused -------------------------------------------------------------------------------


@rule("tasks.unknown-id-32602", reads=("tasks",))
def unknown_tasks_are_refused(seen: ProbeSession) -> Iterator[Note]:
    """-32602 for an id that nobody gave out."""
    yield from undeclared(seen, _CALLS)
    for exchange in seen.tagged("tasks/unknown"):
        what = f"{exchange.method} of a task that does not exist"
        yield from expect_codes([exchange], what, (_INVALID_PARAMS,))


@rule("tasks.bad-cursor-32602", reads=("tasks",))
def unknown_cursors_are_refused(seen: ProbeSession) -> Iterator[Note]:
    """-32602 for a cursor that nobody gave out."""
    yield from undeclared(seen, _LIST)
    found = seen.tagged("tasks/list-cursor")
    yield from expect_codes(found, "a cursor that nobody gave out", (_INVALID_PARAMS,))


@rule("tasks.get-no-sse", reads=("tasks",))
def a_look_is_no_stream(seen: ProbeSession) -> Iterator[Note]:
    """The response to tasks/get is plain JSON."""
    yield from undeclared(seen, "tasks")
    for exchange in answered(seen.sent("tasks/get")):
        if exchange.is_stream:
            yield broken(exchange, "tasks/get got a stream of events; plain JSON was due")
        else:
            yield kept(exchange)


# -- cancellation ----------------------------------------------------------------------------------


@rule("tasks.cancel-terminal-32602", reads=("tasks",))
def what_has_ended_is_not_cancelled(seen: ProbeSession) -> Iterator[Note]:
    """-32602 for tasks/cancel of a task that was seen to have ended."""
    yield from undeclared(seen, "tasks.cancel")
    found = seen.tagged("tasks/cancel/ended")
    yield from expect_codes(found, "tasks/cancel of a task that has ended", (_INVALID_PARAMS,))


@rule("tasks.cancel-status", reads=("tasks",))
def what_is_cancelled_is_cancelled(seen: ProbeSession) -> Iterator[Note]:
    """`cancelled` in the answer to tasks/cancel, and for as long as the task can be seen."""
    yield from undeclared(seen, "tasks.cancel")
    for cancelled in answered(seen.sent("tasks/cancel")):
        if cancelled.result is None or cancelled.tag == "tasks/cancel/ended":
            # It had ended, or does not exist; other rules look at that.
            continue
        id, status = cancelled.params.get("taskId"), cancelled.result.get("status")
        if status != "cancelled":
            text = f"tasks/cancel got a task that is {status!r:.60}; 'cancelled' was due"
            yield broken(cancelled, text)
            continue
        yield kept(cancelled)
        came = cancelled.answer.frame.n if cancelled.answer is not None else cancelled.sent.n
        for glimpse in glimpses(seen):
            if glimpse.id == id and glimpse.where.sent.n > came and glimpse.status != "cancelled":
                text = f"the task was cancelled and is {glimpse.status!r:.60}"
                yield broken(glimpse.where, f"{text}; it was to stay 'cancelled'")


# -- lists -----------------------------------------------------------------------------------------


def _listed(seen: ProbeSession, tag: str) -> set[str]:
    """The ids of the tasks on all pages."""
    found = set()
    for page in seen.tagged(tag):
        items = (page.result or {}).get("tasks")
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and isinstance(item.get("taskId"), str):
                found.add(item["taskId"])
    return found


@rule("tasks.list-next-cursor", reads=("tasks",))
def pages_of_tasks_follow_each_other(seen: ProbeSession) -> Iterator[Note]:
    """nextCursor is a text, leads to another page, and at last there is none."""
    yield from undeclared(seen, _LIST)
    used: list[Any] = []
    for page in seen.tagged("tasks/list"):
        cursor = page.params.get("cursor")
        if page.result is None:
            if cursor is not None and page.answer is not None:
                yield broken(page, f"the cursor {cursor!r:.60} got {page.describe()}")
            continue
        used.append(cursor)
        following = page.result.get("nextCursor")
        if following is not None and not isinstance(following, str):
            yield broken(page, f"nextCursor is {following!r:.60}; a string was due")
        elif following is not None and following in used:
            yield broken(page, f"nextCursor {following!r:.60} was given out before: a loop")
        else:
            yield kept(page)


@rule("tasks.list-complete", reads=("tasks",))
def what_can_be_got_is_listed(seen: ProbeSession) -> Iterator[Note]:
    """Tasks that were there before the list was read, and can be got after it."""
    yield from undeclared(seen, _LIST)
    pages = seen.tagged("tasks/list")
    if not pages or any(page.result is None for page in pages):
        return
    listed = _listed(seen, "tasks/list")
    for exchange in seen.tagged("tasks/get/listed"):
        id = exchange.params.get("taskId")
        if exchange.result is None:
            continue
        if id in listed:
            yield kept(exchange)
        else:
            yield broken(exchange, f"tasks/get has the task {id!r:.60}, and tasks/list has not")


@rule("tasks.list-not-anonymous", reads=("tasks",))
def nobody_sees_the_tasks_of_others(seen: ProbeSession) -> Iterator[Note]:
    """A second client without credentials is not shown what the first one began."""
    yield from undeclared(seen, _LIST)
    if seen.transport == "stdio" and seen.has(_LIST):
        yield absent("a process has one client")
    pages = seen.tagged("tasks/list-other")
    if any(page.sent.header("authorization") for page in pages):
        yield absent("both clients have the same credentials")
        return
    mine = {glimpse.id for glimpse in created_tasks(seen) if isinstance(glimpse.id, str)}
    for page in pages:
        if page.result is None:
            continue
        shown = sorted(mine & _listed(seen, "tasks/list-other"))
        if shown:
            text = f"another client, who is just as unknown, is shown {shown[0]!r:.60}"
            yield broken(page, f"tasks.list is declared, and {text}")
        elif mine:
            yield kept(page)

"""Tasks (2025-11-25 basic/utilities/tasks, the extension io.modelcontextprotocol/tasks).

Decides whether a call becomes a task, and serves the two methods that both versions of the
protocol have. Methods of one version only are in its era; `runtime` runs and stores tasks.
"""

from __future__ import annotations

from typing import get_args

from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler
from dovetail.core.era import Encoded
from dovetail.core.tasks import TaskSupport
from dovetail.errors import UsageError
from dovetail.spec.models import TaskParams, ToolExecution

__all__ = ["becomes_task", "check_support", "execution_of", "task_methods"]

_SUPPORTS: tuple[str, ...] = get_args(TaskSupport)


def check_support(where: str, support: str, *, resumable: bool, asks_first: bool) -> None:
    """Raise UsageError for task options that contradict each other."""
    if support not in _SUPPORTS:
        raise UsageError(f"{where}: task is one of {', '.join(_SUPPORTS)}, got {support!r}")
    if support == "never" and (resumable or asks_first):
        what = "resumable" if resumable else "before_task"
        raise UsageError(f'{where}: {what} is for tools that run as tasks; pass task="optional"')


def execution_of(support: TaskSupport) -> ToolExecution | None:
    """Return the `execution` of a listing; leaving it out means never."""
    return None if support == "never" else ToolExecution(task_support=support)


def becomes_task(call: Call, name: str, support: TaskSupport, *, offered: bool) -> bool:
    """Whether a call becomes a task; raises RpcError if the call is not possible at all.

    `offered`: the server has tools that run as tasks, so it declares tasks to clients.
    """
    shape = call.era.tasks
    if not (offered and shape.is_wanted(call)):
        # tasks.undeclared-ignored (2025-11-25 basic/utilities/tasks), xtasks.opt-in
        if support == "required":
            # tasks.tool.required-32601, xtasks.missing-capability-32021
            raise shape.needed(name)
        return False
    if support != "never":
        return True
    # tasks.tool.forbidden-32601 (2025-11-25 basic/utilities/tasks)
    refusal = shape.unsupported(name)
    if refusal is not None:
        raise refusal
    return False


def task_methods() -> dict[str, MethodHandler]:
    """Return the handlers of the methods that every revision with tasks has."""
    return {
        "tasks/get": MethodHandler(_get, needs_task=True),
        "tasks/cancel": MethodHandler(_cancel, needs_task=True),
    }


async def _get(call: Call) -> Encoded:
    # tasks.ignore-related-meta: only params.taskId identifies the task
    params: TaskParams = call.params  # type: ignore[assignment]
    shape = call.era.tasks
    # xtasks.non-declaring: checked before the task is looked up
    shape.require(call)
    return shape.shown(await call.services.tasks.get(call, params.task_id))


async def _cancel(call: Call) -> Encoded:
    params: TaskParams = call.params  # type: ignore[assignment]
    shape = call.era.tasks
    shape.require(call)
    task, was_final = await call.services.tasks.cancel(call, params.task_id)
    return shape.cancelled(task, was_final=was_final)

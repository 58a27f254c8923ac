"""Tools that run as tasks (2025-11-25 basic/utilities/tasks, io.modelcontextprotocol/tasks).

Decides whether a call becomes a task, and serves the two methods that both versions of the
protocol have. Methods of one version only are in `legacy` and `modern`.

`before_task` is a function that asks the client before a task is created. It runs in the client's
request, and its questions are answered as in any call. The function of the tool then finds the
answers under the same keys.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Literal, NamedTuple, get_args

from dovetail.core.call import Call, Handler, Style
from dovetail.core.dispatch import MethodHandler, Outcome
from dovetail.core.era import Encoded
from dovetail.errors import InvalidValueError, UsageError
from dovetail.features.handlers import HandlerSpec, inspect_handler
from dovetail.features.tools import RegisteredTool, TaskSupport, invalid_arguments, run_tool
from dovetail.spec.models import TaskParams, ToolExecution
from dovetail.tasks.eras import shape_of
from dovetail.tasks.legacy import result_methods
from dovetail.tasks.modern import update_methods
from dovetail.tasks.views import keeper_of

__all__ = ["PreTask", "TaskOption", "bind_task", "divert", "inspect_pre_task", "task_methods"]

_SUPPORTS: tuple[str, ...] = get_args(TaskSupport)


class PreTask(NamedTuple):
    """The function and the names of the tool's arguments that it takes."""

    spec: HandlerSpec
    names: frozenset[str]

    @property
    def handler(self) -> Handler:
        """How to run it."""
        return self.spec.handler

    def arguments(self, call: Call, values: dict[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments for one run, taken from those of the tool."""
        wanted = {name: value for name, value in values.items() if name in self.names}
        return self.spec.arguments(call, wanted)


class TaskOption(NamedTuple):
    """How a tool runs as a task."""

    support: Literal["optional", "required"]
    # Whether a task that was interrupted by the end of its process runs again from the start.
    resumable: bool
    # Asks the client what the task needs to know before it is created.
    pre_task: PreTask | None

    @property
    def execution(self) -> ToolExecution:
        """The `execution` of a listing; tools without it never run as tasks."""
        return ToolExecution(task_support=self.support)


def bind_task(
    spec: HandlerSpec, support: str, *, resumable: bool, before_task: Callable[..., Any] | None
) -> TaskOption | None:
    """Return how a tool runs as a task, None for never; raises UsageError."""
    where = spec.where
    if support not in _SUPPORTS:
        raise UsageError(f"{where}: task is one of {', '.join(_SUPPORTS)}, got {support!r}")
    if support == "never":
        if resumable or before_task is not None:
            what = "resumable" if resumable else "before_task"
            raise UsageError(
                f'{where}: {what} is for tools that run as tasks; pass task="optional"'
            )
        return None
    pre_task = None if before_task is None else inspect_pre_task(before_task, spec)
    return TaskOption("required" if support == "required" else "optional", resumable, pre_task)


def inspect_pre_task(function: Callable[..., Any], tool: HandlerSpec) -> PreTask:
    """Inspect a `before_task` function; raises UsageError if it does not match the tool."""
    spec = inspect_handler(function, kind="before_task")
    if spec.handler.style is not Style.ASYNC or spec.context is None:
        raise UsageError(
            f"{tool.where}: before_task must be an async function with a Context parameter; "
            f"{spec.name!r} is not"
        )
    names = frozenset(each.name for each in spec.parameters)
    unknown = names - {each.name for each in tool.parameters}
    if unknown:
        raise UsageError(
            f"{tool.where}: before_task takes {', '.join(sorted(unknown))}, which is not a "
            "parameter of the tool"
        )
    return PreTask(spec, names)


def divert(
    call: Call, tool: RegisteredTool, *, offered: bool
) -> Coroutine[Any, Any, Outcome] | None:
    """Return a coroutine if the call becomes a task or has questions to ask first.

    `offered`: the server has tools that run as tasks, so it declares tasks to clients.
    """
    option: TaskOption | None = tool.task
    if call.detached is None and _becomes_task(call, tool.listing.name, option, offered=offered):
        return _start_task(call, tool, None if option is None else option.pre_task)
    if option is None or option.pre_task is None:
        return None
    return _run_both(call, tool, option.pre_task)


def _becomes_task(call: Call, name: str, option: TaskOption | None, *, offered: bool) -> bool:
    """Whether a call becomes a task; raises RpcError if the call is not possible at all."""
    shape = shape_of(call.era)
    if not (offered and shape.is_wanted(call)):
        # tasks.undeclared-ignored (2025-11-25 basic/utilities/tasks), xtasks.opt-in
        if option is not None and option.support == "required":
            # tasks.tool.required-32601, xtasks.missing-capability-32021
            raise shape.needed(name)
        return False
    if option is not None:
        return True
    # tasks.tool.forbidden-32601 (2025-11-25 basic/utilities/tasks)
    refusal = shape.unsupported(name)
    if refusal is not None:
        raise refusal
    return False


async def _start_task(call: Call, tool: RegisteredTool, pre_task: PreTask | None) -> Outcome:
    # In this era questions travel in the response, which is possible only before the task.
    if pre_task is not None and shape_of(call.era).asks_first:
        try:
            values = tool.decode(call.params)
        except InvalidValueError as error:
            return invalid_arguments(tool, error)
        await _run_pre_task(call, pre_task, values)
    # xtasks.durable: respond only when tasks/get can find the task
    return shape_of(call.era).created(call, await keeper_of(call).create(call))


async def _run_both(call: Call, tool: RegisteredTool, pre_task: PreTask) -> Outcome:
    try:
        values = tool.decode(call.params)
    except InvalidValueError as error:
        return invalid_arguments(tool, error)
    await _run_pre_task(call, pre_task, values)
    run = run_tool(tool, call)
    return await run if isinstance(run, Coroutine) else run


async def _run_pre_task(call: Call, pre_task: PreTask, values: dict[str, Any]) -> None:
    arguments = pre_task.arguments(call, values)
    run = call.services.runner.start(call, pre_task.handler, arguments, lambda call, value: None)
    if isinstance(run, Coroutine):
        await run
    call.record.restart()


def task_methods() -> dict[str, MethodHandler]:
    """Return the handlers of the methods of tasks, in all revisions that have them."""
    return {
        "tasks/get": MethodHandler(_get, needs_task=True),
        "tasks/cancel": MethodHandler(_cancel, needs_task=True),
        **result_methods(),
        **update_methods(),
    }


async def _get(call: Call) -> Encoded:
    # tasks.ignore-related-meta: only params.taskId identifies the task
    params: TaskParams = call.params  # type: ignore[assignment]
    shape = shape_of(call.era)
    # xtasks.non-declaring: checked before the task is looked up
    shape.require(call)
    return shape.shown(await keeper_of(call).get(call, params.task_id))


async def _cancel(call: Call) -> Encoded:
    params: TaskParams = call.params  # type: ignore[assignment]
    shape = shape_of(call.era)
    shape.require(call)
    task, was_final = await keeper_of(call).cancel(call, params.task_id)
    return shape.cancelled(task, was_final=was_final)

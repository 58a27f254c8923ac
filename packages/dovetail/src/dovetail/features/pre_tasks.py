"""`before_task`: a function that asks the client before a task is created.

It runs in the client's request, and its questions are answered as in any call. The function of
the tool then finds the answers under the same keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dovetail.core.call import Call
from dovetail.core.handler import Handler, Style
from dovetail.errors import UsageError
from dovetail.features.handlers import HandlerSpec, inspect_handler

__all__ = ["PreTask", "inspect_pre_task"]


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

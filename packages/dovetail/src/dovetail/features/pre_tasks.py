"""What a tool asks before there is a task: a function of its own, run in the client's request.

Its questions are answered like those of any call. The tool's function then finds the answers
under the same keys, wherever it runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from dovetail.core.call import Call
from dovetail.core.handler import Handler, Style
from dovetail.errors import UsageError
from dovetail.features.handlers import HandlerSpec, inspect_handler

__all__ = ["PreTask", "inspect_pre_task"]


class PreTask(NamedTuple):
    """The function and the arguments of the tool that it wants."""

    spec: HandlerSpec
    names: frozenset[str]

    @property
    def handler(self) -> Handler:
        """How to run it."""
        return self.spec.handler

    def arguments(self, call: Call, values: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments for one run, of those of the tool."""
        wanted = {name: value for name, value in values.items() if name in self.names}
        return self.spec.arguments(call, wanted)


def inspect_pre_task(function: Callable[..., Any], tool: HandlerSpec) -> PreTask:
    """Find out what `function` wants; raises UsageError where it cannot stand before the tool."""
    spec = inspect_handler(function, kind="before_task")
    if spec.handler.style is not Style.ASYNC or spec.context is None:
        raise UsageError(
            f"{tool.name!r}: before_task is an async function with a Context, to ask by; "
            f"{spec.name!r} is not"
        )
    names = frozenset(inspect.signature(function).parameters) - {spec.context}
    foreign = names - inspect.signature(tool.function).parameters.keys()
    if foreign:
        raise UsageError(
            f"{tool.name!r}: before_task wants {', '.join(sorted(foreign))}, which is no "
            "parameter of the tool"
        )
    return PreTask(spec, names)

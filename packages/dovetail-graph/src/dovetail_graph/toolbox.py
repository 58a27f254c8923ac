"""Registration of the tools: which of them a list shows, and their descriptions."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from dovetail import Param, Server, ToolAnnotations
from dovetail_graph.examples import EXAMPLES, SHOWN_EXAMPLES
from dovetail_serverkit.tool_descriptions import schema_of
from dovetail_serverkit.tool_sets import ToolSet

__all__ = ["COMPACT", "MERGED", "Toolbox"]

# What --tools compact lists. The others can be called all the same.
MERGED = frozenset({"memory_search", "memory_read", "memory_edit"})
COMPACT = MERGED | {"transfer_graph"}
# Part of graph_stats and of memory_read.
_NEVER_LISTED = frozenset({"recent_changes"})
_ANY_OBJECT = {"type": "object"}


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Registers tools with a server, and keeps their functions for those that merge them."""

    server: Server
    shown: ToolSet = "default"
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def add(
        self,
        name: str,
        text: str,
        hints: ToolAnnotations,
        result: type[msgspec.Struct] | None,
        input_schema: dict[str, Any] | None = None,
    ) -> Callable[[Callable[..., Any]], None]:
        """Register a tool; `result` is None if its results have several forms."""
        example = msgspec.json.encode(EXAMPLES[name]).decode()
        shown = f" Example: {example}" if name in SHOWN_EXAMPLES else ""

        def register(function: Callable[..., Any]) -> None:
            self.functions[name] = function
            self.server.tools.add(
                function if input_schema else _accept_spellings(function),
                name=name,
                description=text + shown,
                annotations=hints,
                input_schema=input_schema,
                output_schema=_ANY_OBJECT if result is None else schema_of(result),
                hidden=not self._is_listed(name),
            )

        return register

    def _is_listed(self, name: str) -> bool:
        if self.shown == "compact":
            return name in COMPACT
        return name not in MERGED | _NEVER_LISTED


def _accept_spellings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Accept optional parameters in snake_case and camelCase; only their own name is listed."""
    signature = inspect.signature(function, eval_str=True)
    optional = {
        _other_spelling(name): one
        for name, one in signature.parameters.items()
        if one.default is not one.empty
    }
    others = {other: one for other, one in optional.items() if other != one.name}
    extra = [
        one.replace(
            name=other,
            default=None,
            annotation=Annotated[one.annotation | None, Param(hidden=True)],
        )
        for other, one in others.items()
    ]

    def own_names(given: dict[str, Any]) -> dict[str, Any]:
        spelled = {other: given.pop(other, None) for other in others}
        named = {others[other].name: value for other, value in spelled.items() if value is not None}
        return {**given, **named}

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call(**given: Any) -> Any:
            return await function(**own_names(given))

    else:

        @functools.wraps(function)
        def call(**given: Any) -> Any:
            return function(**own_names(given))

    # The signature is not that of the wrapped function.
    del call.__wrapped__
    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), *extra]
    )
    return call


def _other_spelling(name: str) -> str:
    if "_" in name:
        first, *others = name.split("_")
        return first + "".join(map(str.capitalize, others))
    return re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", name)

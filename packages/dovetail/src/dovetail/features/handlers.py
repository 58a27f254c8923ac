"""HandlerSpec's functions, looked at once when they are registered."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, get_args, get_type_hints

from dovetail.core.call import Call
from dovetail.core.handler import Handler, Style
from dovetail.core.schema import Description, parse_docstring
from dovetail.errors import UsageError
from dovetail.features.context import Context

__all__ = ["HandlerSpec", "inspect_handler"]


class HandlerSpec(NamedTuple):
    """An author's function and everything registration needs to know of it."""

    function: Callable[..., Any]
    handler: Handler
    name: str
    # The parameter that wants the Context, if any.
    context: str | None
    description: Description
    # The annotations, resolved.
    hints: dict[str, Any]

    @property
    def returns(self) -> Any:
        """The return annotation."""
        return self.hints.get("return", inspect.Parameter.empty)

    @property
    def skipped(self) -> tuple[str, ...]:
        """Parameters that are no arguments of the client."""
        return (self.context,) if self.context is not None else ()

    def arguments(self, call: Call, values: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments for one run."""
        if self.context is not None:
            values[self.context] = Context(call)
        return values


def inspect_handler(
    function: Callable[..., Any],
    *,
    kind: str,
    name: str | None = None,
    blocking: bool | None = None,
    timeout: float | None = None,
    idle_timeout: float | None = None,
) -> HandlerSpec:
    """Find out how to run `function` and what it wants."""
    if not callable(function):
        raise UsageError(f"a {kind} is a function, got {type(function).__name__}")
    own_name = name or _name_of(function)
    if not own_name or own_name == "<lambda>":
        raise UsageError(f"a {kind} without a name of its own needs name=")
    _check_time(own_name, timeout, idle_timeout)
    hints = _hints(function, own_name)
    runnable = _by_keyword(function, own_name)
    style = _style(function, blocking, own_name)
    return HandlerSpec(
        function=function,
        handler=Handler(runnable, style, f"{kind} {own_name!r}", timeout, idle_timeout),
        name=own_name,
        context=_context_parameter(hints),
        description=parse_docstring(inspect.getdoc(function)),
        hints=hints,
    )


def _check_time(name: str, *limits: float | None) -> None:
    for limit in limits:
        if limit is not None and not limit > 0:
            raise UsageError(
                f"{name!r}: a timeout is a number of seconds above 0 (math.inf for no limit), got "
                f"{limit!r}"
            )


def _by_keyword(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function itself, unless it has parameters that cannot be given by keyword."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        raise UsageError(
            f"Python knows no signature of {name!r}; wrap it in a function with named parameters"
        ) from None
    places = [each for each in parameters if each.kind is inspect.Parameter.POSITIONAL_ONLY]
    if not places:
        return function

    def call(**values: Any) -> Any:
        first = [values.pop(place.name, place.default) for place in places]
        return function(*first, **values)

    return call


def _name_of(function: Callable[..., Any]) -> str:
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__name__", "")


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    target: Any = function
    while isinstance(target, partial):
        target = target.func
    if not inspect.isroutine(target):
        target = type(target).__call__  # an object that can be called
    # Names of a function's own closure are not in its module: classes defined in a test, say.
    closure = inspect.getclosurevars(target).nonlocals if inspect.isfunction(target) else {}
    try:
        return get_type_hints(target, localns=closure or None, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"the annotations of {name!r} name something that cannot be found: {error}. Types "
            "must be importable from the module, not local to a function that has returned"
        ) from None


def _style(function: Callable[..., Any], blocking: bool | None, name: str) -> Style:
    target = function
    while isinstance(target, partial):
        target = target.func
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise UsageError(f"{name!r} yields; return the whole result, and tell of progress by ctx")
    is_async = inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(
        getattr(target, "__call__", None)  # noqa: B004 - its kind matters, not its presence
    )
    if is_async:
        if blocking:
            raise UsageError(f"{name!r} is async; blocking= is for plain functions")
        return Style.ASYNC
    # A plain function may block, so it goes to a worker thread unless its author promises.
    return Style.INLINE if blocking is False else Style.THREAD


def _context_parameter(hints: dict[str, Any]) -> str | None:
    wanting = [
        name
        for name, hint in hints.items()
        if name != "return" and (hint is Context or Context in get_args(hint))
    ]
    if len(wanting) > 1:
        raise UsageError(f"one Context is enough; {' and '.join(map(repr, wanting))} ask for it")
    return wanting[0] if wanting else None

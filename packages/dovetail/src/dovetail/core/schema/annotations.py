"""Read a function: parameters, resolved annotations, and descriptions in its docstring.

Annotations may be strings (`from __future__ import annotations`). Names are looked up in the
module of the function and in its closure. While a decorator runs inside the function that
defines the handler, the variables of that enclosing function are searched as well.

Wrappers made with `functools.wraps` and `functools.partial` objects are read as the function
inside them.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from dovetail.core.schema.defaults import copy_maker
from dovetail.core.schema.pydantic_types import (
    default_maker,
    shown_default,
    split_field_default,
)
from dovetail.errors import UsageError

__all__ = [
    "MISSING",
    "Parameter",
    "bound_keywords",
    "describe_parameter",
    "docstring_of",
    "name_of_function",
    "plain_function",
    "read_hints",
    "read_parameters",
    "without_partial",
]

MISSING = inspect.Parameter.empty
VARIABLE_KINDS = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function, for callers that pass it by name."""

    name: str
    annotation: Any
    default: Any
    # What makes the default for one call; None if all calls may get the same object.
    make_default: Callable[[], Any] | None
    is_positional_only: bool

    @property
    def is_required(self) -> bool:
        """Whether a caller must send it."""
        return self.default is MISSING


def read_parameters(
    fn: Callable[..., Any],
    skip: Collection[str] = (),
    *,
    any_keywords: bool = False,
    where: str | None = None,
) -> list[Parameter]:
    """Return the parameters in order, without those in `skip` (the server fills those in).

    `where` names the function in error messages.
    """
    where = where or name_of_function(fn)
    found = []
    for parameter in _signature(fn, where).parameters.values():
        if parameter.name in skip:
            continue
        if parameter.kind in VARIABLE_KINDS:
            _refuse_variable(parameter, any_keywords, where)
            continue
        annotation = _resolve(fn, parameter.name, parameter.annotation, where)
        annotation = Any if annotation is MISSING else annotation
        found.append(describe_parameter(parameter, annotation, where))
    return found


def read_hints(fn: Callable[..., Any], where: str | None = None) -> dict[str, Any]:
    """Return the resolved annotations of the parameters, and of the result under "return"."""
    where = where or name_of_function(fn)
    signature = _signature(fn, where)
    written = {name: each.annotation for name, each in signature.parameters.items()}
    written["return"] = signature.return_annotation
    return {
        name: _resolve(fn, name, annotation, where)
        for name, annotation in written.items()
        if annotation is not MISSING
    }


def _refuse_variable(parameter: inspect.Parameter, any_keywords: bool, where: str) -> None:
    is_keywords = parameter.kind is inspect.Parameter.VAR_KEYWORD
    if is_keywords and any_keywords:
        return
    stars = "**" if is_keywords else "*"
    remedy = "or write its input_schema= by hand" if is_keywords else "or take a list"
    raise UsageError(
        f"{where}: {stars}{parameter.name} cannot be described as named arguments; "
        f"name every parameter {remedy}"
    )


def describe_parameter(parameter: inspect.Parameter, annotation: Any, where: str) -> Parameter:
    """Return a parameter with its resolved annotation; raises UsageError."""
    default = parameter.default
    make_default: Callable[[], Any] | None = None
    annotation, field = split_field_default(annotation, default, MISSING)
    if field is not None:
        default = MISSING
        if not field.is_required():
            # The function itself has no default, or the Field object, so it is always passed.
            make_default = default_maker(field, f"{where}: parameter {parameter.name!r}")
            default = shown_default(field)
    elif default is not MISSING:
        make_default = copy_maker(default, f"{where}: parameter {parameter.name!r}")
    is_positional_only = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
    return Parameter(parameter.name, annotation, default, make_default, is_positional_only)


def takes_any_keyword(fn: Callable[..., Any]) -> bool:
    """Whether the function has `**kwargs`."""
    kinds = [parameter.kind for parameter in inspect.signature(fn).parameters.values()]
    return inspect.Parameter.VAR_KEYWORD in kinds


def name_of_function(fn: Callable[..., Any]) -> str:
    """Return the name for error messages; an object without one has the name of its class."""
    fn = without_partial(fn)
    return getattr(fn, "__name__", None) or type(fn).__name__


def docstring_of(fn: Callable[..., Any]) -> str | None:
    """Return the docstring; for a partial object that of the function inside."""
    return inspect.getdoc(without_partial(fn))


def bound_keywords(fn: Callable[..., Any]) -> frozenset[str]:
    """Return the parameters that `functools.partial` has set by keyword.

    `inspect.signature` still shows those, with a default; it leaves out the ones set by position.
    """
    bound: frozenset[str] = frozenset()
    while isinstance(fn, functools.partial):
        bound |= fn.keywords.keys()
        fn = fn.func
    return bound


def without_partial(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function inside `functools.partial` objects."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return fn


def plain_function(fn: Callable[..., Any]) -> Any:
    """Return the function inside wrappers, partials, bound methods and callable objects."""
    fn = inspect.unwrap(fn)
    while isinstance(fn, functools.partial):
        fn = inspect.unwrap(fn.func)
    if not inspect.isroutine(fn):
        fn = fn.__init__ if isinstance(fn, type) else type(fn).__call__  # type: ignore[misc]
    return getattr(fn, "__func__", fn)


def _signature(fn: Callable[..., Any], where: str) -> inspect.Signature:
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{where} has no signature that Python can read ({error}); wrap it in a function with "
            "named parameters"
        ) from None


def _resolve(fn: Callable[..., Any], name: str, annotation: Any, where: str) -> Any:
    if annotation is MISSING:
        return annotation
    function = plain_function(fn)
    module = getattr(function, "__globals__", {})
    closure = inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}
    holder = types.SimpleNamespace(__annotations__={name: annotation})
    try:
        hints = typing.get_type_hints(holder, module, dict(closure), include_extras=True)
    except NameError:
        names = {**_enclosing_variables(function), **closure}
        try:
            hints = typing.get_type_hints(holder, module, names, include_extras=True)
        except NameError as error:
            raise UsageError(
                f"{where}: the annotation of {name!r} cannot be resolved: {error}; import the "
                "type at run time and define it at module level"
            ) from None
    except (SyntaxError, TypeError) as error:
        raise UsageError(f"{where}: the annotation of {name!r} is not a type: {error}") from None
    return hints[name]


def _enclosing_variables(function: Any) -> dict[str, Any]:
    """Return the variables of the running functions that enclose the definition of `function`."""
    outer, _, _ = function.__qualname__.rpartition(".<locals>.")
    found: dict[str, Any] = {}
    frame = inspect.currentframe()
    while frame is not None and outer:
        if outer == frame.f_code.co_qualname or outer.startswith(frame.f_code.co_qualname + "."):
            found = {**frame.f_locals, **found}
        frame = frame.f_back
    return found

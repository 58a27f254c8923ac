"""What the annotations of a function say: parameters, their types and texts, the result.

Annotations may be text (`from __future__ import annotations`). Names are looked up in the
module of the function, in its closure, and, while a decorator runs inside the function that
defines it, in the variables of that enclosing function.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import msgspec

from dovetail.core.schema.pydantic_types import default_of, split_field_default, text_of_field
from dovetail.errors import UsageError

__all__ = [
    "MISSING",
    "Parameter",
    "name_of_function",
    "read_parameters",
    "return_annotation",
    "text_in",
]

MISSING = inspect.Parameter.empty
VARIABLE_KINDS = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function, as far as a caller by name is concerned."""

    name: str
    annotation: Any
    default: Any
    make_default: Callable[[], Any] | None
    is_positional_only: bool

    @property
    def is_required(self) -> bool:
        """Whether a caller must send it."""
        return self.default is MISSING


def read_parameters(
    fn: Callable[..., Any], skip: Collection[str] = (), *, any_keywords: bool = False
) -> list[Parameter]:
    """The parameters in order, without those in `skip` (they are injected, not sent)."""
    found = []
    for parameter in _signature(fn).parameters.values():
        if parameter.name in skip:
            continue
        if parameter.kind in VARIABLE_KINDS:
            _refuse_variable(fn, parameter, any_keywords)
            continue
        annotation = _resolve(fn, parameter.name, parameter.annotation)
        found.append(_parameter(parameter, Any if annotation is MISSING else annotation))
    return found


def _refuse_variable(
    fn: Callable[..., Any], parameter: inspect.Parameter, any_keywords: bool
) -> None:
    is_keywords = parameter.kind is inspect.Parameter.VAR_KEYWORD
    if is_keywords and any_keywords:
        return
    stars = "**" if is_keywords else "*"
    remedy = "or write its input_schema= by hand" if is_keywords else "or take a list"
    raise UsageError(
        f"{name_of_function(fn)}: {stars}{parameter.name} cannot be described as named arguments; "
        f"name every parameter {remedy}"
    )


def _parameter(parameter: inspect.Parameter, annotation: Any) -> Parameter:
    default, make_default = parameter.default, None
    annotation, has_field = split_field_default(annotation, default)
    if has_field:
        field, default = default, default_of(default, MISSING)
        if default is not MISSING:
            # The function's own default is the Field object, so the value is always passed.
            make_default = functools.partial(default_of, field, MISSING)
    is_positional_only = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
    return Parameter(parameter.name, annotation, default, make_default, is_positional_only)


def takes_any_keyword(fn: Callable[..., Any]) -> bool:
    """Whether the function has `**kwargs`."""
    kinds = [parameter.kind for parameter in _signature(fn).parameters.values()]
    return inspect.Parameter.VAR_KEYWORD in kinds


def return_annotation(fn: Callable[..., Any]) -> Any:
    """The resolved annotation of the result; `inspect.Signature.empty` when there is none."""
    return _resolve(fn, "return", _signature(fn).return_annotation)


def text_in(annotation: Any) -> str | None:
    """The description in `Annotated[T, "text"]`, a msgspec `Meta` or a pydantic `Field`."""
    for metadata in getattr(annotation, "__metadata__", ()):
        if isinstance(metadata, str):
            return metadata
        text = metadata.description if isinstance(metadata, msgspec.Meta) else None
        text = text or text_of_field(metadata)
        if text:
            return text
    return None


def name_of_function(fn: Callable[..., Any]) -> str:
    """The name to use in messages."""
    return getattr(fn, "__name__", None) or type(fn).__name__


def _signature(fn: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name_of_function(fn)} has no signature to read: {error}") from None


def _resolve(fn: Callable[..., Any], name: str, annotation: Any) -> Any:
    if annotation is MISSING:
        return annotation
    function = _plain_function(fn)
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
                f"{name_of_function(fn)}: the annotation of {name!r} cannot be resolved: {error}; "
                "import the type at run time and define it at module level"
            ) from None
    except (SyntaxError, TypeError) as error:
        raise UsageError(
            f"{name_of_function(fn)}: the annotation of {name!r} is no type: {error}"
        ) from None
    return hints[name]


def _plain_function(fn: Callable[..., Any]) -> Any:
    """The function under wrappers, partials, bound methods and callable objects."""
    fn = inspect.unwrap(fn)
    while isinstance(fn, functools.partial):
        fn = inspect.unwrap(fn.func)
    if not inspect.isroutine(fn):
        fn = fn.__init__ if isinstance(fn, type) else type(fn).__call__  # type: ignore[misc]
    return getattr(fn, "__func__", fn)


def _enclosing_variables(function: Any) -> dict[str, Any]:
    """The variables of the running functions that the function is defined in."""
    outer, _, _ = function.__qualname__.rpartition(".<locals>.")
    found: dict[str, Any] = {}
    frame = inspect.currentframe()
    while frame is not None and outer:
        if outer == frame.f_code.co_qualname or outer.startswith(frame.f_code.co_qualname + "."):
            found = {**frame.f_locals, **found}
        frame = frame.f_back
    return found

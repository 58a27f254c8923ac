"""Inspect handlers when they are registered: name, style, context parameter, annotations.

Everything that can be known of a function is found here once, so that a call only has to run it.
Errors name the handler with the file and line of its definition: "tool 'search' (weather.py:12)".
"""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import is_dataclass, replace
from difflib import get_close_matches
from typing import Annotated, Any, NamedTuple, ParamSpec, TypeVar, Union, get_args, get_origin

from dovetail.core.call import Call, Handler, Style
from dovetail.core.dependencies import Dependency, Resolution
from dovetail.core.schema import (
    Description,
    Parameter,
    bound_keywords,
    describe_parameter,
    docstring_of,
    parse_docstring,
    plain_function,
    read_hints,
    without_partial,
)
from dovetail.errors import InvalidValueError, UsageError
from dovetail.features.context import Context, PlainContext

__all__ = ["HandlerSpec", "author_error", "check_keywords", "inspect_handler", "locate"]

P = ParamSpec("P")
T = TypeVar("T")

# How deep to look for a coroutine in a value that cannot be sent.
_DEPTH = 4
_FOLDER = re.compile(r".*[/\\]", re.DOTALL)
# How an author adds a handler of each kind by hand.
_ADD = {
    "tool": "server.tools.add(obj.{})",
    "prompt": "server.prompts.add(obj.{})",
    "resource": "server.resources.add(uri, obj.{})",
    "resource list": "server.resources.lists.add(obj.{})",
}


class HandlerSpec(NamedTuple):
    """An author's function and everything registration needs to know of it."""

    function: Callable[..., Any]
    handler: Handler
    name: str
    # The handler in error messages: "tool 'search' (weather.py:12)".
    where: str
    # The parameters that get values from outside: not the context, not those bound by a partial.
    parameters: tuple[inspect.Parameter, ...]
    # The parameter that gets the Context, if any, and what makes the Context for a call.
    context: str | None
    make_context: Callable[[Call], Context]
    description: Description
    # The resolved annotations of the parameters and, under "return", of the result.
    hints: dict[str, Any]
    # Parameters that are not arguments of the client.
    skipped: tuple[str, ...]
    # Parameters that get their values from providers.
    dependencies: Mapping[str, Dependency]
    # What makes the defaults that calls must not share.
    default_makers: Mapping[str, Callable[[], Any]]
    # The parameters without a default.
    required: tuple[str, ...]
    # Those of a provider that are arguments of the client.
    parameters_of_client: tuple[Parameter, ...]
    # The providers of the dependencies, and theirs.
    providers: tuple[HandlerSpec, ...] = ()

    @property
    def returns(self) -> Any:
        """The return annotation."""
        return self.hints.get("return", inspect.Parameter.empty)

    @property
    def arguments_of_client(self) -> tuple[str, ...]:
        """The names of the parameters of a provider that are arguments of the client."""
        return tuple(each.name for each in self.parameters_of_client)

    @property
    def uses_context(self) -> bool:
        """Whether it or one of its dependencies takes a Context."""
        return self.context is not None or any(map(_uses_context, self.dependencies.values()))

    def arguments(self, call: Call, values: dict[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments for one run."""
        if self.context is not None:
            values[self.context] = self.make_context(call)
        if self.default_makers:
            for name, make_default in self.default_makers.items():
                if name not in values:
                    values[name] = make_default()
        return values

    def reject(self, value: Any, error: Exception) -> UsageError:
        """Return the error for a returned value that cannot be sent.

        Only failed calls get here, so this can afford to search the value for a coroutine that
        was not awaited, the usual reason.
        """
        pending = list(_find_coroutines(value, _DEPTH))
        for coroutine in pending:
            coroutine.close()
        if pending:
            name = getattr(pending[0], "__qualname__", "a function").replace("Context.", "ctx.")
            return UsageError(
                f"{self.where} returned a coroutine because {name}() was not awaited; make the "
                "function, and any decorator around it, async def and await the call"
            )
        if isinstance(error, InvalidValueError):
            return UsageError(f"{self.where}: the result does not match its schema: {error}")
        return UsageError(f"{self.where}: {error}")


class _DependentSpec(HandlerSpec):
    """A function with dependencies: its handler opens them, runs the function, closes them."""

    def arguments(self, call: Call, values: dict[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments of the handler."""
        return {"call": call, "values": super().arguments(call, values)}


def _uses_context(dependency: Dependency) -> bool:
    return inspect_provider(dependency.provider, dependency.blocking).uses_context


# The kinds of handlers that get arguments of the client.
_WITH_ARGUMENTS = {"tool", "prompt", "resource", "method"}


def _with_dependencies(spec: HandlerSpec, kind: str) -> HandlerSpec:
    inner = spec.handler
    providers = tuple(_find_providers(spec, {}).values())
    hints = dict(spec.hints)
    required = list(spec.required)
    for provider in providers:
        for each in provider.parameters_of_client:
            hints.setdefault(each.name, each.annotation)
        missing = [each.name for each in provider.parameters_of_client if each.is_required]
        if missing and kind not in _WITH_ARGUMENTS:
            raise _unfilled(provider, missing[0])
        required += missing
    foreign = {name for each in providers for name in each.arguments_of_client}
    foreign -= {each.name for each in spec.parameters}

    def find(call: Call, given: Mapping[str, Any], dependency: Dependency) -> HandlerSpec:
        replaced = call.services.host.dependency_overrides.get(dependency.provider)
        if replaced is None:
            return inspect_provider(dependency.provider, dependency.blocking)
        provider = inspect_provider(replaced, dependency.blocking)
        for each in provider.parameters_of_client:
            if each.is_required and each.name not in given:
                raise _unfilled(provider, each.name)
        return provider

    async def run(call: Call, values: dict[str, Any]) -> Any:
        own = {name: value for name, value in values.items() if name not in foreign}
        async with Resolution(call, functools.partial(find, call, values), values) as resolution:
            own.update(await resolution.fill(spec.dependencies))
            return await resolution.run(inner, own)

    handler = replace(inner, function=run, style=Style.ASYNC)
    changed = spec._replace(
        handler=handler, providers=providers, hints=hints, required=tuple(required)
    )
    return _DependentSpec(*changed)


def _find_providers(
    spec: HandlerSpec, found: dict[object, HandlerSpec]
) -> dict[object, HandlerSpec]:
    for dependency in spec.dependencies.values():
        if dependency.provider not in found:
            provider = inspect_provider(dependency.provider, dependency.blocking)
            found[dependency.provider] = provider
            _find_providers(provider, found)
    return found


def _unfilled(provider: HandlerSpec, name: str) -> UsageError:
    return UsageError(
        f"{provider.where}: nothing fills the parameter {name!r}; give it a default, Depends(...) "
        "or make it a Context"
    )


@functools.lru_cache(maxsize=1024)
def inspect_provider(provider: Callable[..., Any], blocking: bool | None) -> HandlerSpec:
    """Inspect the provider of a dependency; raises UsageError."""
    return _inspect(provider, "dependency", blocking=blocking)


def _check_providers(spec: HandlerSpec, path: tuple[HandlerSpec, ...] = ()) -> None:
    """Inspect the providers of a function, and theirs; raises UsageError for a cycle."""
    path = (*path, spec)
    for dependency in spec.dependencies.values():
        provider = inspect_provider(dependency.provider, dependency.blocking)
        if any(each.function is provider.function for each in path):
            names = " -> ".join(each.name for each in (*path, provider))
            raise UsageError(f"{provider.where} depends on itself: {names}")
        _check_providers(provider, path)


def author_error(register: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function of the API so that the traceback of a UsageError ends in its caller."""

    @functools.wraps(register)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return register(*args, **kwargs)
        except UsageError as error:
            # A bare `raise` adds no frame, so only the frames of the callers follow.
            error.__traceback__ = None
            raise

    return call


def check_keywords(given: Iterable[str], options: type[Any]) -> None:
    """Raise TypeError for a keyword that `options`, a TypedDict, does not have."""
    for name in given:
        if name not in options.__optional_keys__:
            close = get_close_matches(name, options.__optional_keys__, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TypeError(f"unexpected keyword argument {name!r}{hint}")


def inspect_handler(
    function: Callable[..., Any],
    *,
    kind: str,
    name: str | None = None,
    blocking: bool | None = None,
    timeout: float | None = None,
    idle_timeout: float | None = None,
) -> HandlerSpec:
    """Find out how to run `function` and which parameters it has; raises UsageError."""
    spec = _inspect(
        function, kind, name=name, blocking=blocking, timeout=timeout, idle_timeout=idle_timeout
    )
    if not spec.dependencies:
        return spec
    _check_providers(spec)
    return _with_dependencies(spec, kind)


def _inspect(
    function: Callable[..., Any],
    kind: str,
    *,
    name: str | None = None,
    blocking: bool | None = None,
    timeout: float | None = None,
    idle_timeout: float | None = None,
) -> HandlerSpec:
    if not callable(function):
        raise UsageError(f"a {kind} is a function, got {type(function).__name__}")
    own_name = name or str(getattr(without_partial(function), "__name__", ""))
    if (not own_name or own_name == "<lambda>") and kind != "dependency":
        remedy = (
            "whose function has no name needs name=" if kind in _ADD else "must be defined with def"
        )
        raise UsageError(f"a {kind} {remedy}{locate(function)}")
    label = f"{kind} {own_name!r}"
    where = f"{label}{locate(function)}"
    _check_time(where, timeout, idle_timeout)
    hints = read_hints(function, where)
    bound = bound_keywords(function)
    context = _find_context(hints, bound, where)
    signature = inspect.signature(function).parameters.values()
    dependencies = {
        each.name: found
        for each in signature
        if (found := _find_dependency(each, hints.get(each.name), where)) is not None
    }
    skipped = (*(() if context is None else (context,)), *dependencies, *sorted(bound))
    parameters = tuple(each for each in signature if each.name not in skipped)
    _refuse_unbound(parameters, kind, own_name, where)
    _refuse_bare_context(parameters, where)
    described = [describe_parameter(each, hints.get(each.name), where) for each in parameters]
    style = _style(function, blocking, where, may_yield=kind == "dependency")
    return HandlerSpec(
        function=function,
        handler=Handler(_by_keyword(function), style, label, timeout, idle_timeout, where),
        name=own_name,
        where=where,
        parameters=parameters,
        context=context,
        make_context=Context if style is Style.ASYNC or not context else PlainContext.of(where),
        description=parse_docstring(docstring_of(function)),
        hints=hints,
        skipped=skipped,
        dependencies=dependencies,
        default_makers={
            each.name: each.make_default for each in described if each.make_default is not None
        },
        required=tuple(each.name for each in described if each.is_required),
        parameters_of_client=tuple(
            shown
            for each, shown in zip(parameters, described, strict=True)
            if kind == "dependency" and _is_argument(each, shown)
        ),
    )


def locate(function: Callable[..., Any]) -> str:
    """Return " (file.py:12)", or nothing for a function that was not written in Python."""
    code = getattr(plain_function(function), "__code__", None)
    if code is None:
        return ""
    file = _FOLDER.sub("", code.co_filename)
    return f" ({file}:{code.co_firstlineno})"


def _check_time(where: str, *limits: float | None) -> None:
    for limit in limits:
        if limit is not None and not limit > 0:
            raise UsageError(
                f"{where}: a timeout is a number of seconds above 0 (math.inf for no limit), got "
                f"{limit!r}"
            )


def _refuse_unbound(
    parameters: tuple[inspect.Parameter, ...], kind: str, name: str, where: str
) -> None:
    first = parameters[0] if parameters else None
    if first is not None and first.name == "self" and first.annotation is first.empty:
        call = _ADD.get(kind, "obj.{}").format(name)
        raise UsageError(
            f"{where}: the first parameter is self, so this is a method without its object; pass "
            f"the bound method: {call}"
        )


def _refuse_bare_context(parameters: tuple[inspect.Parameter, ...], where: str) -> None:
    for each in parameters:
        if each.name in ("context", "ctx") and each.annotation is each.empty:
            raise UsageError(
                f"{where}: the parameter {each.name!r} has no annotation, so clients would have to "
                f"send it; write {each.name}: Context (from dovetail import Context), or annotate "
                "it with the type of the argument"
            )


def _by_keyword(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes every parameter by keyword: usually `function` itself."""
    parameters = inspect.signature(function).parameters.values()
    places = [each for each in parameters if each.kind is inspect.Parameter.POSITIONAL_ONLY]
    if not places:
        return function

    def call(**values: Any) -> Any:
        first = [values.pop(place.name, place.default) for place in places]
        return function(*first, **values)

    return call


def _style(
    function: Callable[..., Any], blocking: bool | None, where: str, *, may_yield: bool
) -> Style:
    target = without_partial(function)
    if may_yield and inspect.isasyncgenfunction(target):
        return Style.ASYNC
    is_generator = inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target)
    if is_generator and not may_yield:
        raise UsageError(
            f"{where} is a generator; return the whole result, and report progress with "
            "ctx.progress()"
        )
    is_async = inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(
        getattr(target, "__call__", None)  # noqa: B004 - its kind matters, not its presence
    )
    if is_async:
        if blocking:
            raise UsageError(f"{where} is async; blocking= is for plain functions")
        return Style.ASYNC
    # A plain function may block, so it runs in a worker thread unless its author says otherwise.
    return Style.INLINE if blocking is False else Style.THREAD


def _find_context(hints: dict[str, Any], bound: frozenset[str], where: str) -> str | None:
    found = [
        name
        for name, hint in hints.items()
        if name != "return" and name not in bound and _is_context(hint)
    ]
    if len(found) > 1:
        raise UsageError(
            f"{where}: {' and '.join(map(repr, found))} are both a Context; keep one of them"
        )
    return found[0] if found else None


def _is_argument(parameter: inspect.Parameter, described: Parameter) -> bool:
    """Whether a parameter of a provider is an argument of the client."""
    is_private = parameter.name.startswith("_") or parameter.annotation is parameter.empty
    return described.is_required or not is_private


def _find_dependency(parameter: inspect.Parameter, hint: Any, where: str) -> Dependency | None:
    """Return the dependency of a parameter: its default, or in its `Annotated`."""
    marked = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    for each in (parameter.default, *marked):
        if isinstance(each, Dependency):
            return each if each.provider is not None else _of_class(each, hint, parameter, where)
    return None


def _of_class(
    dependency: Dependency, hint: Any, parameter: inspect.Parameter, where: str
) -> Dependency:
    """Return the dependency for `Depends()`: on the class in the annotation."""
    cls = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    cls = get_origin(cls) or cls
    if cls is Any or not isinstance(cls, type):
        raise UsageError(
            f"{where}: Depends() without a provider needs a class as the annotation of "
            f"{parameter.name!r}"
        )
    return Dependency(cls, dependency.blocking)


def _is_context(hint: Any) -> bool:
    """Whether an annotation is `Context` or `Context[T]`, also in a union or in `Annotated`."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType, Annotated):
        return any(_is_context(part) for part in get_args(hint))
    return hint is Context or origin is Context


def _find_coroutines(value: Any, depth: int) -> Iterator[Coroutine[Any, Any, Any]]:
    if isinstance(value, Coroutine):
        yield value
    elif depth:
        if isinstance(value, dict):
            parts = list(value.values())
        elif isinstance(value, list | tuple | set):
            parts = list(value)
        else:
            parts = list(vars(value).values()) if _has_fields(value) else []
        for part in parts:
            yield from _find_coroutines(part, depth - 1)


def _has_fields(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type) and hasattr(value, "__dict__")

"""Authors' functions, looked at once: name, style, context, annotations."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from dovetail import Context
from dovetail.core.handler import Style
from dovetail.errors import UsageError
from dovetail.features.handlers import inspect_handler


def plain(a: int) -> str:
    """Say it.

    Args:
        a: The number.
    """
    return str(a)


async def later(a: int, ctx: Context) -> None: ...


class Callable:
    """Called like a function."""

    def __call__(self, a: int) -> int:
        return a


class AsyncCallable:
    async def __call__(self, ctx: Context) -> None: ...


class Service:
    def method(self, a: int) -> int:
        return a

    async def later(self, ctx: Context, a: int) -> int:
        return a


@pytest.mark.parametrize(
    ("function", "blocking", "style"),
    [
        (plain, None, Style.THREAD),
        (plain, True, Style.THREAD),
        (plain, False, Style.INLINE),
        (later, None, Style.ASYNC),
        (later, False, Style.ASYNC),
        (functools.partial(plain, 1), None, Style.THREAD),
        (functools.partial(functools.partial(later, a=1)), None, Style.ASYNC),
        (Callable(), None, Style.THREAD),
        (AsyncCallable(), None, Style.ASYNC),
        (Service().method, None, Style.THREAD),
        (Service().later, None, Style.ASYNC),
    ],
)
def test_where_a_function_runs_follows_from_its_kind_and_its_authors_promise(
    function: Any, blocking: bool | None, style: Style
) -> None:
    spec = inspect_handler(function, kind="tool", name="x", blocking=blocking)
    assert spec.handler.style is style
    assert spec.handler.label == "tool 'x'"


def test_limits_are_kept_with_the_handler() -> None:
    handler = inspect_handler(plain, kind="tool", timeout=2.0, idle_timeout=1.0).handler
    assert (handler.timeout, handler.idle_timeout) == (2.0, 1.0)


@pytest.mark.parametrize(
    ("function", "context", "skipped"),
    [
        (plain, None, ()),
        (later, "ctx", ("ctx",)),
        (AsyncCallable(), "ctx", ("ctx",)),
        (Service().later, "ctx", ("ctx",)),
        (functools.partial(later, a=1), "ctx", ("ctx",)),
    ],
)
def test_the_parameter_that_wants_the_context_is_found(
    function: Any, context: str | None, skipped: tuple[str, ...]
) -> None:
    spec = inspect_handler(function, kind="tool", name="x")
    assert (spec.context, spec.skipped) == (context, skipped)


def test_a_return_annotation_is_no_parameter() -> None:
    def odd() -> Context: ...  # type: ignore[empty-body]

    assert inspect_handler(odd, kind="tool").context is None


def test_name_description_and_return_type_come_from_the_function() -> None:
    spec = inspect_handler(plain, kind="tool")
    assert (spec.name, spec.returns) == ("plain", str)
    assert spec.description.summary == "Say it."
    assert spec.description.parameters == {"a": "The number."}
    assert inspect_handler(functools.partial(plain, 1), kind="tool").name == "plain"


def test_annotations_may_name_what_the_function_closes_over() -> None:
    class Local:
        pass

    def uses(a: Local) -> Local:
        return Local()

    assert inspect_handler(uses, kind="tool").returns is Local


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        ("name", "a tool is a function, got str"),
        (lambda: 1, "a tool without a name of its own needs name="),
        (Callable(), "a tool without a name of its own needs name="),
    ],
)
def test_what_is_no_named_function_is_refused(function: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        inspect_handler(function, kind="tool")


def test_an_async_function_cannot_be_declared_blocking() -> None:
    with pytest.raises(UsageError, match="'later' is async; blocking= is for plain functions"):
        inspect_handler(later, kind="tool", blocking=True)


def test_an_annotation_that_cannot_be_found_is_refused_with_its_name() -> None:
    def odd(a: Missing) -> None: ...  # type: ignore[name-defined] # noqa: F821

    with pytest.raises(UsageError, match=r"the annotations of 'odd' name something.*'Missing'"):
        inspect_handler(odd, kind="tool")


def test_a_function_without_a_signature_is_refused() -> None:
    with pytest.raises(UsageError, match="Python knows no signature of 'max'"):
        inspect_handler(max, kind="tool")


def test_positional_only_parameters_are_filled_by_name() -> None:
    def odd(a: int, b: int = 2, /, *, c: int) -> tuple[int, int, int]:
        return a, b, c

    function = inspect_handler(odd, kind="tool").handler.function
    assert function(a=1, c=3) == (1, 2, 3)
    assert function(a=1, b=5, c=3) == (1, 5, 3)
    assert inspect_handler(plain, kind="tool").handler.function is plain


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_a_timeout_that_no_call_could_keep_is_refused(limit: float) -> None:
    async def tool() -> None: ...

    with pytest.raises(UsageError, match="above 0"):
        inspect_handler(tool, kind="tool", timeout=limit)


def test_a_function_that_yields_is_refused() -> None:
    def plain() -> Iterator[int]:
        yield 1

    async def asynchronous() -> AsyncIterator[int]:
        yield 1

    for function in (plain, asynchronous):
        with pytest.raises(UsageError, match="yields"):
            inspect_handler(function, kind="tool")


def test_a_context_may_be_optional_for_callers_that_have_none() -> None:
    async def tool(ctx: Context | None = None) -> None: ...

    assert inspect_handler(tool, kind="tool").context == "ctx"


def test_two_contexts_are_one_too_many() -> None:
    async def tool(one: Context, two: Context) -> None: ...

    with pytest.raises(UsageError, match="'one' and 'two'"):
        inspect_handler(tool, kind="tool")

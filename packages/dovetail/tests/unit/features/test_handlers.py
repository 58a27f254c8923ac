"""Authors' functions, looked at once: name, style, context, annotations."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Optional

import pytest

from dovetail import Context, Server, ToolResult
from dovetail.core.handler import Style
from dovetail.errors import UsageError
from dovetail.features.handlers import inspect_handler
from tests.unit.talk import call, refusal

ANY: Any = None


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
        (functools.partial(later, a=1), "ctx", ("ctx", "a")),
        (functools.partial(later, ctx=ANY), None, ("ctx",)),
        (functools.partial(later, 1, ANY), None, ()),
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
        (lambda: 1, r"a tool whose function has no name needs name= \(test_handlers.py:\d+\)"),
        (Callable(), "a tool whose function has no name needs name="),
    ],
)
def test_what_is_no_named_function_is_refused(function: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        inspect_handler(function, kind="tool")


def test_a_completer_has_no_name_keyword_so_it_needs_a_function_with_a_name() -> None:
    with pytest.raises(UsageError, match=r"a completer must be defined with def \(test_handlers"):
        inspect_handler(lambda typed: [], kind="completer")


def test_an_async_function_cannot_be_declared_blocking() -> None:
    with pytest.raises(
        UsageError, match=r"'later' \(.*\) is async; blocking= is for plain functions"
    ):
        inspect_handler(later, kind="tool", blocking=True)


def test_an_annotation_that_cannot_be_found_is_refused_with_its_name() -> None:
    def odd(a: Missing) -> None: ...  # type: ignore[name-defined] # noqa: F821

    with pytest.raises(
        UsageError, match=r"tool 'odd' \(test_handlers.py:\d+\): the annotation of 'a' .*'Missing'"
    ):
        inspect_handler(odd, kind="tool")


def test_a_function_without_a_signature_is_refused() -> None:
    with pytest.raises(UsageError, match="tool 'max' has no signature that Python can read"):
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
        with pytest.raises(UsageError, match="is a generator"):
            inspect_handler(function, kind="tool")


def test_a_context_may_be_optional_for_callers_that_have_none() -> None:
    async def tool(ctx: Context | None = None) -> None: ...

    assert inspect_handler(tool, kind="tool").context == "ctx"


def test_two_contexts_are_one_too_many() -> None:
    async def tool(one: Context, two: Context) -> None: ...

    with pytest.raises(UsageError, match="'one' and 'two'"):
        inspect_handler(tool, kind="tool")


class Database: ...


@pytest.mark.parametrize(
    "annotation",
    [
        Context,
        Context[Database],
        Context[Any],
        Optional[Context[Database]],  # noqa: UP045 - not the same object as X | None
        Context | None,
        Context[Database] | None,
        Annotated[Context, "text"],
        Annotated[Context[Database], "text"],
        Annotated[Context[Database] | None, "text"],
        "Context[Database]",
    ],
)
def test_a_context_is_found_in_every_spelling(annotation: Any) -> None:
    async def tool(a: int, ctx: Any) -> None: ...

    tool.__annotations__["ctx"] = annotation
    spec = inspect_handler(tool, kind="tool")
    assert spec.context == "ctx"
    assert [each.name for each in spec.parameters] == ["a"]


def test_a_list_of_contexts_is_not_a_context() -> None:
    async def tool(ctx: list[Context]) -> None: ...

    assert inspect_handler(tool, kind="tool").context is None


def test_a_partial_object_is_read_like_its_function_without_the_bound_parameters() -> None:
    def search(text: str, region: str, limit: int = 5) -> list[str]:
        """Search.

        Args:
            text: What to look for.
            limit: How many.
        """
        return [text, region, str(limit)]

    server = Server("s")
    listing = server.tools.add(functools.partial(search, region="eu"))
    assert (listing.name, listing.description) == ("search", "Search.")
    assert listing.input_schema["properties"] == {
        "text": {"type": "string", "description": "What to look for."},
        "limit": {"type": "integer", "description": "How many.", "default": 5},
    }
    assert listing.input_schema["required"] == ["text"]
    assert listing.output_schema == {"type": "array", "items": {"type": "string"}}
    found = call(server, "search", {"text": "x"})["structuredContent"]
    assert found == {"result": ["x", "eu", "5"]}
    refused = call(server, "search", {"text": "x", "region": "us"})
    assert refused["isError"]


def test_a_wrapper_is_read_like_the_function_inside() -> None:
    def logged(function: Any) -> Any:
        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return await function(*args, **kwargs)

        return wrapper

    @logged
    async def search(text: str, ctx: Context[Database]) -> list[str]:
        """Search.

        Args:
            text: What to look for.
        """
        return [text, type(ctx).__name__]

    server = Server("s")
    listing = server.tools.add(search)
    assert (listing.name, listing.description) == ("search", "Search.")
    assert listing.input_schema["properties"] == {
        "text": {"type": "string", "description": "What to look for."}
    }
    found = call(server, "search", {"text": "x"})["structuredContent"]
    assert found == {"result": ["x", "Context"]}


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        ("tool", r"server\.tools\.add\(obj\.method\)"),
        ("prompt", r"server\.prompts\.add\(obj\.method\)"),
        ("resource", r"server\.resources\.add\(uri, obj\.method\)"),
        ("completer", r"obj\.method"),
    ],
)
def test_a_method_without_its_object_is_refused(kind: str, remedy: str) -> None:
    complaint = rf"^{kind} 'method' \(test_handlers.py:\d+\): .* pass the bound method: {remedy}$"
    with pytest.raises(UsageError, match=complaint):
        inspect_handler(Service.method, kind=kind)
    assert inspect_handler(Service().method, kind=kind).parameters[0].name == "a"
    assert inspect_handler(functools.partial(Service.method, Service()), kind=kind)


def test_a_parameter_named_self_with_an_annotation_is_an_argument() -> None:
    def tool(self: str) -> str:
        return self

    assert inspect_handler(tool, kind="tool").parameters[0].name == "self"


@dataclass
class Answer:
    text: Any


async def fetch() -> str:
    return "x"


def value_of(kind: str) -> Any:
    makers: dict[str, Any] = {
        "alone": fetch,
        "list": lambda: ["a", fetch()],
        "dict": lambda: {"a": {"b": fetch()}},
        "dataclass": lambda: Answer(fetch()),
        "result": lambda: ToolResult(structured={"a": fetch()}),
        "content": lambda: ToolResult(fetch()),
    }
    return makers[kind]()


@pytest.mark.parametrize("kind", ["alone", "list", "dict", "dataclass", "result", "content"])
def test_a_coroutine_in_a_result_is_an_error_that_names_the_call(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("s")

    @server.tool
    async def search() -> Any:
        return value_of(kind)

    assert call(server, "search")["isError"]
    assert (
        "returned a coroutine because fetch() was not awaited; make the function, and any "
        "decorator around it, async def and await the call"
    ) in caplog.text
    assert "tool 'search' (test_handlers.py:" in caplog.text


def test_a_plain_wrapper_around_an_async_function_is_explained(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("s")

    @functools.wraps(fetch)
    def wrapper() -> Any:
        return fetch()

    for blocking in (True, False):
        server.tool(f"fetch-{blocking}", blocking=blocking)(wrapper)
        assert call(server, f"fetch-{blocking}")["isError"]
        assert f"tool 'fetch-{blocking}' (test_handlers.py:" in caplog.text
    assert caplog.text.count("because fetch() was not awaited") == 2


def test_a_context_method_that_was_not_awaited_is_named(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("s")

    @server.tool
    async def search(ctx: Context) -> Any:
        return ctx.sample("hello")

    assert call(server, "search")["isError"]
    assert "because ctx.sample() was not awaited" in caplog.text


@pytest.mark.parametrize("kind", ["prompt", "resource", "completer", "resource list"])
def test_a_coroutine_is_found_in_the_result_of_every_kind_of_handler(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("s")

    def handler(cursor: str = "") -> Any:
        return fetch()

    if kind == "resource":
        server.resource("notes://a", blocking=False)(handler)
        refusal(server, "resources/read", {"uri": "notes://a"})
    elif kind == "resource list":
        server.resource_list(blocking=False)(handler)
        refusal(server, "resources/list")
    elif kind == "prompt":
        server.prompt(blocking=False)(handler)
        refusal(server, "prompts/get", {"name": "handler"})
    else:
        server.prompt("p")(plain)
        server.complete("p", "a")(handler)
        ref = {"type": "ref/prompt", "name": "p"}
        params = {"ref": ref, "argument": {"name": "a", "value": "1"}}
        refusal(server, "completion/complete", params)
    assert f"{kind} 'handler' (test_handlers.py:" in caplog.text
    assert "because fetch() was not awaited" in caplog.text


def test_a_wrong_result_is_an_error_that_names_the_tool_and_its_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("s")

    @server.tool
    async def count() -> int:
        return "three"  # type: ignore[return-value]

    @server.tool(output_schema={"type": "object", "required": ["a"]})
    async def pack() -> dict[str, int]:
        return {}

    @server.tool
    async def bare() -> int:
        return ToolResult("x")  # type: ignore[return-value]

    @server.tool
    async def odd() -> Any:
        return object()

    for name, text in (
        ("count", ': the result does not match its schema: $: expected integer, got "three"'),
        ("pack", ": the result does not match its schema: a: expected a value (required)"),
        ("bare", ": a tool with an output schema must return structured data"),
        ("odd", ": a value of type object is neither content nor JSON"),
    ):
        caplog.clear()
        assert call(server, name)["isError"]
        assert f"UsageError: tool '{name}' (test_handlers.py:" in caplog.text
        assert text in caplog.text

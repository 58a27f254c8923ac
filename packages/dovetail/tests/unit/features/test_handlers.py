"""Authors' functions, looked at once: name, style, context, annotations."""

from __future__ import annotations

import functools
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Optional

import pytest

from dovetail import Client, Context, Options, Server, ToolResult
from dovetail.core.call import Style
from dovetail.errors import DuplicateError, UsageError
from dovetail.features.handlers import inspect_handler
from tests.patience import CAP
from tests.unit.talk import ERAS, answer, call, refusal, run

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


# -- failures name the handler ----------------------------------------------------------------

ARGUMENT = {"name": "a", "value": "1"}
FAILING: dict[str, tuple[str, dict[str, Any]]] = {
    "tool": ("tools/call", {"name": "fail"}),
    "prompt": ("prompts/get", {"name": "fail"}),
    "resource": ("resources/read", {"uri": "n://a"}),
    "template": ("resources/read", {"uri": "n://t/a"}),
    "resource list": ("resources/list", {}),
    "completer": (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "p"}, "argument": ARGUMENT},
    ),
}


def server_of(kind: str, function: Any, **options: Any) -> Server:
    """A server with the function as its handler of this kind."""
    server = Server("s")
    if kind == "completer":
        server.prompt("p")(plain)
        server.complete("p", "a")(function)
    elif kind == "resource list":
        server.resource_list(**options)(function)
    elif kind in ("resource", "template"):
        server.resource("n://a" if kind == "resource" else "n://t/{cursor}", **options)(function)
    else:
        getattr(server, kind)(**options)(function)
    return server


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("style", ["async", "thread", "inline"])
@pytest.mark.parametrize("kind", FAILING)
def test_every_failure_is_logged_with_the_handler_its_file_and_its_line(
    kind: str, style: str, revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    # Not JSON: it fails after the function has returned, so no frame of the traceback is ours.
    def fail(cursor: str = "") -> Any:
        return "\ud800"

    async def fail_later(cursor: str = "") -> Any:
        return "\ud800"

    function: Any = fail
    if style == "async":
        fail_later.__name__, function = "fail", fail_later
    is_inline = style == "inline" and kind != "completer"
    server = server_of(kind, function, **({"blocking": False} if is_inline else {}))
    method, params = FAILING[kind]
    run(answer(server, method, params, revision=revision))
    what = "resource" if kind == "template" else kind
    place = f"{what} 'fail' (test_handlers.py:{function.__code__.co_firstlineno})"
    [record] = caplog.records
    assert record.getMessage().startswith(f"{method} failed in {place}, reference ")


@pytest.mark.parametrize("revision", ERAS)
def test_a_failed_task_is_logged_with_its_tool(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("s", options=Options(state="memory://"))

    @server.tool(task="required")
    async def fail() -> str:
        raise KeyError

    async def scenario() -> bool:
        async with Client(server, mode=revision) as client:
            result = await (await client.start("fail")).result()
        await server.close()
        return result.is_error

    assert run(scenario())
    line = fail.__code__.co_firstlineno
    assert f"failed in tool 'fail' (test_handlers.py:{line}), reference" in caplog.text


def test_a_lifespan_that_is_no_context_manager_is_named(caplog: pytest.LogCaptureFixture) -> None:
    async def life(server: Server) -> AsyncIterator[None]:
        yield

    server = Server("s", lifespan=life)  # type: ignore[arg-type]
    server.tool(plain)
    assert refusal(server, "tools/call", {"name": "plain"})["code"] == -32603
    line = life.__code__.co_firstlineno
    assert (
        f"lifespan 'life' (test_handlers.py:{line}) must return an async context manager, got "
        "async_generator; put @contextlib.asynccontextmanager above the function"
    ) in caplog.text


# -- errors at registration -------------------------------------------------------------------


def odd(a: complex) -> str:
    return ""


@pytest.mark.parametrize(
    "register",
    [
        lambda server: server.tool(odd),
        lambda server: server.tool(title="T")(odd),
        lambda server: server.tool("a", name="b"),
        lambda server: server.tools.add(odd),
        lambda server: server.prompt(odd),
        lambda server: server.prompts.add(odd),
        lambda server: server.resource("n://{a}")(odd),
        lambda server: server.resource(5),
        lambda server: server.resources.add("n://{a", plain),
        lambda server: server.resource_list(odd),
        lambda server: server.resource_list(name="x")(odd),
        lambda server: server.resources.lists.add(odd),
        lambda server: server.complete("none", "a")(plain),
    ],
)
def test_the_traceback_of_a_registration_error_ends_in_the_authors_line(register: Any) -> None:
    with pytest.raises(UsageError) as caught:
        register(Server("s"))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.filename for frame in frames] == [__file__, __file__]
    assert frames[-1].lineno == register.__code__.co_firstlineno


@pytest.mark.parametrize("command", [[], ["-m", "dovetail", "run"], ["-m", "dovetail", "list"]])
def test_a_program_that_registers_something_wrong_shows_its_own_line_last(
    command: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "weather.py"
    file.write_text(
        "import dovetail\n"
        "server = dovetail.Server('s')\n"
        "@server.tool\n"
        "def forecast(day: complex) -> str:\n"
        "    return ''\n"
    )
    done = subprocess.run(
        [sys.executable, *command, str(file)], capture_output=True, text=True, timeout=CAP
    )
    assert done.returncode != 0
    *frames, message = done.stderr.strip().splitlines()
    assert message.startswith("dovetail.errors.UsageError: tool 'forecast' (weather.py:3): ")
    places = [line.strip() for line in frames if line.startswith("  File ")]
    assert places == [f'File "{file}", line 3, in <module>']


@pytest.mark.parametrize("name", ["ctx", "context"])
def test_a_context_without_annotation_is_refused(name: str) -> None:
    server = Server("s")
    functions: dict[str, Any] = {}
    exec(f"def tool(a: int, {name}): ...\ndef typed({name}: str): ...", functions)
    for add in (
        server.tools.add,
        server.prompts.add,
        lambda function: server.resources.add(f"a://{{a}}/{{{name}}}", function),
    ):
        with pytest.raises(UsageError, match=rf"write {name}: Context \(from dovetail import"):
            add(functions["tool"])
    server.tools.add(functions["typed"])


def test_a_duplicate_names_the_place_of_the_first() -> None:
    server = Server("s")

    def twice(a: int) -> str:
        return ""

    server.tools.add(twice)
    server.prompts.add(twice)
    for uri in ("a://b{?a}", "a://b"):
        server.resources.add(uri, resource)
    server.complete(twice, "a")(completer)
    place = rf"registered already \(test_handlers\.py:{twice.__code__.co_firstlineno}\)"
    for add in (server.tools.add, server.prompts.add):
        with pytest.raises(DuplicateError, match=place):
            add(twice)
    for uri in ("a://b{?a}", "a://b"):
        with pytest.raises(DuplicateError, match=r"registered already \(test_handlers\.py:\d+\)"):
            server.resources.add(uri, resource)
    with pytest.raises(DuplicateError, match=r"already: completer 'completer' \(test_handlers"):
        server.complete(twice, "a")(completer)


def resource(a: int = 1) -> str:
    return ""


def completer(text: str) -> list[str]:
    return []

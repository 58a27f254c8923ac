"""Middleware around calls, prompts, resources, completions and lists."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import UNSET

from dovetail import Context, Middleware, Server, ToolError, ToolResult
from dovetail.client import Client
from dovetail.errors import RpcError, UsageError
from dovetail.middleware import (
    CallNext,
    CallTool,
    Complete,
    GetPrompt,
    ListPage,
    ListTools,
    ReadResource,
    Request,
)
from dovetail.spec.models import (
    CompleteResult,
    Completion,
    GetPromptResult,
    ReadResourceResult,
    TextContents,
    Tool,
)
from dovetail.testing import connect
from tests.unit.talk import LEGACY, MODERN, REVISIONS
from tests.unit.talk import request as encode_request

MODES = ["2024-11-05", "2025-11-25", "2026-07-28"]


def make_server(*middleware: Any) -> Server:
    server = Server("shop", middleware=middleware)

    @server.tool
    async def add(a: int, b: int = 0) -> int:
        return a + b

    @server.tool
    async def fail() -> str:
        raise ToolError("no luck")

    @server.tool
    async def who(ctx: Context) -> str:
        return str(ctx.state.get("user"))

    @server.tool
    async def ask(ctx: Context) -> str:
        found = await ctx.elicit(
            "Name?", {"type": "object", "properties": {"n": {"type": "string"}}}
        )
        return str(found.data)

    @server.prompt
    async def greet(name: str) -> str:
        return f"Hello {name}"

    @server.resource("shop://today")
    async def today() -> str:
        return "open"

    @server.complete(greet, "name")
    async def names(text: str) -> list[str]:
        return ["Ada"]

    return server


def use(
    server: Server, mode: str, script: Callable[[Client], Awaitable[None]], **more: Any
) -> None:
    async def run() -> None:
        async with connect(server, mode=mode, **more) as client:
            await script(client)

    asyncio.run(run())


@pytest.mark.parametrize("mode", MODES)
def test_a_function_changes_arguments_and_results(mode: str) -> None:
    async def double(request: Request[Any], call_next: CallNext[Any]) -> Any:
        if isinstance(request, CallTool) and request.name == "add":
            request.arguments["b"] = 10
            result = await call_next(request)
            return ToolResult([*result.content, "and more"], structured=result.structured)
        return await call_next(request)

    async def script(client: Client) -> None:
        result = await client.call("add", {"a": 1})
        assert [block.text for block in result.content] == ["11", "and more"]  # type: ignore[union-attr]
        assert (await client.call("fail")).is_error
        assert [each.name for each in await client.list_tools()] == ["add", "fail", "who", "ask"]

    use(make_server(double), mode, script)


@pytest.mark.parametrize("mode", MODES)
def test_each_kind_of_request_has_a_method(mode: str) -> None:
    class Shout(Middleware):
        async def call_tool(self, request: CallTool, call_next: CallNext[ToolResult]) -> ToolResult:
            request.state["user"] = "ada"
            return await call_next(request)

        async def get_prompt(
            self, request: GetPrompt, call_next: CallNext[GetPromptResult]
        ) -> GetPromptResult:
            request.arguments["name"] = request.arguments["name"].upper()
            result = await call_next(request)
            result.description = "changed"
            return result

        async def read_resource(
            self, request: ReadResource, call_next: CallNext[ReadResourceResult]
        ) -> ReadResourceResult:
            if request.uri == "shop://now":
                request.uri = "shop://today"
            result = await call_next(request)
            result.contents.append(TextContents(uri=request.uri, text="!"))
            return result

        async def complete(
            self, request: Complete, call_next: CallNext[CompleteResult]
        ) -> CompleteResult:
            found = await call_next(request)
            return CompleteResult(completion=Completion(values=[*found.completion.values, "Bob"]))

        async def list_tools(
            self, request: ListTools, call_next: CallNext[ListPage[Tool]]
        ) -> ListPage[Tool]:
            page = await call_next(request)
            page.items = [each for each in page.items if each.name != "fail"]
            return page

    async def script(client: Client) -> None:
        assert (await client.call("who")).text == "ada"
        prompt = await client.get_prompt("greet", {"name": "ada"})
        assert prompt.messages[0].content.text == "Hello ADA"  # type: ignore[union-attr]
        assert prompt.description == "changed"
        contents = (await client.read("shop://now")).contents
        assert [each.text for each in contents] == ["open", "!"]  # type: ignore[union-attr]
        assert [each.name for each in await client.list_tools()] == ["add", "who", "ask"]
        assert [each.name for each in await client.list_prompts()] == ["greet"]
        values = await client.complete("greet", "name", "A")
        assert list(values.values) == ["Ada", "Bob"]

    use(make_server(Shout()), mode, script)


def test_the_first_middleware_is_outermost_and_sees_the_error_of_the_tool() -> None:
    seen: list[str] = []

    def named(name: str) -> Callable[[Request[Any], CallNext[Any]], Awaitable[Any]]:
        async def middleware(request: Request[Any], call_next: CallNext[Any]) -> Any:
            seen.append(name)
            try:
                return await call_next(request)
            except ToolError as error:
                seen.append(f"{name}: {error}")
                raise

        return middleware

    async def script(client: Client) -> None:
        assert (await client.call("fail")).text == "no luck"

    server = make_server(named("outer"))
    server.add_middleware(named("inner"))
    use(server, "auto", script)
    assert seen == ["outer", "inner", "inner: no luck", "outer: no luck"]


def test_a_middleware_may_answer_itself_and_reject() -> None:
    async def gate(request: Request[Any], call_next: CallNext[Any]) -> Any:
        if isinstance(request, CallTool) and request.name == "add":
            return ToolResult("cached")
        if isinstance(request, CallTool):
            raise ToolError("closed today")
        return await call_next(request)

    async def script(client: Client) -> None:
        assert (await client.call("add", {"a": 1})).text == "cached"
        assert (await client.call("who")).text == "closed today"

    use(make_server(gate), "auto", script)


def test_one_that_fails_or_forgets_its_result_is_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(request: Request[Any], call_next: CallNext[Any]) -> Any:
        result = await call_next(request)
        if isinstance(request, CallTool) and request.name == "who":
            raise ZeroDivisionError
        if isinstance(request, GetPrompt):
            return "text"
        return result if isinstance(request, ListTools) else None

    async def script(client: Client) -> None:
        assert "Internal error" in (await client.call("who")).text
        assert "Internal error" in (await client.call("add", {"a": 1})).text
        with pytest.raises(RpcError):
            await client.get_prompt("greet", {"name": "x"})
        assert len(await client.list_tools()) == 4

    with caplog.at_level(logging.ERROR, "dovetail"):
        use(make_server(broken), "auto", script)
    assert "middleware 'broken' returned None for tools/call" in caplog.text
    assert "must return a GetPromptResult for prompts/get, got str" in caplog.text


@pytest.mark.parametrize("mode", MODES[1:])
def test_questions_pass_a_middleware_that_catches_errors(mode: str) -> None:
    caught: list[Exception] = []

    async def careful(request: Request[Any], call_next: CallNext[Any]) -> Any:
        if isinstance(request, CallTool):
            # The state of a question is bound to the request that the client sent.
            request.arguments.clear()
        try:
            return await call_next(request)
        except Exception as error:
            caught.append(error)
            raise

    async def script(client: Client) -> None:
        assert "Ada" in (await client.call("ask", {"unknown": 1})).text

    use(make_server(careful), mode, script, elicit=lambda ask: {"n": "Ada"})
    assert not caught


def test_a_retry_runs_the_handler_again() -> None:
    runs = 0
    server = Server("flaky")

    @server.tool
    async def flaky(ctx: Context) -> str:
        nonlocal runs
        runs += 1
        await ctx.elicit("Go on?", {"type": "object", "properties": {}})
        if runs < 3:
            raise ToolError("again")
        return "done"

    async def retry(request: Request[Any], call_next: CallNext[Any]) -> Any:
        for _ in range(3):
            try:
                return await call_next(request)
            except ToolError:
                continue
        raise ToolError("gave up")

    server.add_middleware(retry)

    async def script(client: Client) -> None:
        assert (await client.call("flaky")).text == "done"

    use(server, "2025-11-25", script, elicit=lambda ask: {})


@pytest.mark.parametrize("mode", ["2025-11-25", "2026-07-28"])
def test_a_task_runs_inside_the_middleware_once(mode: str) -> None:
    seen: list[str] = []

    class Counting(Middleware):
        async def call_tool(self, request: CallTool, call_next: CallNext[ToolResult]) -> ToolResult:
            request.arguments["text"] += "!"
            result = await call_next(request)
            seen.append(str(result.content[0].text))
            return result

    server = Server("tasks", middleware=[Counting()])

    @server.tool(task="optional")
    async def echo(text: str) -> str:
        return text

    async def script(client: Client) -> None:
        task = await client.start("echo", {"text": "a"})
        assert (await task.result()).text == "a!"

    use(server, mode, script)
    assert seen == ["a!"]


def test_requests_of_kinds_that_it_does_not_override_are_not_wrapped() -> None:
    class Prompts(Middleware):
        async def get_prompt(
            self, request: GetPrompt, call_next: CallNext[GetPromptResult]
        ) -> GetPromptResult:
            return await call_next(request)

    server, plain = make_server(Prompts()), make_server()
    wrapped = {
        method
        for method, handler in server.handlers.items()
        if type(handler.run) is not type(plain.handlers[method].run)
    }
    assert wrapped == {"prompts/get"}


@pytest.mark.parametrize("looks", [True, False])
def test_arguments_that_are_no_object_are_refused(looks: bool) -> None:
    async def any_request(request: Request[Any], call_next: CallNext[Any]) -> Any:
        assert not looks or (isinstance(request, CallTool) and request.arguments)
        return await call_next(request)

    async def run() -> bytes | None:
        message = (
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":[1]}}'
        )
        return await make_server(any_request).handle(message)

    answer = asyncio.run(run())
    assert answer is not None and b"nvalid" in answer and b"arguments" in answer
    assert (b"-32602" in answer) is looks and (b"isError" in answer) is not looks


def params_of(method: str) -> dict[str, Any]:
    return {"name": "add", "arguments": {"a": 1, "b": 2}} if method == "tools/call" else {}


async def leave_it(request: Request[Any], call_next: CallNext[Any]) -> Any:
    return await call_next(request)


async def look_at_it(request: Request[Any], call_next: CallNext[Any]) -> Any:
    if isinstance(request, CallTool):
        assert request.arguments is request.arguments
    result = await call_next(request)
    if isinstance(result, ToolResult):
        assert not result.is_error and result.content[0].text == "3"
    else:
        assert result.items and result.next_cursor is None
    return result


@pytest.mark.parametrize("method", ["tools/call", "tools/list", "resources/list"])
@pytest.mark.parametrize("revision", REVISIONS)
def test_what_a_middleware_does_not_change_stays_the_same(method: str, revision: str) -> None:
    def ask(*middleware: Any) -> Any:
        server = make_server(*middleware)
        server.resource("note://one", name="one")(lambda: "1")
        message = encode_request(method, params_of(method), revision=revision)
        answer = asyncio.run(
            server.handle(message, revision=LEGACY if revision == MODERN else revision)
        )
        assert answer is not None
        body = json.loads(answer)["result"]
        # Lists are for this caller alone as soon as there is a middleware.
        return {key: value for key, value in body.items() if key not in ("cacheScope",)}

    assert ask() == ask(leave_it) == ask(look_at_it) == ask(leave_it, look_at_it, leave_it)


def test_a_page_that_a_middleware_leaves_as_it_is_is_private() -> None:
    async def run() -> bytes | None:
        server = make_server(leave_it)
        return await server.handle(encode_request("tools/list", revision=MODERN))

    answer = asyncio.run(run())
    assert answer is not None and b'"cacheScope":"private"' in answer


@pytest.mark.parametrize("change", ["content", "structured", "is_error", "meta"])
def test_one_attribute_of_a_result_can_be_set(change: str) -> None:
    values = {"content": "other", "structured": {"n": 1}, "is_error": True, "meta": {"a/b": 1}}

    async def set_it(request: Request[Any], call_next: CallNext[Any]) -> Any:
        result = await call_next(request)
        setattr(result, change, values[change])
        return result

    def ask(*middleware: Any) -> Any:
        message = encode_request("tools/call", params_of("tools/call"), revision=MODERN)
        answer = asyncio.run(make_server(*middleware).handle(message))
        assert answer is not None
        return json.loads(answer)["result"]

    before, after = ask(), ask(set_it)
    names = {"structured": "structuredContent", "is_error": "isError", "meta": "_meta"}
    name = names.get(change, change)
    assert after[name] != before.get(name)
    others = set(before) - {name}
    assert {key: after[key] for key in others} == {key: before[key] for key in others}


def test_a_copy_of_a_result_is_an_ordinary_result() -> None:
    copies: list[Any] = []

    async def copy_it(request: Request[Any], call_next: CallNext[Any]) -> Any:
        result = await call_next(request)
        copies.append(copy.deepcopy(result))
        return result

    def script(server: Server) -> None:
        for method in ("tools/call", "tools/list"):
            message = encode_request(method, params_of(method), revision=MODERN)
            assert asyncio.run(server.handle(message)) is not None

    script(make_server(copy_it))
    called, listed = copies
    assert type(called) is ToolResult and called.content[0].text == "3"
    assert type(listed) is ListPage and "add" in [tool.name for tool in listed.items]


@pytest.mark.parametrize("wrong", [Middleware, "text"])
def test_what_is_not_a_middleware_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match="an object with an async __call__"):
        Server("shop", middleware=[wrong])


def test_results_without_structured_content_stay_without_it() -> None:
    results: list[ToolResult] = []

    class Keep(Middleware):
        async def call_tool(self, request: CallTool, call_next: CallNext[ToolResult]) -> ToolResult:
            results.append(await call_next(request))
            return results[-1]

    async def script(client: Client) -> None:
        assert (await client.call("plain")).structured is None

    server = make_server(Keep())
    server.tools.add(lambda: "text", name="plain")
    use(server, "auto", script)
    assert results[0].structured is UNSET

"""The middleware of a guard: around every request, told of its end, able to reject it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from dataclasses import dataclass
from typing import Any

import pytest

from dovetail import Context, Middleware, Server, ToolError, ToolResult
from dovetail.auth import Guard
from dovetail.core.middleware import CallNext, Request, transparent
from dovetail.core.principal import Principal
from dovetail.errors import InvalidParamsError, RpcError
from tests.unit.talk import run

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Notebook:
    """A middleware that writes down what it sees."""

    def __init__(self, refuse: Exception | None = None) -> None:
        self.refuse = refuse
        self.told: list[Any] = []
        self.seen: Request[Any] | None = None

    async def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Any:
        self.told.append("before")
        self.seen = request
        if self.refuse is not None:
            raise self.refuse
        request.add_done_callback(lambda request: self.told.append(request.outcome))
        return await call_next(request)


class Slow(Notebook):
    """Waits a turn before it decides."""

    async def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Any:
        await asyncio.sleep(0)
        return await super().__call__(request, call_next)


class Quick(Notebook):
    """Does not look at results, like the middleware of the framework."""

    @transparent
    def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Any:
        self.told.append("before")
        self.seen = request
        if self.refuse is not None:
            raise self.refuse
        request.add_done_callback(lambda request: self.told.append(request.outcome))
        return call_next(request)


KINDS = pytest.mark.parametrize("kind", [Notebook, Slow, Quick])


def make_server() -> Server:
    server = Server("s")

    @server.tool
    async def echo(text: str) -> str:
        return text

    @server.tool
    async def wait(ctx: Context) -> str:
        await asyncio.sleep(0)
        return str(ctx.principal)

    @server.tool
    async def sorry() -> ToolResult:
        return ToolResult("sorry", is_error=True)

    @server.tool
    async def refuse() -> str:
        raise ToolError("no")

    @server.tool
    async def crash() -> str:
        raise ValueError("secret")

    return server


def talk(*middleware: Any, method: str = "tools/call", **params: Any) -> Any:
    """One request through a connection with this middleware."""
    return talk_to(make_server(), *middleware, method=method, **params)


def talk_to(server: Server, *middleware: Any, method: str = "tools/call", **params: Any) -> Any:
    """One request to a server through a connection with this middleware."""

    async def play() -> Any:
        await server.start()
        answers: asyncio.Queue[bytes] = asyncio.Queue()
        guard = Guard(middleware=middleware)
        line = server.connect(answers.put_nowait, principal=Principal("anna"), guard=guard)
        message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": META}}
        line.receive(json.dumps(message).encode())
        answer = json.loads(await answers.get())
        await line.close()
        return answer

    return run(play())


@pytest.mark.parametrize(
    ("name", "arguments", "outcome"),
    [
        ("echo", {"text": "a"}, "ok"),
        ("wait", {}, "ok"),
        ("sorry", {}, "tool_error"),
        ("refuse", {}, "tool_error"),
        ("crash", {}, "tool_error"),
        ("echo", {}, "tool_error"),
        ("absent", {}, "error"),
    ],
)
@KINDS
def test_a_middleware_sees_how_a_request_ended(
    name: str, arguments: dict[str, Any], outcome: str, kind: type[Notebook]
) -> None:
    notebook = kind()
    talk(notebook, name=name, arguments=arguments)
    assert notebook.told == ["before", outcome]
    assert notebook.seen is not None
    assert notebook.seen.has_known_target is (name != "absent")


def test_what_a_hook_can_know() -> None:
    notebook = Notebook()
    answer = talk(notebook, name="echo", arguments={"text": "a"})
    call = notebook.seen
    assert call is not None
    assert (call.method, call.target, call.transport) == ("tools/call", "echo", "stdio")
    assert (call.revision, call.request_id) == ("2026-07-28", 7)
    assert call.principal == Principal("anna")
    assert call.raw_arguments == b'{"text": "a"}'
    assert call.meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert call.scope is None
    assert call.size >= len(answer["result"])
    assert call.duration > 0
    assert call.code is None


def test_a_method_without_a_name_or_arguments_has_none() -> None:
    notebook = Notebook()
    talk(notebook, method="tools/list")
    assert notebook.seen is not None
    assert (notebook.seen.target, notebook.seen.raw_arguments) == (None, b"")
    talk(notebook, method="no/such")
    assert (notebook.seen.target, notebook.seen.code) == (None, -32601)


@KINDS
def test_a_hook_may_let_a_call_go_no_further(kind: type[Notebook]) -> None:
    outer, refusing, inner = Notebook(), kind(refuse=InvalidParamsError("not now")), Notebook()
    answer = talk(outer, refusing, inner, name="echo", arguments={"text": "a"})
    assert answer["error"] == {"code": -32602, "message": "not now"}
    assert (outer.told, refusing.told, inner.told) == (["before", "refused"], ["before"], [])
    assert outer.seen is not None
    assert isinstance(outer.seen.error, RpcError)


def test_a_refusal_of_a_tool_may_be_a_result() -> None:
    answer = talk(Notebook(refuse=ToolError("ask somebody")), name="echo", arguments={"text": "a"})
    assert answer["result"]["isError"] is True


def test_a_hook_that_crashes_lets_nothing_pass_and_says_nothing() -> None:
    answer = talk(Notebook(refuse=KeyError("secret")), method="tools/list")
    assert answer["error"]["code"] == -32603
    assert "secret" not in json.dumps(answer)
    assert talk(Notebook(refuse=KeyError("x")), method="no/such")["error"]["code"] == -32603


def test_a_hook_may_wait() -> None:
    first, slow, last = Notebook(), Slow(), Notebook()
    answer = talk(first, slow, last, name="wait", arguments={})
    assert "anna" in json.dumps(answer)
    for notebook in (first, slow, last):
        assert notebook.told == ["before", "ok"]


def test_the_last_callback_is_called_first() -> None:
    told: list[str] = []

    def named(name: str) -> Any:
        async def middleware(request: Request[Any], call_next: CallNext[Any]) -> Any:
            request.add_done_callback(lambda _: told.append(name))
            return await call_next(request)

        return middleware

    talk(named("a"), named("b"), method="tools/list")
    assert told == ["b", "a"]


def test_a_middleware_sees_the_exception_of_a_handler() -> None:
    seen: list[Exception | None] = []

    async def middleware(request: Request[Any], call_next: CallNext[Any]) -> Any:
        request.add_done_callback(lambda request: seen.append(request.error))
        with pytest.raises(ValueError, match="secret"):
            await call_next(request)
        raise KeyError("another")

    talk(middleware, name="crash", arguments={})
    assert [type(error) for error in seen] == [KeyError]


def test_a_guards_middleware_may_change_results() -> None:
    async def shout(request: Request[Any], call_next: CallNext[Any]) -> Any:
        result = await call_next(request)
        result.content = "A"
        return result

    answer = talk(shout, name="echo", arguments={"text": "a"})
    assert answer["result"]["content"] == [{"type": "text", "text": "A"}]


def test_a_callback_that_fails_is_logged_and_the_answer_stands(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_: Request[Any]) -> None:
        raise ValueError("oops")

    async def broken(request: Request[Any], call_next: CallNext[Any]) -> Any:
        request.add_done_callback(fail)
        return await call_next(request)

    caplog.set_level(logging.ERROR)
    assert "result" in talk(broken, method="tools/list")
    assert "a middleware failed after tools/list" in caplog.text


def test_a_hook_that_fails_after_a_session_does_not_keep_it_from_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Sessions(Middleware):
        def __init__(self, error: Exception | None = None) -> None:
            self.error = error
            self.ended: list[tuple[str, str]] = []

        def session_ended(self, revision: str, transport: str, duration: float) -> None:
            assert duration > 0
            self.ended.append((revision, transport))
            if self.error is not None:
                raise self.error

    async def play() -> None:
        server = make_server()
        await server.start()
        line = server.connect(lambda _: None, guard=Guard(middleware=middleware))
        client = {"name": "c", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        line.receive(json.dumps(message).encode())
        await line.close()

    caplog.set_level(logging.ERROR)
    middleware = [Sessions(ValueError("oops")), Sessions()]
    run(play())
    assert [each.ended for each in middleware] == [[("2025-06-18", "stdio")]] * 2
    assert "a middleware failed after a session" in caplog.text


@KINDS
def test_a_call_that_is_withdrawn_is_over_as_well(kind: type[Notebook]) -> None:
    async def play() -> None:
        server = Server("s")
        began = asyncio.Event()

        @server.tool
        async def forever() -> str:
            began.set()
            await asyncio.Event().wait()
            return ""

        await server.start()
        notebook = kind()
        line = server.connect(lambda message: None, guard=Guard(middleware=[notebook]))
        params = {"name": "forever", "arguments": {}, "_meta": META}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        line.receive(json.dumps(message).encode())
        await began.wait()
        await line.close()
        assert notebook.told == ["before", "cancelled"]

    run(play())


def test_a_call_withdrawn_while_a_hook_waits_is_told_to_those_before_it() -> None:
    async def play() -> None:
        waiting = asyncio.Event()

        async def stuck(request: Request[Any], call_next: CallNext[Any]) -> Any:
            waiting.set()
            await asyncio.Event().wait()

        server = make_server()
        await server.start()
        outer = Notebook()
        line = server.connect(lambda message: None, guard=Guard(middleware=[outer, stuck]))
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
        line.receive(json.dumps(message).encode())
        await waiting.wait()
        await line.close()
        assert outer.told == ["before", "cancelled"]

    run(play())


def test_a_question_to_the_user_is_no_failure() -> None:
    async def play() -> None:
        @dataclass
        class Answer:
            name: str

        server = Server("s")

        @server.tool
        async def greet(ctx: Context) -> str:
            return str(await ctx.elicit("Who?", Answer))

        await server.start()
        notebook = Notebook()
        answers: asyncio.Queue[bytes] = asyncio.Queue()
        line = server.connect(answers.put_nowait, guard=Guard(middleware=[notebook]))
        capable = {**META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        params = {"name": "greet", "arguments": {}, "_meta": capable}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        line.receive(json.dumps(message).encode())
        answer = json.loads(await answers.get())
        assert answer["result"]["resultType"] == "input_required"
        assert notebook.told == ["before", "ok"]
        await line.close()

    run(play())


def test_an_answer_that_nobody_wants_any_more_is_a_cancelled_call() -> None:
    async def play() -> None:
        server = Server("s")
        began = asyncio.Event()

        @server.tool
        async def stubborn() -> str:
            began.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            return "done all the same"

        await server.start()
        notebook = Notebook()
        line = server.connect(lambda message: None, guard=Guard(middleware=[notebook]))
        params = {"name": "stubborn", "arguments": {}, "_meta": META}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        line.receive(json.dumps(message).encode())
        await began.wait()
        withdrawn = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        withdrawn["params"] = {"requestId": 1}  # type: ignore[assignment]
        line.receive(json.dumps(withdrawn).encode())
        while len(notebook.told) < 2:
            await asyncio.sleep(0)
        assert notebook.told == ["before", "cancelled"]
        await line.close()

    run(play())


def test_a_middleware_knows_whether_the_revision_has_the_method() -> None:
    notebook = Notebook()
    for method, is_known in (("tools/list", True), ("tools/x", False)):
        talk(notebook, method=method)
        assert notebook.seen is not None
        assert (notebook.seen.method, notebook.seen.has_known_method) == (method, is_known)

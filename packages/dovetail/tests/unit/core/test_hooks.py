"""What stands around a call: told before, told once at the end, able to refuse."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

import pytest

from dovetail import Context, Server, ToolError, ToolResult
from dovetail.core.hooks import Hook, HookedCall
from dovetail.core.principal import Principal
from dovetail.errors import InvalidParamsError, RpcError
from dovetail.guard import Guard
from tests.unit.fakes import make_call
from tests.unit.talk import run

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Notebook(Hook):
    """Writes down what it is told."""

    def __init__(self, name: str = "hook", refuse: Exception | None = None) -> None:
        self.name = name
        self.refuse = refuse
        self.told: list[Any] = []
        self.seen: HookedCall | None = None

    def before(self, call: HookedCall) -> Awaitable[None] | None:
        self.told.append("before")
        self.seen = call
        if self.refuse is not None:
            raise self.refuse
        return None

    def after(self, call: HookedCall) -> None:
        self.told.append(call.outcome)


class Slow(Notebook):
    """Waits a turn before it decides."""

    async def _wait(self, call: HookedCall) -> None:
        await asyncio.sleep(0)
        super().before(call)

    def before(self, call: HookedCall) -> Awaitable[None] | None:
        return self._wait(call)


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


def talk(*hooks: Hook, method: str = "tools/call", **params: Any) -> Any:
    """One request through a connection with these hooks."""
    return talk_to(make_server(), *hooks, method=method, **params)


def talk_to(server: Server, *hooks: Hook, method: str = "tools/call", **params: Any) -> Any:
    """One request to a server through a connection with these hooks."""

    async def play() -> Any:
        await server.start()
        answers: asyncio.Queue[bytes] = asyncio.Queue()
        guard = Guard(hooks=hooks)
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
def test_a_hook_is_told_before_and_how_it_ended(
    name: str, arguments: dict[str, Any], outcome: str
) -> None:
    hook = Notebook()
    talk(hook, name=name, arguments=arguments)
    assert hook.told == ["before", outcome]
    assert hook.seen is not None
    assert hook.seen.has_known_target is (name != "absent")


def test_what_a_hook_can_know() -> None:
    hook = Notebook()
    answer = talk(hook, name="echo", arguments={"text": "a"})
    call = hook.seen
    assert call is not None
    assert (call.method, call.name, call.transport) == ("tools/call", "echo", "stdio")
    assert (call.revision, call.request_id) == ("2026-07-28", 7)
    assert call.principal == Principal("anna")
    assert call.raw_arguments == b'{"text": "a"}'
    assert call.meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert call.scope is None
    assert call.size >= len(answer["result"])
    assert call.duration > 0
    assert call.code is None
    call.notes[hook] = 1
    assert call.notes == {hook: 1}


def test_a_method_without_a_name_or_arguments_has_none() -> None:
    hook = Notebook()
    talk(hook, method="tools/list")
    assert hook.seen is not None
    assert (hook.seen.name, hook.seen.raw_arguments) == (None, b"")
    talk(hook, method="no/such")
    assert (hook.seen.name, hook.seen.code) == (None, -32601)


@pytest.mark.parametrize("kind", [Notebook, Slow])
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
    for hook in (first, slow, last):
        assert hook.told == ["before", "ok"]


def test_the_ends_are_told_from_inside_out() -> None:
    told: list[str] = []

    class Named(Hook):
        def __init__(self, name: str) -> None:
            self.name = name

        def after(self, call: HookedCall) -> None:
            told.append(self.name)

    talk(Named("a"), Named("b"), method="tools/list")
    assert told == ["b", "a"]


def test_errors_can_be_told_apart() -> None:
    class Failures(Hook):
        error: Exception | None = None

        def after(self, call: HookedCall) -> None:
            raise AssertionError("it failed")

        def failed(self, call: HookedCall, error: Exception) -> None:
            self.error = error

    hook = Failures()
    talk(hook, name="crash", arguments={})
    assert isinstance(hook.error, ValueError)


def test_a_hook_that_fails_at_the_end_is_logged_and_the_answer_stands(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Hook):
        def after(self, call: HookedCall) -> None:
            raise ValueError("oops")

    caplog.set_level(logging.ERROR)
    assert "result" in talk(Broken(), method="tools/list")
    assert "a hook failed after tools/list" in caplog.text


def test_a_hook_that_fails_after_a_session_does_not_keep_it_from_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Sessions(Hook):
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
        line = server.connect(lambda _: None, guard=Guard(hooks=hooks))
        client = {"name": "c", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        line.receive(json.dumps(message).encode())
        await line.close()

    caplog.set_level(logging.ERROR)
    hooks = [Sessions(ValueError("oops")), Sessions()]
    run(play())
    assert [hook.ended for hook in hooks] == [[("2025-06-18", "stdio")]] * 2
    assert "a hook failed after a session" in caplog.text


@pytest.mark.parametrize("kind", [Notebook, Slow])
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
        hook = kind()
        line = server.connect(lambda message: None, guard=Guard(hooks=[hook]))
        params = {"name": "forever", "arguments": {}, "_meta": META}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        line.receive(json.dumps(message).encode())
        await began.wait()
        await line.close()
        assert hook.told == ["before", "cancelled"]

    run(play())


def test_a_call_withdrawn_while_a_hook_waits_is_told_to_those_before_it() -> None:
    async def play() -> None:
        waiting = asyncio.Event()

        class Stuck(Hook):
            async def _wait(self) -> None:
                waiting.set()
                await asyncio.Event().wait()

            def before(self, call: HookedCall) -> Awaitable[None] | None:
                return self._wait()

        server = make_server()
        await server.start()
        outer = Notebook()
        line = server.connect(lambda message: None, guard=Guard(hooks=[outer, Stuck()]))
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
        hook = Notebook()
        answers: asyncio.Queue[bytes] = asyncio.Queue()
        line = server.connect(answers.put_nowait, guard=Guard(hooks=[hook]))
        capable = {**META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        params = {"name": "greet", "arguments": {}, "_meta": capable}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        line.receive(json.dumps(message).encode())
        answer = json.loads(await answers.get())
        assert answer["result"]["resultType"] == "input_required"
        assert hook.told == ["before", "ok"]
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
        hook = Notebook()
        line = server.connect(lambda message: None, guard=Guard(hooks=[hook]))
        params = {"name": "stubborn", "arguments": {}, "_meta": META}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        line.receive(json.dumps(message).encode())
        await began.wait()
        withdrawn = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        withdrawn["params"] = {"requestId": 1}  # type: ignore[assignment]
        line.receive(json.dumps(withdrawn).encode())
        while len(hook.told) < 2:
            await asyncio.sleep(0)
        assert hook.told == ["before", "cancelled"]
        await line.close()

    run(play())


def test_a_hook_is_told_whether_the_revision_has_the_method() -> None:
    known, invented = (HookedCall(make_call(name), "stdio") for name in ("tools/call", "tools/x"))
    assert (known.method, known.has_known_method) == ("tools/call", True)
    assert (invented.method, invented.has_known_method) == ("tools/x", False)

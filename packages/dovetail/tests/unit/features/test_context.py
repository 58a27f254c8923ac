"""`ctx`: who asks, and telling them things from async functions and from threads."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from dovetail import Client, Context, Options, ResourceNotFoundError, Server, current_context
from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.spec import keys
from tests.patience import CAP
from tests.unit.talk import (
    ERAS,
    FIRST_FORMS,
    LEGACY,
    MODERN,
    OLDEST,
    Wire,
    answer,
    call,
    run,
    text_of,
    turn,
)

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize("revision", ERAS)
def test_a_handler_knows_who_asks_and_how(revision: str) -> None:
    seen: dict[str, Any] = {}

    @asynccontextmanager
    async def lifespan(server: Server) -> Any:
        yield {"db": server.name}

    async def scenario() -> None:
        server = Server("s", lifespan=lifespan)

        @server.tool
        async def look(ctx: Context) -> str:
            client = ctx.client
            seen.update(
                client=(client.name, client.title, client.version),
                capabilities=client.capabilities,
                revision=ctx.revision,
                id=ctx.request_id,
                trace=ctx.meta.get("traceparent"),
                lifespan=ctx.lifespan,
                cancelled=ctx.cancelled,
            )
            return "ok"

        wire = await Wire(server, revision, {"roots": {}}).open()
        await wire.call("look", meta={"traceparent": TRACE}, id="a-1")
        await wire.connection.close()
        await server.close()

    run(scenario())
    assert seen == {
        "client": ("tester", "Tester" if revision == LEGACY else None, "1"),
        "capabilities": {"roots": {}},
        "revision": revision,
        "id": "a-1",
        "trace": TRACE,
        "lifespan": {"db": "s"},
        "cancelled": False,
    }


@pytest.mark.parametrize("revision", ERAS)
def test_scope_and_principal_are_the_callers(revision: str) -> None:
    server = Server("s")
    scope = object()
    seen: list[Any] = []

    @server.tool
    def look(ctx: Context) -> str:
        seen.append((ctx.scope, ctx.principal, ctx.meta.get("k")))
        return "ok"

    call(server, "look", revision=revision, scope=scope, principal="alice", meta={"k": 1})
    call(server, "look", revision=revision)
    assert seen == [(scope, Principal("alice"), 1), (None, None, None)]


def test_a_client_that_says_nothing_of_itself_is_nobody() -> None:
    server = Server("s")
    seen: list[Any] = []

    @server.tool
    def look(ctx: Context) -> str:
        seen.append((ctx.client.name, ctx.client.title, ctx.client.version, ctx.lifespan))
        return "ok"

    call(server, "look")
    assert seen == [(None, None, None, None)]


def speaking_server(style: str) -> Server:
    """A tool that tells progress and log messages in turn."""
    server = Server("s")

    def say(ctx: Context) -> None:
        for step in range(1, 4):
            ctx.progress(step, 3, f"step {step}")
            ctx.log.info(f"line {step}")

    async def work(ctx: Context) -> str:
        await ctx.progress(0.5)
        await ctx.log.info("line 0")
        say(ctx)
        return "done"

    def work_in_a_thread(ctx: Context) -> str:
        ctx.progress(0.5)
        ctx.log.info("line 0")
        say(ctx)
        return "done"

    if style == "async":
        server.tools.add(work)
    else:
        server.tools.add(work_in_a_thread, name="work", blocking=style == "thread")
    return server


@pytest.mark.parametrize("style", ["async", "thread", "inline"])
@pytest.mark.parametrize("revision", ERAS)
def test_what_is_told_comes_in_order_and_before_the_answer(style: str, revision: str) -> None:
    async def scenario() -> list[Any]:
        wire = await Wire(speaking_server(style), revision).open()
        wire.sent.clear()
        await wire.call("work", meta={"progressToken": "t", keys.LOG_LEVEL: "info"}, id=7)
        await turn()
        await wire.connection.close()
        return wire.sent

    sent = run(scenario())
    told = [
        message.get("params", {}).get("progress", message.get("params", {}).get("data"))
        for message in sent[:-1]
    ]
    assert told == [0.5, "line 0", 1, "line 1", 2, "line 2", 3, "line 3"]
    assert sent[-1]["id"] == 7


@pytest.mark.parametrize("style", ["async", "thread", "inline"])
@pytest.mark.parametrize("plain", [True, False])
def test_handle_sends_what_is_told_in_order(style: str, plain: bool) -> None:
    sent: list[Any] = []

    async def send_slowly(message: bytes) -> None:
        await asyncio.sleep(0)
        sent.append(json.loads(message))

    def send(message: bytes) -> None:
        sent.append(json.loads(message))

    call(
        speaking_server(style),
        "work",
        send=send if plain else send_slowly,
        meta={"progressToken": 5},
    )
    assert [message["method"].split("/")[1] for message in sent] == ["progress", "message"] * 4
    assert sent[-2]["params"] == {
        "progressToken": 5,
        "progress": 3,
        "total": 3,
        "message": "step 3",
    }


def test_nothing_is_told_after_the_answer() -> None:
    async def scenario() -> None:
        server = Server("s")
        kept: list[Context] = []

        @server.tool
        async def keep(ctx: Context) -> str:
            kept.append(ctx)
            return "ok"

        wire = await Wire(server).open()
        await wire.call("keep", meta={"progressToken": 1})
        before = len(wire.sent)
        kept[0].progress(1)
        kept[0].log.error("too late")
        await turn()
        assert len(wire.sent) == before
        await wire.connection.close()

    run(scenario())


def test_a_thread_sees_that_its_call_was_cancelled() -> None:
    async def scenario() -> None:
        server = Server("s")
        started, seen = threading.Event(), threading.Event()

        @server.tool
        def wait(ctx: Context) -> str:
            started.set()
            while not ctx.cancelled:
                threading.Event().wait(0.001)
            ctx.progress(1)
            seen.set()
            return "nobody reads this"

        wire = await Wire(server).open()
        id = wire.put_call("wait", meta={"progressToken": 1})
        await asyncio.to_thread(started.wait, CAP)
        wire.sent.clear()
        wire.tell("notifications/cancelled", {"requestId": id})
        assert await asyncio.to_thread(seen.wait, CAP)
        await turn()
        assert wire.sent == []
        await wire.connection.close()

    run(scenario())


# -- resources ----------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ERAS)
def test_a_handler_reads_resources_even_when_it_holds_the_last_slot(revision: str) -> None:
    server = Server("s", options=Options(concurrency=1))

    @server.resource("n://thread")
    def in_thread() -> str:
        return "T"

    @server.resource("n://{name}")
    async def in_loop(name: str, ctx: Context) -> str:
        return f"{name} for {ctx.request_id}"

    @server.tool
    async def read(ctx: Context) -> str:
        found = await asyncio.gather(ctx.read_resource("n://thread"), ctx.read_resource("n://x"))
        return " ".join(getattr(contents[0], "text", "?") for contents in found)

    assert text_of(call(server, "read", revision=revision)) == "T x for 1"


def test_after_reading_a_resource_the_handler_can_still_ask() -> None:
    server = Server("s")

    @server.resource("n://a")
    def a() -> str:
        return "A"

    @server.tool
    async def read(ctx: Context) -> str:
        await ctx.read_resource("n://a")
        return (await ctx.elicit("Go?", {"type": "object", "properties": {}})).action

    result = call(server, "read", revision=MODERN, capabilities={"elicitation": {}})
    assert list(result["inputRequests"]) == ["elicit-1"]


def test_a_resource_that_is_not_there_is_the_handlers_to_deal_with() -> None:
    server = Server("s")

    @server.tool
    async def read(ctx: Context) -> str:
        try:
            await ctx.read_resource("n://missing")
        except ResourceNotFoundError as error:
            return error.message
        return "?"

    assert "n://missing" in text_of(call(server, "read"))


@pytest.mark.parametrize("style", ["async", "thread"])
def test_a_handler_tells_whoever_watches_a_resource(style: str) -> None:
    async def scenario() -> None:
        server = Server("s")

        @server.resource("n://a")
        def a() -> str:
            return "A"

        async def touch(ctx: Context) -> str:
            ctx.resource_updated("n://a")
            ctx.resource_updated("n://b")
            return "ok"

        def touch_in_a_thread(ctx: Context) -> str:
            ctx.resource_updated("n://a")
            return "ok"

        server.tools.add(touch if style == "async" else touch_in_a_thread, name="touch")
        wire = await Wire(server).open()
        await wire.ask("resources/subscribe", {"uri": "n://a"})
        await wire.call("touch")
        heard = await wire.until(lambda m: m.get("method") == "notifications/resources/updated")
        assert heard["params"] == {"uri": "n://a"}
        await turn()
        assert len(wire.heard("notifications/resources/updated")) == 1
        await wire.connection.close()

    run(scenario())


# -- once ---------------------------------------------------------------------------------------


@dataclass
class Order:
    id: int
    items: tuple[str, ...] = ()


@pytest.mark.parametrize("revision", ERAS)
def test_once_gives_what_came_through_json(revision: str) -> None:
    server = Server("s")
    seen: list[Any] = []

    @server.tool
    async def order(ctx: Context) -> str:
        async def place() -> Order:
            return Order(1, ("a",))

        seen.append(await ctx.once("plain", lambda: Order(1, ("a",))))
        seen.append(await ctx.once("typed", place, Order))
        seen.append(await ctx.once("typed", lambda: Order(2), Order))
        return "ok"

    call(server, "order", revision=revision)
    assert seen == [{"id": 1, "items": ["a"]}, Order(1, ("a",)), Order(1, ("a",))]


def test_once_runs_once_however_often_the_handler_runs() -> None:
    server = Server("s")
    effects: list[int] = []

    @server.tool
    async def order(ctx: Context) -> str:
        def effect() -> int:
            effects.append(1)
            return 42

        number = await ctx.once("number", effect, int)
        answer = await ctx.elicit("Sure?", {"type": "object", "properties": {}}, key="sure")
        return f"{number} {answer.action}"

    how: dict[str, Any] = {"revision": MODERN, "capabilities": {"elicitation": {}}}
    first = run(answer(server, "tools/call", {"name": "order"}, **how))["result"]
    assert first["resultType"] == "input_required"
    again = {
        "name": "order",
        "requestState": first["requestState"],
        "inputResponses": {"sure": {"action": "decline"}},
    }
    second = run(answer(server, "tools/call", again, **how))["result"]
    assert text_of(second) == "42 decline"
    assert effects == [1]


def test_once_needs_a_value_that_can_be_kept(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("s")
    busy: list[dict[str, None]] = []

    @server.tool
    async def order(ctx: Context) -> str:
        with pytest.raises(UsageError, match=r"the value of once\('k'\) .* must be JSON"):
            await ctx.once("k", object)
        with pytest.raises(ZeroDivisionError):
            await ctx.once("k", lambda: 1 // 0)
        busy.append(ctx._call.record.busy)
        return "ok"

    assert text_of(call(server, "order")) == "ok", caplog.text
    assert busy == [{}]


# -- asking ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("revision", "ask", "needed"),
    [
        (LEGACY, "elicit", "elicitation (form)"),
        (FIRST_FORMS, "url", "elicitation (url)"),
        (OLDEST, "elicit", "elicitation (form)"),
        (LEGACY, "sample", "sampling"),
        (LEGACY, "roots", "roots"),
    ],
)
def test_what_a_legacy_client_has_not_declared_is_a_text_for_the_model(
    revision: str, ask: str, needed: str
) -> None:
    result = call(asking_server(), ask, revision=revision)
    assert result["isError"] is True
    # Without a session nobody knows what the client has declared.
    assert text_of(result) == (
        f"This needs a client that supports {needed} and a session to ask it in; this server keeps "
        "no sessions."
    )


@pytest.mark.parametrize(
    ("ask", "needed"),
    [
        ("elicit", {"elicitation": {"form": {}}}),
        ("url", {"elicitation": {"url": {}}}),
        ("sample", {"sampling": {}}),
        ("roots", {"roots": {}}),
    ],
)
def test_what_a_modern_client_has_not_declared_is_an_error_of_its_own(
    ask: str, needed: dict[str, Any]
) -> None:
    error = run(answer(asking_server(), "tools/call", {"name": ask}, revision=MODERN))["error"]
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": needed}


def asking_server() -> Server:
    server = Server("s")

    @server.tool
    async def elicit(ctx: Context) -> str:
        return (await ctx.elicit("?", {"type": "object", "properties": {}})).action

    @server.tool
    async def url(ctx: Context) -> str:
        return (await ctx.elicit("?", url="https://example.com/")).action

    @server.tool
    async def sample(ctx: Context) -> str:
        return (await ctx.sample("hi")).text

    @server.tool
    async def roots(ctx: Context) -> str:
        return ",".join(root.uri for root in await ctx.roots())

    return server


def test_every_ask_reaches_a_client_that_declared_it_and_comes_back() -> None:
    async def scenario() -> None:
        capabilities: dict[str, Any] = {
            "elicitation": {"form": {}, "url": {}},
            "sampling": {},
            "roots": {},
        }
        wire = await Wire(asking_server(), LEGACY, capabilities).open()
        for tool, method, reply, text in (
            ("elicit", "elicitation/create", {"action": "accept", "content": {}}, "accept"),
            ("url", "elicitation/create", {"action": "cancel"}, "cancel"),
            (
                "sample",
                "sampling/createMessage",
                {"role": "assistant", "content": {"type": "text", "text": "yo"}, "model": "m"},
                "yo",
            ),
            ("roots", "roots/list", {"roots": [{"uri": "file:///a"}]}, "file:///a"),
        ):
            id = wire.put_call(tool)
            question = await wire.asked(method)
            wire.reply(question["id"], reply)
            assert text_of((await wire.response(id))["result"]) == text
        await wire.connection.close()

    run(scenario())


def test_a_handler_cannot_change_what_other_requests_have_declared() -> None:
    server = Server("s")

    @server.tool
    async def claim(ctx: Context) -> str:
        before = sorted(ctx.client.capabilities)
        ctx.client.capabilities["sampling"] = {}
        return str(before)

    # Equal requests are admitted once and remembered, whoever sends them.
    assert [text_of(call(server, "claim", revision=MODERN)) for _ in range(2)] == ["[]", "[]"]


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("method", ["elicit", "sample", "roots", "once", "read_resource"])
def test_a_plain_function_cannot_call_what_has_to_be_awaited(
    method: str, blocking: bool, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("s")

    @server.tool(blocking=blocking)
    def search(ctx: Context) -> str:
        getattr(ctx, method)("x", "y")
        return "done"

    assert call(server, "search")["isError"]
    assert (
        f"is a plain def and calls ctx.{method}(), which has to be awaited; make it async def "
        f"and await ctx.{method}(...)"
    ) in caplog.text
    assert "UsageError: tool 'search' (test_context.py:" in caplog.text


def test_a_plain_function_can_use_everything_else() -> None:
    server = Server("s")

    @server.tool
    def search(ctx: Context) -> str:
        ctx.progress(1)
        ctx.log.info("x")
        ctx.resource_updated("notes://a")
        return f"{ctx.cancelled} {ctx.lifespan} {isinstance(ctx, Context)}"

    assert text_of(call(server, "search")) == "False None True"


def test_the_type_of_the_lifespan_can_be_named() -> None:
    class Database:
        name = "main"

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[Database]:
        yield Database()

    server = Server("s", lifespan=lifespan)

    @server.tool
    async def search(ctx: Context[Database]) -> str:
        return ctx.lifespan.name

    assert text_of(call(server, "search")) == "main"


# -- current_context --------------------------------------------------------------------------

CURRENT = Options(current_context=True)


def who() -> str:
    return f"{current_context().client.name} {current_context().request_id}"


async def who_later() -> list[str]:
    """The caller, found in every way that a helper may run."""
    before = who()
    await asyncio.sleep(0)
    in_task = asyncio.create_task(who_at_once())
    return [before, who(), await in_task, await asyncio.to_thread(who)]


async def who_at_once() -> str:
    return who()


@pytest.mark.parametrize("revision", ERAS)
def test_a_helper_finds_the_context_of_every_kind_of_handler(revision: str) -> None:
    server = Server("s", options=CURRENT)

    @server.tool
    async def in_async() -> str:
        return "\n".join(await who_later())

    @server.tool
    def in_thread() -> str:
        return who()

    @server.tool(blocking=False)
    def inline() -> str:
        return who()

    @server.prompt
    def prompt(x: str = "") -> str:
        return who()

    @server.resource("n://a")
    async def resource() -> str:
        await asyncio.sleep(0)
        return who()

    @server.resource("n://{x}/b")
    def template(x: str) -> str:
        return who()

    @server.complete(prompt, "x")
    def completer(typed: str) -> list[str]:
        return [who()]

    async def scenario() -> list[str]:
        async with Client(server, mode=revision, name="me") as client:
            found = []
            for tool in ("in_async", "in_thread", "inline"):
                found += (await client.call(tool)).text.splitlines()
            [message] = (await client.get_prompt("prompt")).messages
            found.append(message.content.text)  # type: ignore[union-attr]
            found.append((await client.read("n://a")).text)
            found.append((await client.read("n://x/b")).text)
            return [*found, *(await client.complete("prompt", "x")).values]

    found = run(scenario())
    assert {each.split()[0] for each in found} == {"me"}
    ids = [int(each.split()[1]) for each in found]
    assert ids == [ids[0]] * 4 + [ids[0] + step for step in range(1, 7)]


def test_calls_at_the_same_time_have_their_own_contexts() -> None:
    server = Server("s", options=CURRENT)
    ready = asyncio.Barrier(3)

    @server.tool
    async def meet() -> bool:
        before = current_context().request_id
        await ready.wait()
        await asyncio.sleep(0)
        return before == current_context().request_id

    async def scenario() -> list[Any]:
        async with Client(server) as client:
            return [r.data for r in await asyncio.gather(*(client.call("meet") for _ in range(3)))]

    assert run(scenario()) == [True] * 3


def test_progress_through_both_contexts_only_increases() -> None:
    server = Server("s", options=CURRENT)

    @server.tool
    async def work(ctx: Context) -> str:
        ctx.progress(1)
        current_context().progress(2)
        current_context().progress(1.5)
        ctx.progress(1.7)
        ctx.progress(3)
        return "done"

    async def scenario() -> list[float]:
        seen: list[float] = []
        async with Client(server) as client:
            await client.call("work", progress=lambda p: seen.append(p.progress))
        return seen

    assert run(scenario()) == [1, 2, 3]


def test_outside_of_a_handler_there_is_no_context() -> None:
    server = Server("s", options=CURRENT)
    left: list[asyncio.Task[str]] = []

    @server.tool
    async def quick() -> str:
        left.append(asyncio.create_task(who_at_once()))
        return "done"

    @server.tool
    async def slow() -> str:
        await asyncio.sleep(0)
        return "done"

    async def scenario() -> None:
        for tool in ("quick", "slow"):
            # In this very task, so it must not see the context of the call either.
            await answer(server, "tools/call", {"name": tool})
            with pytest.raises(UsageError, match=r"current_context\(\) was called outside of"):
                current_context()
        with pytest.raises(UsageError, match="outside of a handler"):
            await left[0]

    run(scenario())


@pytest.mark.parametrize("inner_tool", ["at_once", "later", "too_slow"])
def test_a_handler_that_calls_another_server_gets_its_own_context_back(inner_tool: str) -> None:
    inner, outer = Server("inner", options=CURRENT), Server("outer", options=CURRENT)

    @inner.tool
    async def at_once() -> str:
        return str(current_context().scope)

    @inner.tool
    async def later() -> str:
        await asyncio.sleep(0)
        return str(current_context().scope)

    @inner.tool(timeout=0.001)
    async def too_slow() -> str:
        await asyncio.Event().wait()
        return "never"

    @outer.tool
    async def relay(tool: str) -> list[str]:
        found = []
        for _ in range(2):
            result = await answer(inner, "tools/call", {"name": tool}, scope="inner")
            found += [text_of(result["result"]), str(current_context().scope)]
        return found

    said = call(outer, "relay", {"tool": inner_tool}, scope="outer")["structuredContent"]["result"]
    assert said[1] == said[3] == "outer"
    assert said[0].startswith("Timed out" if inner_tool == "too_slow" else "inner")


@pytest.mark.parametrize("blocking", [True, False])
def test_a_resource_that_a_handler_reads_has_a_context_of_its_own_kind(
    blocking: bool, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("s", options=CURRENT)

    @server.resource("n://a", blocking=blocking)
    def plain() -> str:
        try:
            current_context().sample("hello")  # type: ignore[unused-coroutine]
        except UsageError as error:
            return str(error)
        return "no error"

    @server.tool
    async def read() -> str:
        [contents] = await current_context().read_resource("n://a")
        await current_context().once("k", lambda: 1)
        return contents.text  # type: ignore[union-attr]

    text = text_of(call(server, "read"))
    assert text.startswith("resource 'plain' (test_context.py:")
    assert "is a plain def and calls ctx.sample(), which has to be awaited" in text


def test_a_thread_that_was_given_up_sees_that_in_its_context() -> None:
    server = Server("s", options=CURRENT)
    stopped = threading.Event()

    @server.tool(timeout=0.001)
    def work() -> str:
        while not current_context().cancelled:
            stopped.wait(0.001)
        stopped.set()
        return "nobody reads this"

    assert "Timed out" in text_of(call(server, "work"))
    assert stopped.wait(CAP)


def test_a_task_and_its_questions_find_the_context() -> None:
    server = Server("s", options=Options(state="memory://", current_context=True))

    async def first(ctx: Context) -> None:
        assert current_context().meta == ctx.meta

    @server.tool(task="optional", before_task=first)
    async def work() -> str:
        return "\n".join(await who_later())

    async def scenario() -> list[str]:
        async with Client(server, name="me", mode=LEGACY) as client:
            task = await client.start("work")
            results = [await task.result(), await client.call("work")]
            return [line for result in results for line in result.text.splitlines()]

    found = run(scenario())
    assert [each.split()[0] for each in found] == ["me"] * 8
    run(server.close())


@pytest.mark.parametrize("tracks", [True, False])
def test_logging_is_declared_if_helpers_can_get_a_context(tracks: bool) -> None:
    server = Server("s", options=Options(current_context=tracks))

    @server.tool
    def plain() -> str:
        return ""

    assert ("logging" in server.capabilities()) is tracks


def test_without_the_option_there_is_no_context_and_the_error_names_it() -> None:
    server = Server("s")

    @server.tool
    def helped() -> str:
        with pytest.raises(UsageError, match=r"Options\(current_context=True\)"):
            current_context()
        return "done"

    assert text_of(call(server, "helped")) == "done"


def test_a_mounted_server_decides_for_its_own_handlers() -> None:
    inner, outer = Server("inner", options=CURRENT), Server("outer")

    @inner.tool
    async def find() -> str:
        return who()

    outer.mount(inner, "inner")
    assert text_of(call(outer, "inner_find")).split()[1]

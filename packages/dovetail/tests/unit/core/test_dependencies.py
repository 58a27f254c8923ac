"""Dependencies of handlers: opened before the call, closed after it, hidden from the schema."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any

import pydantic
import pytest

from dovetail import Context, Depends, Server, ToolError, UsageError
from dovetail.client import Client
from dovetail.extensions import Extension, method
from dovetail.testing import connect


class Database:
    """Records what happens to it."""

    def __init__(self, events: list[str]) -> None:
        self.events = events


EVENTS: list[str] = []


@pytest.fixture(autouse=True)
def forget() -> None:
    EVENTS.clear()


async def settings() -> str:
    EVENTS.append("settings")
    return "production"


async def open_database(name: Annotated[str, Depends(settings)]) -> AsyncIterator[Database]:
    EVENTS.append(f"open {name}")
    try:
        yield Database(EVENTS)
    except ToolError as error:
        EVENTS.append(f"roll back: {error}")
        raise
    finally:
        EVENTS.append("close")


def user(ctx: Context) -> str:
    EVENTS.append(f"thread {threading.current_thread() is not threading.main_thread()}")
    return ctx.principal.id if ctx.principal is not None else "nobody"


def use(server: Server, script: Callable[[Client], Awaitable[None]], **more: Any) -> None:
    async def run() -> None:
        async with connect(server, **more) as client:
            await script(client)

    asyncio.run(run())


def make_server() -> Server:
    server = Server("shop")

    @server.tool
    async def order(
        item: str,
        db: Database = Depends(open_database),
        mode: str = Depends(settings),
        who: str = Depends(user),
    ) -> str:
        if item == "nothing":
            raise ToolError("choose something")
        db.events.append(f"order {item}")
        return f"{who} ordered {item} in {mode}"

    @server.tool
    def plain(item: str, db: Annotated[Database, Depends(open_database)]) -> str:
        db.events.append(f"plain {threading.current_thread() is not threading.main_thread()}")
        return item

    @server.prompt
    async def greet(name: str, mode: str = Depends(settings)) -> str:
        return f"{name} in {mode}"

    @server.resource("shop://{id}")
    async def show(id: str, mode: str = Depends(settings)) -> str:
        return f"{id} in {mode}"

    return server


@pytest.mark.parametrize("mode", ["2025-11-25", "2026-07-28"])
def test_providers_run_once_per_call_and_are_closed_after_it(mode: str) -> None:
    async def script(client: Client) -> None:
        result = await client.call("order", {"item": "tea"})
        assert result.text == "ada ordered tea in production"

    use(make_server(), script, mode=mode, principal="ada")
    assert EVENTS == ["settings", "open production", "thread True", "order tea", "close"]


def test_a_generator_gets_the_error_of_the_call() -> None:
    async def script(client: Client) -> None:
        assert (await client.call("order", {"item": "nothing"})).text == "choose something"

    use(make_server(), script)
    assert EVENTS[-2:] == ["roll back: choose something", "close"]


def test_a_plain_function_still_runs_in_a_thread() -> None:
    async def script(client: Client) -> None:
        assert (await client.call("plain", {"item": "tea"})).text == "tea"

    use(make_server(), script)
    assert EVENTS == ["settings", "open production", "plain True", "close"]


def test_prompts_and_resources_have_dependencies_too() -> None:
    async def script(client: Client) -> None:
        prompt = await client.get_prompt("greet", {"name": "Ada"})
        assert prompt.messages[0].content.text == "Ada in production"  # type: ignore[union-attr]
        assert (await client.read("shop://7")).text == "7 in production"

    use(make_server(), script)


def test_clients_do_not_see_them_and_cannot_set_them() -> None:
    async def script(client: Client) -> None:
        tools = {each.name: each for each in await client.list_tools()}
        assert list(tools["order"].input_schema["properties"]) == ["item"]
        assert list(tools["plain"].input_schema["properties"]) == ["item"]
        [prompt] = await client.list_prompts()
        assert [each.name for each in prompt.arguments or []] == ["name"]
        result = await client.call("order", {"item": "tea", "who": "eve"})
        assert "eve" not in result.text or result.is_error

    use(make_server(), script)


def test_a_provider_is_replaced_in_tests() -> None:
    server = make_server()
    server.dependency_overrides[settings] = lambda: "testing"

    async def script(client: Client) -> None:
        assert (await client.call("order", {"item": "tea"})).text == "nobody ordered tea in testing"

    use(server, script)
    assert "open testing" in EVENTS


def test_context_managers_and_plain_generators_are_closed() -> None:
    server = Server("managers")

    @contextmanager
    def decorated() -> Iterator[str]:
        yield "decorated"
        EVENTS.append("decorated closed")

    @asynccontextmanager
    async def decorated_async() -> AsyncIterator[str]:
        yield "async"
        EVENTS.append("async closed")

    def generator() -> Iterator[str]:
        try:
            yield "generator"
        finally:
            EVENTS.append("generator closed")

    def inline() -> Iterator[bool]:
        yield threading.current_thread() is threading.main_thread()
        EVENTS.append("inline closed")

    @server.tool
    async def all_of_them(
        a: str = Depends(decorated),
        b: str = Depends(decorated_async),
        c: str = Depends(generator),
        d: bool = Depends(inline, blocking=False),
    ) -> str:
        return f"{a} {b} {c} {d}"

    async def script(client: Client) -> None:
        assert (await client.call("all_of_them")).text == "decorated async generator True"

    use(server, script)
    assert EVENTS == ["inline closed", "generator closed", "async closed", "decorated closed"]


def test_one_that_fails_on_close_fails_its_call_only() -> None:
    server = Server("closing")

    async def broken() -> AsyncIterator[str]:
        yield "value"
        raise OSError("disk full")

    @server.tool
    async def write(to: str = Depends(broken)) -> str:
        return "written"

    @server.tool
    async def read() -> str:
        return "read"

    async def script(client: Client) -> None:
        written, read = await asyncio.gather(client.call("write"), client.call("read"))
        assert written.is_error and "Internal error" in written.text
        assert read.text == "read"

    use(server, script)


def test_a_provider_that_fails_fails_the_call() -> None:
    server = Server("refusing")

    async def subscriber() -> str:
        raise ToolError("subscribe first")

    @server.tool
    async def article(who: str = Depends(subscriber)) -> str:
        return who

    async def script(client: Client) -> None:
        assert (await client.call("article")).text == "subscribe first"

    use(server, script)


def test_a_cancelled_call_closes_its_dependencies() -> None:
    server = Server("waiting")
    started = asyncio.Event()

    async def resource() -> AsyncIterator[str]:
        try:
            yield "value"
        finally:
            EVENTS.append("closed")

    @server.tool
    async def wait(value: str = Depends(resource)) -> str:
        started.set()
        await asyncio.Event().wait()
        return value

    async def script(client: Client) -> None:
        call = asyncio.ensure_future(client.call("wait"))
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await client.list_tools()

    use(server, script)
    assert EVENTS == ["closed"]


def test_a_parameter_that_nothing_fills_is_refused() -> None:
    def needs(name: str) -> str:
        return name

    def complete(typed: str, value: str = Depends(needs)) -> list[str]:
        return [value]

    def resource(value: str = Depends(needs)) -> str:
        return value

    server = Server("s")
    server.prompts.add(lambda topic="": topic, name="p")
    with pytest.raises(UsageError, match=r"dependency 'needs'.* nothing fills .*'name'"):
        server.complete("p", "topic")(complete)
    with pytest.raises(UsageError, match=r"has no variable for parameter 'name'"):
        server.resources.add("a://b", resource)


def test_a_cycle_is_refused() -> None:
    async def even(value: Any = None) -> Any:
        return value

    async def odd(value: Any = Depends(even)) -> Any:
        return value

    even.__defaults__ = (Depends(odd),)

    async def tool(value: Any = Depends(even)) -> str:
        return str(value)

    with pytest.raises(UsageError, match="tool -> even -> odd -> even"):
        Server("x").tools.add(tool)


def test_what_is_not_a_function_is_refused() -> None:
    async def tool(value: str = Depends("text")) -> str:  # type: ignore[arg-type]
        return value

    with pytest.raises(UsageError, match="a dependency is a function, got str"):
        Server("x").tools.add(tool)


def test_a_provider_with_a_context_declares_logging() -> None:
    server = Server("logs")

    async def logger(ctx: Context) -> Any:
        return ctx.log

    @server.tool
    async def tool(log: Any = Depends(logger)) -> str:
        return "done"

    assert "logging" in server.capabilities()


# -- arguments of providers ---------------------------------------------------------------------


class Paging:
    """Which items."""

    def __init__(self, limit: Annotated[int, pydantic.Field(le=10)] = 5, skip: int = 0) -> None:
        """Select.

        Args:
            limit: Not this one.
            skip: After these.
        """
        self.limit = limit
        self.skip = skip


Name = Annotated[str, "The shop"]


async def shop(name: Name, _url: str = "https://x", region=None) -> str:  # type: ignore[no-untyped-def]
    return f"{name} at {_url} in {region}"


async def till(number: int, of: Annotated[str, Depends(shop)], name: Name) -> str:
    """Find a till.

    Args:
        number: Which till.
    """
    return f"till {number} of {of} ({name})"


def test_parameters_of_providers_are_arguments() -> None:
    async def tool(
        item: str, at: Annotated[str, Depends(till)], name: Name, paging: Paging = Depends()
    ) -> str:
        return f"{item} at {at}, {name}, {paging.limit} after {paging.skip}"

    server = Server("s")
    server.tools.add(tool)
    server.tools.add(tool, name="by_hand", input_schema={"type": "object"})
    [listed, _] = server.tools.list()
    properties = listed.input_schema["properties"]
    assert list(properties) == ["item", "name", "number", "limit", "skip"]
    assert (properties["limit"]["default"], properties["limit"]["maximum"]) == (5, 10)
    assert properties["name"]["description"] == "The shop"
    assert properties["number"]["description"] == "Which till."
    assert listed.input_schema["required"] == ["item", "name", "number"]

    async def main() -> None:
        async with connect(server) as client:
            for name in ("tool", "by_hand"):
                given: dict[str, Any] = {"item": "tea", "name": "A", "number": 3, "skip": 1}
                result = await client.call(name, given)
                assert result.text == "tea at till 3 of A at https://x in None (A), A, 5 after 1"
                for wrong in ({"_url": "y"}, {"region": "y"}):
                    assert (await client.call(name, {**given, **wrong})).is_error
                assert (await client.call(name, {"item": "tea", "name": "A"})).is_error
            assert (await client.call("tool", {**given, "limit": 11})).is_error

    asyncio.run(main())


class Numbers(Extension[None]):
    name = "org.example/numbers"

    @method("numbers/page")
    async def page(self, paging: Paging = Depends()) -> dict[str, int]:
        return {"limit": paging.limit, "skip": paging.skip}


def test_prompts_templates_and_methods_have_them_too() -> None:
    server = Server("s", extensions=[Numbers()])

    @server.prompt
    def prompt(paging: Annotated[Paging, Depends()]) -> str:
        return f"{paging.limit} after {paging.skip}"

    @server.resource("pages://{skip}{?limit}")
    def template(paging: Paging = Depends(blocking=False)) -> str:
        return f"{paging.limit} after {paging.skip}"

    async def main() -> None:
        async with Client(server, extensions=[Numbers()]) as client:
            [listed] = await client.list_prompts()
            assert [each.name for each in listed.arguments or ()] == ["limit", "skip"]
            found = await client.get_prompt("prompt", {"skip": "2"})
            assert found.messages[0].content.text == "5 after 2"  # type: ignore[union-attr]
            assert (await client.read("pages://7?limit=3")).text == "3 after 7"
            page = await client.request("numbers/page", {"limit": 1})
            assert (page["limit"], page["skip"]) == (1, 0)

    asyncio.run(main())


def test_an_override_takes_the_arguments_that_there_are() -> None:
    server = Server("s")

    @server.tool
    async def tool(paging: Paging = Depends()) -> int:
        return paging.limit

    def fixed(limit: int) -> Any:
        return Paging(limit * 2)

    def unknown(size: int) -> Any:
        return Paging(size)

    async def main() -> None:
        async with connect(server) as client:
            server.dependency_overrides[Paging] = fixed
            assert (await client.call("tool", {"limit": 4})).data == 8
            server.dependency_overrides[Paging] = unknown
            assert (await client.call("tool", {"limit": 4})).is_error

    asyncio.run(main())


def test_arguments_of_one_name_are_written_alike() -> None:
    def other(name: int) -> int:
        return name

    def tool(at: str = Depends(shop), number: int = Depends(other)) -> None: ...

    with pytest.raises(UsageError, match=r"dependency 'other'.* has a parameter 'name' with anoth"):
        Server("s").tools.add(tool)


def test_depends_without_a_provider_needs_a_class() -> None:
    def tool(a: Any = Depends()) -> None: ...

    with pytest.raises(UsageError, match=r"needs a class as the annotation of 'a'"):
        Server("s").tools.add(tool)

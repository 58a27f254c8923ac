"""Extensions: what is declared, served, added to entries and results, and refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from dovetail import Client, Context, Server, ToolResult, UsageError
from dovetail.core.dispatch import MethodHandler
from dovetail.errors import InvalidParamsError, MethodNotFoundError, RpcError
from dovetail.extensions import Extension, method
from dovetail.middleware import CallNext, CallTool, ReadResource
from dovetail.spec.models import ReadResourceResult, TextContents
from dovetail.spec.revisions import REVISIONS, V2026_07_28
from tests.unit.talk import run

DATES = [revision.date for revision in REVISIONS]
NAME = "com.example/marks"


@dataclass(frozen=True)
class Mark:
    color: str = "red"


class Marks(Extension[Mark]):
    name = NAME
    option = Mark
    notifications = ("notifications/marks/seen",)

    def __init__(self) -> None:
        self.did: list[Any] = []

    def settings(self) -> dict[str, Any]:
        return {"colors": ["red"]}

    def client_settings(self) -> dict[str, Any]:
        return {"size": 2}

    @asynccontextmanager
    async def running(self, server: Server) -> AsyncIterator[None]:
        self.did.append(f"opened {server.name}")
        yield
        self.did.append(f"closed {server.name}")

    def list_entry(self, entry: dict[str, Any], option: Mark) -> None:
        entry["_meta"] = {**entry.get("_meta", {}), NAME: option.color}

    async def call_tool(
        self, request: CallTool, call_next: CallNext[ToolResult], option: Mark
    ) -> ToolResult:
        if option.color == "gold":
            self.require(request)
        result = await call_next(request)
        declared = self.declared(request)
        if declared is not None:
            result.meta = {NAME: [option.color, declared.get("size")]}
        return result

    async def read_resource(
        self, request: ReadResource, call_next: CallNext[ReadResourceResult], option: Mark
    ) -> ReadResourceResult:
        result = await call_next(request)
        if self.declared(request) is not None:
            [contents] = result.contents
            assert isinstance(contents, TextContents)
            contents.text += f" in {option.color}"
        return result

    @method("marks/count")
    async def count(self, colors: list[str], ctx: Context) -> dict[str, int]:
        self.notify(ctx, "notifications/marks/seen", {"colors": len(colors)})
        return {"count": len(colors)}

    @method("marks/forget")
    def forget(self) -> None:
        self.did.append("forgotten")

    @method("marks/break")
    async def crash(self, how: str) -> Any:
        return {"_meta": {}} if how == "meta" else 7

    def notified(self, method: str, params: dict[str, Any]) -> None:
        self.did.append((method, params))


def make_server(marks: Marks) -> Server:
    server = Server("s", extensions=[marks])

    @server.tool(extensions=[Mark("blue")], meta={"own": 1})
    async def paint(what: str, ctx: Context) -> str:
        return f"{what} {sorted(ctx.client_extensions)}"

    @server.tool(extensions=[Mark("gold")])
    async def gild() -> str:
        return "gilded"

    @server.tool
    async def plain() -> str:
        return "plain"

    @server.resource("notes://a", extensions=[Mark()])
    async def note() -> str:
        return "milk"

    @server.resource("notes://b/{x}", extensions=[Mark("green")])
    async def template(x: str) -> str:
        return x

    return server


def with_client(
    server: Server, scenario: Any, date: str, extensions: tuple[Extension[Any], ...] = ()
) -> None:
    async def main() -> None:
        async with Client(server, mode=date, extensions=extensions) as client:
            await scenario(client)
        await server.close()

    run(main())


@pytest.mark.parametrize("date", DATES)
def test_both_sides_use_what_both_declare(date: str) -> None:
    marks = Marks()

    async def scenario(client: Client) -> None:
        assert client.server_extensions == {NAME: {"colors": ["red"]}}
        painted = await client.call("paint", {"what": "wall"})
        assert painted.text == f"wall ['{NAME}']"
        assert painted.meta is not None and painted.meta[NAME] == ["blue", 2]
        assert (await client.call("gild")).text == "gilded"
        assert NAME not in ((await client.call("plain")).meta or {})
        assert (await client.read("notes://a")).text == "milk in red"
        assert (await client.read("notes://b/x")).text == "x in green"
        assert await client.request("marks/count", {"colors": ["a", "b"]}) == (
            await client.request("marks/count", {"colors": ["c", "d"]})
        )
        assert not (await client.request("marks/forget")).keys() - {"resultType", "_meta"}
        with pytest.raises(InvalidParamsError, match="colors"):
            await client.request("marks/count", {"colors": 7})
        for how in ("meta", "number"):
            with pytest.raises(RpcError, match="reference"):
                await client.request("marks/break", {"how": how})

    with_client(make_server(marks), scenario, date, (marks,))
    assert marks.did[0] == "opened s" and marks.did[-1] == "closed s" and "forgotten" in marks.did
    assert ("notifications/marks/seen", {"colors": 2}) in marks.did


@pytest.mark.parametrize("date", DATES)
def test_other_clients_get_what_they_know(date: str) -> None:
    async def scenario(client: Client) -> None:
        painted = await client.call("paint", {"what": "wall"})
        assert painted.text == "wall []" and NAME not in (painted.meta or {})
        assert (await client.read("notes://a")).text == "milk"
        error = MethodNotFoundError if date != V2026_07_28.date else RpcError
        with pytest.raises(error, match=NAME if error is MethodNotFoundError else None) as caught:
            await client.request("marks/count", {"colors": []})
        if date == V2026_07_28.date:
            assert caught.value.code == -32021
            with pytest.raises(RpcError) as caught:
                await client.call("gild")
            assert caught.value.data == {"requiredCapabilities": {"extensions": {NAME: {}}}}
        else:
            gilded = await client.call("gild")
            assert gilded.is_error and NAME in gilded.text

    with_client(make_server(Marks()), scenario, date)


@pytest.mark.parametrize("date", DATES[2:])
def test_entries_of_lists(date: str) -> None:
    async def scenario(client: Client) -> None:
        metas = {tool.name: tool.meta for tool in await client.list_tools()}
        assert metas == {"paint": {"own": 1, NAME: "blue"}, "gild": {NAME: "gold"}, "plain": None}
        assert [each.meta for each in await client.list_resources()] == [{NAME: "red"}]
        assert [each.meta for each in await client.list_templates()] == [{NAME: "green"}]

    server = make_server(Marks())
    with_client(server, scenario, date)
    assert server.tools.list()[0].meta == {"own": 1}


def test_an_extension_for_one_revision() -> None:
    class Late(Marks):
        revisions = (V2026_07_28.date,)

    async def scenario(client: Client) -> None:
        assert client.server_extensions == {}
        assert (await client.call("paint", {"what": "x"})).meta is None
        assert [tool.meta for tool in await client.list_tools()] == [{"own": 1}, None, None]
        with pytest.raises(MethodNotFoundError):
            await client.request("marks/count", {"colors": []})

    late = Late()
    with_client(make_server(late), scenario, "2025-11-25", (late,))


def test_methods_are_those_of_one_server() -> None:
    async def scenario(client: Client) -> None:
        with pytest.raises(MethodNotFoundError, match="does not exist"):
            await client.request("marks/count", {"colors": []})

    make_server(Marks())
    for date in DATES:
        with_client(Server("other"), scenario, date, (Marks(),))


def test_a_mounted_tool_keeps_its_option() -> None:
    outer = Server("outer")
    outer.mount(make_server(Marks()), "in")
    marks = Marks()
    outer.add_extension(marks)

    async def scenario(client: Client) -> None:
        assert (await client.call("in_paint", {"what": "x"})).meta == {NAME: ["blue", 2]}
        assert (await client.read("notes://in/a")).text == "milk in red"
        assert (await client.request("marks/forget")) is not None

    with_client(outer, scenario, "2025-11-25", (marks,))
    assert marks.did[0] == "opened outer"


def test_a_legacy_client_may_declare_extensions_as_a_modern_one() -> None:
    server = make_server(Marks())

    async def scenario() -> None:
        sent: list[bytes] = []
        connection = server.connect(sent.append)
        hello = (
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
            b'"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":'
            b'{"extensions":{"com.example/marks":{},"com.example/odd":7}}}}'
        )
        connection.receive(hello)
        while not sent:
            await asyncio.sleep(0)
        call = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"gild"}}'
        connection.receive(call)
        while len(sent) < 2:
            await asyncio.sleep(0)
        assert b"gilded" in sent[1]
        await connection.close()
        await server.close()

    run(scenario())


class Nameless(Extension[Any]):
    name = "marks"


class Thief(Extension[Any]):
    name = "com.example/thief"

    @method("tools/list")
    async def list(self) -> None:
        """Taken already."""


class Unknown(Extension[Any]):
    name = "com.example/unknown"
    revisions = ("2020-01-01",)


class Twin(Extension[Mark]):
    name = "com.example/twin"
    option = Mark


@pytest.mark.parametrize(
    ("extensions", "problem"),
    [
        ([Nameless()], "reversed, a slash and a name"),
        ([Thief()], "method of the protocol itself"),
        ([Unknown()], "has '2020-01-01'; known: 2024-11-05"),
        ([Marks(), Marks()], "already"),
        ([Marks(), Twin()], "Mark is an option of"),
        ([Marks], "is an instance of Extension"),
    ],
)
def test_what_is_no_extension(extensions: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        Server("s", extensions=extensions)


def test_an_option_needs_its_extension() -> None:
    server = Server("s")
    with pytest.raises(UsageError, match="no extension of the server takes Mark"):
        server.tools.add(lambda: "x", name="x", extensions=[Mark()])
    with pytest.raises(UsageError, match="known are the options Mark"):
        Server("s", extensions=[Marks()]).resources.add(
            "a://b", lambda: "x", name="x", extensions=[7]
        )


def test_a_tool_without_options_runs_as_before() -> None:
    server = make_server(Marks())
    [paint, gild, plain] = server.tools.registry
    assert plain.around is None and plain.change_entry is None
    assert isinstance(server.handlers["tools/call"], MethodHandler)
    assert paint.around is not None and gild.around is not None

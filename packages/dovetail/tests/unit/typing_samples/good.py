"""Correct use of the public API: `mypy --strict` reports nothing. See test_typing.py."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, Unpack, assert_type

from dovetail import (
    Accepted,
    Annotations,
    Cancelled,
    Context,
    Declined,
    Elicited,
    Icon,
    Message,
    Resource,
    ResourcePage,
    Server,
    ToolAnnotations,
    ToolOptions,
    ToolResult,
)
from dovetail.transports import serve_http

F = TypeVar("F", bound=Callable[..., Any])


class Database:
    def query(self, text: str) -> list[str]:
        return [text]


class Replica(Database): ...


@dataclass
class Form:
    name: str


@asynccontextmanager
async def open_database(server: Server) -> AsyncIterator[Database]:
    yield Database()


server = Server("good", lifespan=open_database)


@server.tool
async def bare(text: str) -> str:
    return text


@server.tool("another-name", title="Named", timeout=5, scopes={"read"})
async def named(text: str) -> str:
    return text


@server.tool(
    name="all",
    title="All",
    description="Every keyword.",
    annotations={"readOnlyHint": True, "open_world_hint": False},
    icons=[Icon(src="https://example.org/icon.png")],
    timeout=5.0,
    idle_timeout=1,
    meta={"example.org/key": 1},
    input_schema={"type": "object"},
    output_schema={"type": "object"},
    blocking=None,
    task="optional",
    resumable=True,
    before_task=None,
    scopes=["read", "write"],
)
async def every_keyword(**arguments: Any) -> dict[str, Any]:
    return arguments


@server.tool(annotations=ToolAnnotations(read_only_hint=True), blocking=False)
def plain(ctx: Context) -> ToolResult:
    ctx.progress(1, 2)
    return ToolResult("done", structured={"rows": ctx.lifespan.query("x")})


@server.tool
async def typed_lifespan(ctx: Context[Database]) -> list[str]:
    assert_type(ctx.lifespan, Database)
    return ctx.lifespan.query("select")


@server.tool
async def optional_context(ctx: Context[Database] | None = None) -> str:
    return "with" if ctx else "without"


@server.tool
async def annotated_context(ctx: Annotated[Context[Database], "not an argument"]) -> str:
    return ctx.lifespan.query("x")[0]


@server.tool
async def asking(ctx: Context) -> str:
    answer = await ctx.elicit("Who?", Form)
    assert_type(answer.data, Form | None)
    sampled = await ctx.sample("Say hello", max_tokens=10)
    return answer.data.name if answer.data is not None else sampled.text


@server.tool
async def asking_in_other_ways(ctx: Context) -> str:
    answer: Elicited[Form] = await ctx.elicit("Who?", Form)
    if answer.accepted:
        assert_type(answer.data, Form)
    else:
        assert_type(answer, Declined | Cancelled)
    match answer.action:
        case "accept":
            return answer.data.name
        case "decline":
            assert_type(answer, Declined)
            return "declined"
    if isinstance(answer, Accepted):
        return answer.data.name
    visit = await ctx.elicit("Pay?", url="https://example.org")
    return "paid" if visit.accepted else visit.action


def uses_any_database(ctx: Context[Database]) -> list[str]:
    return ctx.lifespan.query("x")


async def has_a_replica(ctx: Context[Replica]) -> list[str]:
    return uses_any_database(ctx)


# Decorators keep the type of the function.
direct: Callable[[Context[Database]], list[str]] = server.tool(uses_any_database, name="direct")


def audited(**options: Unpack[ToolOptions]) -> Callable[[F], F]:
    return server.tool(**options)


@audited(title="Audited")
async def wrapped(text: str) -> str:
    return text


@server.prompt("greeting", title="Greeting")
def greet(name: str) -> list[Message]:
    return [Message(f"Hello {name}")]


@server.prompt
async def bare_prompt(name: str) -> str:
    return name


@server.resource(
    "notes://{name}",
    mime_type="text/plain",
    annotations={"priority": 0.5, "lastModified": "2025-01-01T00:00:00Z"},
    ttl_ms=1000,
    cache_scope="public",
)
async def note(name: str) -> str:
    return name


@server.resource("notes://index", annotations=Annotations(audience=["user"]), size=10)
def index() -> bytes:
    return b"index"


@server.resource_list(timeout=1)
async def notes(cursor: str | None) -> ResourcePage:
    return ResourcePage([Resource(uri="notes://a", name="a")], cursor)


@server.complete(greet, "name")
async def names(typed: str) -> list[str]:
    return [typed]


server.tools.add(functools.partial(named, text="x"), name="partial", title="Partial")
server.resources.add("notes://other", index, mime_type="text/plain")

app = server.http_app("/mcp", allowed_hosts=["example.org"], stateless=True, body_timeout=5)


async def main() -> None:
    await serve_http(server, "127.0.0.1", 8000, path="/mcp", max_sessions=10, guard=None)

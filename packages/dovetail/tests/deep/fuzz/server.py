"""The server that is fuzzed: a little of everything, and no tool that can fail by itself."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from dovetail import Context, Server
from dovetail.transports.stdio import serve_stdio

server = Server("fuzzed", version="1", instructions="Do your worst")


@dataclass
class Item:
    n: int


@dataclass
class Order:
    id: int
    items: list[Item] = field(default_factory=list)


@dataclass
class Answer:
    name: str


@server.tool(blocking=False)
def add(a: int, b: int) -> int:
    return a + b


@server.tool
async def echo(text: str, ctx: Context, tags: list[str] | None = None) -> str:
    ctx.progress(1, 1, text[:20])
    ctx.log.info("echoed", tags=tags, trace=ctx.meta.get("traceparent"))
    return text


@server.tool
async def place(order: Order) -> Order:
    return order


@server.tool
def in_thread(text: str) -> str:
    return text.upper()


@server.tool(
    input_schema={
        "type": "object",
        "properties": {"n": {"type": "integer", "multipleOf": 5}},
        "required": ["n"],
    },
    blocking=False,
)
def by_hand(**values: Any) -> str:
    return str(sorted(values))


@server.tool
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("Who?", Answer)
    return f"{answer.action} {answer.data}"


@server.resource("notes://today")
def today() -> str:
    return "rain"


@server.resource("users://{id}/files/{+path}{?limit}")
async def files(id: int, path: str, limit: int = 10) -> str:
    return f"{id} {path} {limit}"


@server.prompt
async def plan(city: str, days: int) -> str:
    return f"{days} days in {city}"


@server.complete(plan, "city")
async def cities(typed: str) -> list[str]:
    return [city for city in ("Oslo", "Osaka") if city.startswith(typed)]


asyncio.run(serve_stdio(server))

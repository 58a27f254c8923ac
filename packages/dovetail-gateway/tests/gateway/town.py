"""The servers of the attack table: a shop and a bank, mounted or behind proxies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from dovetail import Context, Options, Proxy, Server, ToolSearch
from dovetail.auth import Guard, Principal
from dovetail.client import Client
from dovetail.client.targets import LocalCaller
from dovetail.errors import DovetailError
from dovetail_openapi import rest_app
from tests.patience import CAP

__all__ = ["ROUTES", "TREASURE", "Route", "make_bank", "make_outer", "make_shop", "opened", "via"]

LEGACY, MODERN = "2025-11-25", "2026-07-28"
# What no attack may get.
TREASURE = "the treasure"
MEMORY = Options(state="memory://")


def make_shop(**options: Any) -> Server:
    """`secret`, `plan`, `notes://secret` and drafts are what mounts hide."""
    server = Server("shop", options=MEMORY, **options)

    @server.tool(annotations={"readOnlyHint": True})
    async def greet(name: str = "you") -> str:
        return f"Hello {name}"

    @server.tool(task="optional")
    async def secret() -> str:
        return TREASURE

    @server.tool
    async def pay(amount: int, account: str = "own") -> str:
        return f"{amount} to {account}"

    @server.tool(scopes={"shop:write"}, task="optional")
    async def write() -> str:
        return TREASURE

    @server.tool
    async def remember(text: str, ctx: Context) -> str:
        await ctx.session_state.set("text", text)
        return "kept"

    @server.tool
    async def recall(ctx: Context) -> str:
        return str(await ctx.session_state.get("text", "nothing"))

    @server.tool(task="required")
    async def slow() -> str:
        return TREASURE

    @server.tool
    async def ask(ctx: Context) -> str:
        form = {"type": "object", "properties": {"name": {"type": "string"}}}
        answer = await ctx.elicit("Name?", form)
        return f"{TREASURE} of {answer.data}"

    _add_notes(server)
    return server


def _add_notes(server: Server) -> None:
    @server.prompt
    async def plan(step: str) -> str:
        return TREASURE

    @server.complete(plan, "step")
    async def steps(text: str) -> list[str]:
        return [TREASURE]

    @server.resource("notes://today")
    async def today() -> str:
        return "today"

    @server.resource("notes://secret")
    async def secret_note() -> str:
        return TREASURE

    @server.resource("notes://{id}/draft")
    async def draft(id: str) -> str:
        return TREASURE

    @server.complete("notes://{id}/draft", "id")
    async def ids(text: str) -> list[str]:
        return [TREASURE]

    @server.resource("notes://{id}/text")
    async def text(id: str) -> str:
        return TREASURE if id == "secret" else f"text {id}"


def make_bank() -> Server:
    server = Server("bank")

    @server.tool(scopes={"bank:write"})
    async def transfer() -> str:
        return TREASURE

    @server.tool
    async def recall(ctx: Context) -> str:
        return str(await ctx.session_state.get("text", "nothing"))

    @server.resource("notes://today")
    async def today() -> str:
        return "the bank's"

    return server


def make_outer(shop: Server, *, proxied: bool = False, **mount: Any) -> Server:
    """An outer server in search mode, with the shop and the bank."""
    outer = Server("outer", options=MEMORY, tool_search=ToolSearch())
    outer.mount(Proxy(shop, name="shop") if proxied else shop, "shop", **mount)
    outer.mount(make_bank(), "bank")
    return outer


def opened(
    server: Server,
    who: Principal | str | None = "eve",
    *,
    mode: str = MODERN,
    guard: Guard | None = None,
    **more: Any,
) -> Client:
    """A client of a principal; the server stays open when it leaves."""
    return Client(_Caller(LocalCaller(server, who, guard)), mode=mode, timeout=CAP, **more)


class _Caller:
    def __init__(self, caller: LocalCaller) -> None:
        self.connect = caller.connect


# -- routes to a tool -----------------------------------------------------------------------------

Route = Callable[[Server, str, dict[str, Any]], Awaitable[str]]


async def _call(server: Server, name: str, arguments: dict[str, Any]) -> str:
    async with opened(server) as client:
        return (await client.call(name, arguments)).text


async def _call_legacy(server: Server, name: str, arguments: dict[str, Any]) -> str:
    async with opened(server, mode=LEGACY) as client:
        return (await client.call(name, arguments)).text


async def _forward(server: Server, name: str, arguments: dict[str, Any]) -> str:
    return await _call(server, "call_tool", {"name": name, "arguments": arguments})


async def _post(server: Server, name: str, arguments: dict[str, Any]) -> str:
    transport = httpx.ASGITransport(app=rest_app(server))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
        return (await client.post(f"/tools/{name}", json=arguments)).text


async def _start(server: Server, name: str, arguments: dict[str, Any]) -> str:
    async with opened(server) as client:
        task = await client.start(name, arguments)
        return (await task.result(timeout=CAP)).text


ROUTES: dict[str, Route] = {
    "tools/call": _call,
    "tools/call of a legacy client": _call_legacy,
    "call_tool of the search mode": _forward,
    "POST /tools/NAME": _post,
    "a task": _start,
}


async def via(
    route: str, server: Server, name: str, arguments: dict[str, Any] | None = None
) -> str:
    """Call a tool; returns the text of the result or of the error."""
    try:
        return await ROUTES[route](server, name, arguments or {})
    except DovetailError as error:
        return str(error)

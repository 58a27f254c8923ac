"""A server that asks, reports and refuses, for tests of the command line in a terminal."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail import Context, Server
from dovetail.errors import RpcError

server = Server("survey")

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "cups": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        "milk": {"type": "boolean", "default": False},
        "size": {
            "type": "string",
            "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}],
        },
        "extras": {
            "type": "array",
            "items": {"type": "string", "enum": ["ice", "lemon", "mint"]},
            "maxItems": 2,
        },
        "mail": {"type": "string", "format": "email", "description": "For the receipt."},
    },
    "required": ["name", "size"],
}


@server.tool
async def order(ctx: Context) -> dict[str, Any]:
    """Ask for everything that a form can have."""
    answer = await ctx.elicit("What may it \x1b[2Jbe?", ORDER)
    return {"action": answer.action, "data": answer.data}


@server.tool
async def confirm(ctx: Context) -> str:
    """Ask a question without fields."""
    return (await ctx.elicit("Really?", {"type": "object", "properties": {}})).action


@server.tool
async def visit(url: str, ctx: Context) -> str:
    """Ask the user to visit a URL."""
    return (await ctx.elicit("Sign in", url=url)).action


@server.tool
def locked(url: str) -> str:
    """Refuse until the user has visited a URL, as servers of 2025-11-25 may."""
    entry = {"mode": "url", "message": "Pay first", "url": url, "elicitationId": "1"}
    raise RpcError("Payment needed", {"elicitations": [entry, {"mode": 1}]}, code=-32042)


@server.tool
async def work(ctx: Context) -> str:
    """Report progress and log messages."""
    await ctx.progress(1, 4, "first \x1b[31mstep")
    ctx.log.info("half\x1bway")
    await ctx.progress(3, 4, "third step")
    return "done"


@server.tool
async def wait(ctx: Context) -> str:
    """Wait until it is cancelled."""
    ctx.log.info("waiting")
    await asyncio.Event().wait()
    return "never"


@server.tool(scopes={"notes:write"})
async def write(ctx: Context) -> str:
    """Say who writes."""
    return ctx.principal.id if ctx.principal else "nobody"


@server.tool
def touch(uri: str) -> str:
    """Tell subscribers that a resource has changed."""
    server.resource_updated(uri)
    return "touched"


@server.prompt
async def letter(to: str) -> str:
    """Write a letter."""
    return f"Write to {to}"


@server.complete("letter", "to")
def people(text: str) -> list[str]:
    return [name for name in ("Anna", "Anton", "Bert") if name.lower().startswith(text.lower())]


@server.resource("pictures://dot", mime_type="image/png")
def dot() -> bytes:
    """One dot."""
    return b"\x89PNG\x00\xff"

"""An upstream over HTTP, of all revisions."""

from __future__ import annotations

import json
from typing import Any

from dovetail import Context, Server, ToolAnnotations
from dovetail.auth import Guard
from dovetail.middleware import CallNext, Request

seen: dict[str, Any] = {}


async def watch(request: Request[Any], call_next: CallNext[Any]) -> Any:
    """Keep the `_meta` of the last tool call."""
    if request.method == "tools/call":
        seen.clear()
        seen.update(request.meta)
    return await call_next(request)


server = Server("notes", guard=Guard(middleware=[watch]))


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def look() -> str:
    """Look."""
    return "seen"


@server.tool
def write(text: str) -> str:
    """Write."""
    return f"wrote {text}"


@server.tool
def meta() -> str:
    """Return the metadata of the call."""
    return json.dumps(seen)


@server.tool
def header(ctx: Context) -> str:
    """Return the Authorization header of the request."""
    return str(dict(ctx.scope["headers"]).get(b"authorization", b"none").decode())


@server.resource("note://today")
def today() -> str:
    return "Buy milk"


@server.prompt
def plan() -> str:
    return "Plan the day"

"""A server for several processes, which share sessions, tasks, limits and state through Redis.

DOVETAIL_CLUSTER is the URL of Redis, DOVETAIL_STATE_KEYS_FILE the file of state keys; both are read
by the framework. KEYS is the file of API keys.
"""

import os

from dovetail import Context, Server
from dovetail.auth import ApiKeys, Guard, Limits, Rate

server = Server(
    "basket",
    version="1.0.0",
    # The rate holds for all processes together.
    guard=Guard(
        ApiKeys(os.environ.get("KEYS", "keys.json")), limits=Limits(per_principal=Rate(100))
    ),
)


@server.tool
async def add(item: str, ctx: Context) -> list[str]:
    """Put an item into your basket; returns all items."""
    items = [*await ctx.session_state.get("items", []), item]
    await ctx.session_state.set("items", items)
    return items


@server.tool(task="optional", resumable=True)
async def order(ctx: Context) -> str:
    """Order what is in your basket."""
    items = await ctx.session_state.get("items", [])
    # Another process takes over if this one dies; the order is not placed twice.
    number = await ctx.once("place", lambda: f"order of {len(items)} items")
    await ctx.session_state.delete("items")
    return number


@server.tool
async def which_process() -> int:
    """Return the process that serves this call."""
    return os.getpid()


if __name__ == "__main__":
    server.run(http=8000)

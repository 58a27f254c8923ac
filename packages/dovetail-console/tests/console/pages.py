"""A console in this process, and a browser that uses it without a network."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx

from dovetail import Server
from dovetail_console.traffic import Traffic
from tests.patience import CAP

__all__ = ["LOCAL", "browse", "make_server", "take", "token_of"]

T = TypeVar("T")
LOCAL = "http://127.0.0.1:8000"


def make_server(**options: Any) -> Server:
    """A server with one tool."""
    server = Server("shop", version="1.2.3", title="The shop", **options)

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    return server


def browse(
    app: Any, use: Callable[[httpx.AsyncClient], Awaitable[T]], base: str = LOCAL, root: str = ""
) -> T:
    """Run `use` with a client of the application."""

    async def run() -> T:
        transport = httpx.ASGITransport(app, root_path=root)
        async with httpx.AsyncClient(transport=transport, base_url=base, timeout=CAP) as client:
            return await use(client)

    return asyncio.run(run())


async def token_of(client: httpx.AsyncClient, prefix: str = "") -> dict[str, str]:
    """The header that requests to the API need."""
    page = await client.get(f"{prefix}/console/")
    found = re.search(r'name="console-token" content="([^"]+)"', page.text)
    assert found is not None
    return {"X-Console-Token": found[1]}


async def take(traffic: Traffic, count: int) -> list[dict[str, Any]]:
    """The first frames."""
    frames: list[dict[str, Any]] = []
    async with asyncio.timeout(CAP):
        async for frame in traffic.follow():
            frames.append(frame)
            if len(frames) == count:
                return frames
    raise AssertionError

"""A browser server on stdio, driven by the official client of the MCP project."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult

from tests.deep.browser.driving import allowing, command
from tests.deep.browser.web_site import WebSite, serving_site
from tests.patience import CAP

T = TypeVar("T")


class OfficialClient:
    """A session on its own event loop, which counts calls and the characters of results."""

    session: ClientSession
    site: WebSite

    def __init__(self, *options: str) -> None:
        self._options = options
        self._runner = asyncio.Runner()
        self._site_stack = contextlib.ExitStack()
        self._over = asyncio.Event()
        self._holder: asyncio.Task[None] | None = None
        self.calls = 0
        self.characters = 0

    def __enter__(self) -> OfficialClient:
        self.site = self._site_stack.enter_context(serving_site())
        self.run(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._close())
        self._site_stack.close()
        self._runner.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the session's event loop."""
        return self._runner.run(work)

    def url(self, path: str) -> str:
        """Return the URL of a page of the test site."""
        return f"{self.site.url}{path}"

    async def ask(self, tool: str, **arguments: Any) -> CallToolResult:
        """Call a tool."""
        async with asyncio.timeout(CAP):
            result = await self.session.call_tool(tool, arguments)
        self.calls += 1
        self.characters += sized(result)
        return result

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        """Call a tool."""
        return self.run(self.ask(tool, **arguments))

    def good(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed; return its structured content."""
        result = self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        return result.structured_content or {}

    async def _open(self) -> None:
        opened: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        # One task enters and leaves the session, as its task group demands.
        self._holder = asyncio.create_task(self._hold(opened))
        self.session = await opened

    async def _hold(self, opened: asyncio.Future[ClientSession]) -> None:
        try:
            async with self._connect() as session:
                opened.set_result(session)
                await self._over.wait()
        except BaseException as error:
            if not opened.done():
                opened.set_exception(error)
            raise

    @contextlib.asynccontextmanager
    async def _connect(self) -> AsyncIterator[ClientSession]:
        program, *arguments = command(*allowing(self.site), *self._options)
        parameters = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            yield session

    async def _close(self) -> None:
        self._over.set()
        if self._holder is not None:
            await self._holder


def text_of(result: CallToolResult) -> str:
    """Return the text blocks of a result."""
    return "\n".join(getattr(block, "text", "") for block in result.content)


def sized(result: CallToolResult) -> int:
    """Return the length of a result: its text blocks and its structured content as JSON."""
    texts = sum(len(getattr(block, "text", "")) for block in result.content)
    if result.structured_content is None:
        return texts
    return texts + len(
        json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
    )

"""The official client of one server for many calls, from synchronous tests."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any, TypeVar

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult, InitializeResult, ListToolsResult

from tests.patience import CAP

_T = TypeVar("_T")


class Official:
    """A session in a thread of its own."""

    def __init__(
        self, session: ClientSession, loop: asyncio.AbstractEventLoop, opened: InitializeResult
    ) -> None:
        self._session = session
        self._loop = loop
        self.instructions = opened.instructions or ""

    def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool."""
        return self._wait(self._session.call_tool(tool, arguments))

    def list_tools(self) -> ListToolsResult:
        """List the tools."""
        return self._wait(self._session.list_tools())

    def _wait(self, call: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result(CAP)


def size_of(result: CallToolResult) -> int:
    """Return the characters of a whole result as JSON."""
    return len(result.model_dump_json(by_alias=True, exclude_none=True))


@contextlib.contextmanager
def official(words: Sequence[str]) -> Iterator[Official]:
    """Let the official client connect to a server on stdio."""
    found: list[Official] = []
    failed: list[BaseException] = []
    opened, finished = threading.Event(), threading.Event()

    async def run() -> None:
        server = StdioServerParameters(command=words[0], args=list(words[1:]))
        async with (
            stdio_client(server) as (receive, send),
            ClientSession(receive, send) as session,
        ):
            first = await session.initialize()
            found.append(Official(session, asyncio.get_running_loop(), first))
            opened.set()
            # Without a limit: a property that fails is shrunk for minutes.
            await asyncio.to_thread(finished.wait)

    def work() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:
            failed.append(error)
            raise
        finally:
            opened.set()

    thread = threading.Thread(target=work, name="official-client")
    thread.start()
    try:
        assert opened.wait(CAP) and found, failed
        yield found[0]
    finally:
        finished.set()
        thread.join(CAP)

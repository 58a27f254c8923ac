"""Starts `dovetail serve browser` in a subprocess, with a client for tests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

from dovetail.client import CallResult, Client
from tests.deep.browser.web_site import WebSite, serving_site
from tests.patience import CAP

T = TypeVar("T")


def command(*options: str) -> list[str]:
    """Return the command line of the server."""
    return [sys.executable, "-m", "dovetail", "serve", "browser", *options]


def allowing(site: WebSite) -> list[str]:
    """Return the options that allow the test site, which is on loopback."""
    port = site.server_port
    return ["--allow", f"127.0.0.1:{port}", "--allow", f"localhost:{port}"]


@contextlib.asynccontextmanager
async def over_stdio(*options: str, **client: Any) -> AsyncIterator[Client]:
    """A client of a server process on stdio."""
    async with Client(command(*options), timeout=CAP, **client) as connected:
        yield connected


class BrowserHarness:
    """One server, test site and client for a module, on a separate event loop."""

    def __init__(self, *options: str, **client: Any) -> None:
        self._options = options
        self._client_options = client
        self._runner = asyncio.Runner()
        self._stack = contextlib.AsyncExitStack()
        self._site_stack = contextlib.ExitStack()
        self.site: WebSite
        self.client: Client

    def __enter__(self) -> BrowserHarness:
        self.site = self._site_stack.enter_context(serving_site())
        opened = over_stdio(*allowing(self.site), *self._options, **self._client_options)
        self.client = self.run(self._stack.enter_async_context(opened))
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._stack.aclose())
        self._site_stack.close()
        self._runner.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the client's event loop."""
        return self._runner.run(work)

    def url(self, path: str) -> str:
        """Return the URL of a page of the test site."""
        return f"{self.site.url}{path}"

    def call(self, tool: str, **arguments: Any) -> CallResult:
        """Call a tool."""
        return self.run(self.client.call(tool, arguments))

    def good(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed; return its data."""
        return data_of(self.call(tool, **arguments))

    def refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must fail; return the error message and the next steps."""
        result = self.call(tool, **arguments)
        assert result.is_error, result.text
        failed = json.loads(result.text)
        return "\n".join([failed["message"], "Next steps:", *failed["nextSteps"]])

    def fetch(self, path: str, **arguments: Any) -> dict[str, Any]:
        """Fetch a page of the test site."""
        return self.good("fetch_webpage", url=self.url(path), **arguments)


def data_of(result: CallResult) -> dict[str, Any]:
    """Return the data of a successful result."""
    assert not result.is_error, result.text
    first = result.text.partition("\n")[0]
    data: dict[str, Any] = result.data if isinstance(result.data, dict) else json.loads(first)
    return data


def sized(result: CallResult) -> int:
    """Return the length of a result: its text blocks and its structured content as JSON."""
    texts = sum(len(getattr(block, "text", "")) for block in result.content)
    structured = result.structured if result.has_structured else None
    if structured is None:
        return texts
    return texts + len(json.dumps(structured, ensure_ascii=False, separators=(",", ":")))


@contextlib.contextmanager
def desk(*options: str, **client: Any) -> Iterator[BrowserHarness]:
    """A server, a site and a client."""
    with BrowserHarness(*options, **client) as opened:
        yield opened

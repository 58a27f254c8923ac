"""The real server, `dovetail serve design`, as a process of its own, and clients of it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from dovetail.client import Client
from tests.patience import CAP


def command(directory: Path, *options: str) -> list[str]:
    """The command line that serves designs."""
    words = [sys.executable, "-m", "dovetail", "serve", "design", "--dir", str(directory)]
    return [*words, *options]


@contextlib.asynccontextmanager
async def over_stdio(directory: Path, *options: str, **client: Any) -> AsyncIterator[Client]:
    """A client of a server process on stdio."""
    async with Client(command(directory, *options), timeout=CAP, **client) as connected:
        yield connected


class SharedStudio:
    """One server for several tests that do not mind each other's designs."""

    def __init__(self, directory: Path, runner: asyncio.Runner, client: Client) -> None:
        self.directory = directory
        self.client = client
        self._runner = runner

    @classmethod
    @contextlib.contextmanager
    def start(cls, directory: Path, *options: str) -> Iterator[SharedStudio]:
        """A server process and a client of it, on an event loop of their own."""
        with asyncio.Runner() as runner:
            context = over_stdio(directory, *options)
            client = runner.run(context.__aenter__())
            try:
                yield cls(directory, runner, client)
            finally:
                runner.run(context.__aexit__(None, None, None))

    def tell(self, story: Callable[[Client], Awaitable[None]]) -> None:
        """Run what a client does."""

        async def run() -> None:
            async with asyncio.timeout(CAP):
                await story(self.client)

        self._runner.run(run())


def box(id: str, x: float = 0, y: float = 0, **more: Any) -> dict[str, Any]:
    """A rectangle of 100 by 100."""
    return {
        "type": "rectangle",
        "id": id,
        "x": x,
        "y": y,
        "width": 100,
        "height": 100,
        "fill": "#3366cc",
        **more,
    }


def text(id: str, words: str, **more: Any) -> dict[str, Any]:
    """A text that is easily read."""
    return {
        "type": "text",
        "id": id,
        "x": 50,
        "y": 50,
        "width": 700,
        "height": 80,
        "fontSize": 40,
        "fill": "#111111",
        "text": words,
        **more,
    }

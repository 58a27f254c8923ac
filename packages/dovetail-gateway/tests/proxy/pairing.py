"""A client, a proxy and an upstream: every pairing of eras, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dovetail import Client, Proxy, Server
from dovetail.client import Change
from dovetail.client.targets import Target
from dovetail.spec.models import LogParams
from dovetail.transports import serve_http
from tests.patience import CAP

__all__ = ["PAIRINGS", "UPSTREAM", "Open", "Pairing", "at_url"]

T = TypeVar("T")

UPSTREAM = [
    sys.executable,
    "-m",
    "dovetail",
    "run",
    f"{Path(__file__).with_name('upstream.py')}:server",
]
LEGACY, MODERN = "2025-11-25", "2026-07-28"


@contextmanager
def at_url(server: Server) -> Iterator[str]:
    """Serve over HTTP from another thread."""
    ports: list[int] = []
    ready = threading.Event()
    loop = asyncio.new_event_loop()

    def note(port: int) -> None:
        ports.append(port)
        ready.set()

    task = loop.create_task(serve_http(server, port=0, on_ready=note))

    async def until_cancelled() -> None:
        await asyncio.wait([task])

    def serve() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(until_cancelled())

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        assert ready.wait(CAP)
        yield f"http://127.0.0.1:{ports[0]}/mcp"
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(CAP)


@dataclass(frozen=True)
class Pairing:
    """The revisions of the two connections, and what carries them."""

    upstream: str
    caller: str
    transport: str

    def __str__(self) -> str:
        return f"{self.transport}-{self.caller}-to-{self.upstream}"


PAIRINGS = tuple(
    Pairing(upstream, caller, transport)
    for transport in ("stdio", "http")
    for upstream in (LEGACY, MODERN)
    for caller in (LEGACY, MODERN)
)


class Open:
    """A client of a proxy, open for several tests, and the user who sits at it."""

    def __init__(
        self,
        pairing: Pairing,
        upstream: Target,
        serve: Callable[[Server], Any],
        outer: Server | None = None,
    ) -> None:
        self.pairing = pairing
        self.proxy: Server = Proxy(upstream, name="front", mode=pairing.upstream)
        if outer is not None:
            outer.mount(self.proxy, "front")
            self.proxy = outer
        self._stack = AsyncExitStack()
        self._runner = asyncio.Runner()
        target: Target = self.proxy
        if pairing.transport == "http":
            target = self._stack.enter_context(serve(self.proxy))
        self._target = target
        self.reset()
        self._done = asyncio.Event()
        self._runner.run(self._open())

    def reset(self) -> None:
        """Forget what was asked and told."""
        self.asked: list[Any] = []
        self.answer: Any = {"name": "Ada"}
        self.logs: list[LogParams] = []
        self.changes: list[Change] = []

    async def _open(self) -> None:
        opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()

        async def hold() -> None:
            async with self.connect(
                elicit=self._elicit,
                sample=lambda request: "I think.",
                roots=["/srv/shed"],
                on_log=lambda message: self.logs.append(message),
            ) as client:
                opened.set_result(client)
                await self._done.wait()
            if self.pairing.transport == "stdio":
                await self.proxy.close()

        self._task = asyncio.create_task(hold())
        await asyncio.wait((opened, self._task), return_when="FIRST_COMPLETED", timeout=CAP)
        if not opened.done():
            self._task.result()
        self.client = opened.result()

    def connect(self, **options: Any) -> Client:
        """One more client of the proxy."""
        return Client(self._target, mode=self.pairing.caller, timeout=CAP, **options)

    def _elicit(self, request: Any) -> Any:
        self.asked.append(request)
        return self.answer

    def run(self, scenario: Callable[[Client], Awaitable[T]]) -> T:
        """Run a scenario with the client."""

        async def limited() -> T:
            async with asyncio.timeout(CAP):
                return await scenario(self.client)

        return self._runner.run(limited())

    def close(self) -> None:
        """Close the client and the proxy."""

        async def leave() -> None:
            self._done.set()
            async with asyncio.timeout(CAP):
                await self._task
            await self._stack.aclose()

        with self._runner:
            self._runner.run(leave())

"""Every way from our client to a server, as a table: a transport and the revisions it carries.

`Link` is one client on one of these ways, kept open for many tests, and the user who sits at
it. Each has a server of its own, so that nobody hears of what happens in another test.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pytest

from dovetail.client import Change, Client
from dovetail.client.targets import Target
from dovetail.spec.models import LogParams
from dovetail.spec.revisions import LEGACY, REVISIONS, Family, Revision
from dovetail.transports import serve_http
from tests.cluster.in_process import serving_cluster
from tests.cluster.redis_server import running_redis
from tests.interaction.workshop import make_workshop, make_workshops
from tests.patience import CAP

__all__ = ["COMBINATIONS", "Combination", "Desk", "Link", "Served", "Transport", "with_mark"]

T = TypeVar("T")

ROOT = Path(__file__).parents[4]
WORKSHOP = Path(__file__).with_name("workshop.py")


@dataclass(frozen=True, slots=True)
class Served:
    """A server: what to give to a client, and how to end it; memory has nobody to end."""

    target: Target
    end: Callable[[int], None] | None = None


@contextmanager
def _in_memory() -> Iterator[Served]:
    yield Served(make_workshop())


@contextmanager
def _as_process() -> Iterator[Served]:
    # The client starts it, and knows nobody's process id; a tool of the server does.
    command = [sys.executable, "-m", "dovetail", "run", f"{WORKSHOP}:server"]
    yield Served(command, lambda pid: os.kill(pid, signal.SIGTERM))


def _at_url(path: str = "/mcp", **options: Any) -> AbstractContextManager[Served]:
    async def serve(ready: Callable[[str], None]) -> None:
        await serve_http(
            make_workshop(),
            port=0,
            on_ready=lambda port: ready(f"http://127.0.0.1:{port}{path}"),
            **options,
        )

    return _in_thread(serve)


@contextmanager
def _in_cluster() -> Iterator[Served]:
    """Two servers on Redis; each request goes to one of them at random."""
    with (
        TemporaryDirectory() as folder,
        running_redis(Path(folder)) as redis,
        _with_state(redis.url) as served,
    ):
        yield served


@contextmanager
def _with_file() -> Iterator[Served]:
    """Two servers with one SQLite file."""
    with (
        TemporaryDirectory() as folder,
        _with_state(f"sqlite:///{folder}/state") as served,
    ):
        yield served


def _with_state(url: str) -> AbstractContextManager[Served]:
    async def serve(ready: Callable[[str], None]) -> None:
        workshops = iter(make_workshops(url, 2))
        async with serving_cluster(lambda _: next(workshops), url) as cluster:
            ready(cluster.url)
            await asyncio.Event().wait()

    return _in_thread(serve)


@contextmanager
def _in_thread(serve: Callable[[Callable[[str], None]], Awaitable[None]]) -> Iterator[Served]:
    """A server on an event loop of its own; it tells its URL when it is ready."""
    urls: list[str] = []
    ready = threading.Event()
    loop = asyncio.new_event_loop()

    def note(url: str) -> None:
        urls.append(url)
        ready.set()

    task = loop.create_task(_awaited(serve(note)))

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(_until_cancelled(task))

    thread = threading.Thread(target=run)

    def end(_: int = 0) -> None:
        if thread.is_alive():
            loop.call_soon_threadsafe(task.cancel)
            thread.join(CAP)

    thread.start()
    try:
        assert ready.wait(CAP)
        yield Served(urls[0], end)
    finally:
        end()
        assert not thread.is_alive()


async def _awaited(running: Awaitable[None]) -> None:
    await running


async def _until_cancelled(task: asyncio.Task[None]) -> None:
    await asyncio.wait([task])


@dataclass(frozen=True, slots=True)
class Transport:
    """What carries the messages."""

    name: str
    open: Callable[[], AbstractContextManager[Served]]
    revisions: Sequence[Revision] = REVISIONS


TRANSPORTS = (
    Transport("memory", _in_memory),
    Transport("stdio", _as_process),
    Transport("sessions", _at_url),
    Transport("stateless", partial(_at_url, stateless=True)),
    Transport("plain", partial(_at_url, streaming=False)),
    Transport("cluster", _in_cluster),
    Transport("file", _with_file),
    Transport("old_sse", partial(_at_url, "/sse", old_sse="/sse"), LEGACY),
)


@dataclass(frozen=True, slots=True)
class Combination:
    """A transport at a revision."""

    transport: Transport
    revision: Revision

    def __str__(self) -> str:
        return f"{self.transport.name}-{self.revision}"

    @property
    def is_modern(self) -> bool:
        return self.revision.family is Family.MODERN

    @property
    def is_deaf(self) -> bool:
        """Whether there is no stream that could bring a change."""
        return self.transport.name == "plain" or (
            self.transport.name == "stateless" and not self.is_modern
        )


COMBINATIONS = tuple(
    Combination(transport, revision) for transport in TRANSPORTS for revision in transport.revisions
)


class Desk:
    """Who sits at the client: what they will answer, and what they were told."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.forms: dict[str, Any] = {}
        self.words = ""
        self.asked: list[Any] = []
        self.logs: list[LogParams] = []
        self.changes: list[Change] = []
        self._arrival = asyncio.Event()

    async def elicit(self, request: Any) -> Any:
        self.asked.append(request)
        return self.forms.get(request.message)

    async def sample(self, request: Any) -> str:
        self.asked.append(request)
        return self.words

    def take_log(self, message: LogParams) -> None:
        self.logs.append(message)
        self._arrival.set()

    def take_change(self, change: Change) -> None:
        self.changes.append(change)
        self._arrival.set()

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait until something that was told makes `happened` true."""
        while not happened():
            self._arrival.clear()
            await self._arrival.wait()


class Link:
    """A client that stays open for several tests, one after the other."""

    def __init__(self, combination: Combination) -> None:
        self.combination = combination
        self.revision = combination.revision
        self.is_modern = combination.is_modern
        self.desk = Desk()
        self._done = asyncio.Event()
        with ExitStack() as stack:
            self.served = stack.enter_context(combination.transport.open())
            self._runner = stack.enter_context(asyncio.Runner())
            self._runner.run(self._open())
            # All went well: whoever closes the link leaves the rest.
            self._rest = stack.pop_all()

    async def _open(self) -> None:
        opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()

        async def hold() -> None:
            async with self.connect(
                elicit=self.desk.elicit,
                sample=self.desk.sample,
                roots=["/srv/shed"],
                on_log=self.desk.take_log,
                # See test_promises.py: such a client cannot be opened there.
                on_change=self.desk.take_change,
            ) as client:
                opened.set_result(client)
                await self._done.wait()

        self._task = asyncio.create_task(hold())
        async with asyncio.timeout(CAP):
            await asyncio.wait((opened, self._task), return_when=asyncio.FIRST_COMPLETED)
        if not opened.done():
            self._task.result()
        self.client = opened.result()

    @asynccontextmanager
    async def connect(self, **options: Any) -> AsyncIterator[Client]:
        """One more client of the same server; of the same kind, where each has its own."""
        options = {"mode": self.revision.date, "timeout": CAP, **options}
        if isinstance(self.served.target, list):
            options["cwd"] = ROOT
        async with Client(self.served.target, **options) as client:
            yield client

    def run(self, scenario: Callable[[Client], Awaitable[T]]) -> T:
        """Go through a scenario with the client."""

        async def limited() -> T:
            async with asyncio.timeout(CAP):
                return await scenario(self.client)

        return self._runner.run(limited())

    def close(self) -> None:
        async def leave() -> None:
            self._done.set()
            async with asyncio.timeout(CAP):
                await self._task

        with self._rest:
            self._runner.run(leave())


def with_mark(
    combinations: Sequence[Combination],
    is_marked: Callable[[Combination], bool],
    mark: pytest.MarkDecorator,
) -> list[Any]:
    """Combinations as parameters, some of them with a mark."""
    return [pytest.param(c, marks=[mark] if is_marked(c) else [], id=str(c)) for c in combinations]

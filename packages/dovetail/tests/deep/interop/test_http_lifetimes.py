"""What only HTTP has: connections that end before the answer, sessions that end before the client.

Both foreign clients go through the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import fastmcp
import mcp
import pytest
from fastmcp.client.transports import StreamableHttpTransport
from mcp.shared.exceptions import MCPError

from tests.deep.interop.greenhouse import EXAMPLE, serve
from tests.patience import CAP

FERRY = Path(__file__).with_name("ferry.py")


@dataclass(frozen=True, slots=True)
class Kind:
    """How one of the clients is made, and what it calls a progress callback."""

    make: Callable[[str, str], Any]
    progress: str


KINDS = {
    "official": Kind(lambda url, mode: mcp.Client(url, mode=mode), "progress_callback"),
    "fastmcp": Kind(
        lambda url, mode: fastmcp.Client(StreamableHttpTransport(url), mode=mode),
        "progress_handler",
    ),
}
MODES = {"legacy": "legacy", "modern": "auto"}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture(scope="module")
def ferry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve(FERRY, tmp_path_factory.mktemp("ferry") / "log") as served:
        yield served.url


def text_of(result: Any) -> str:
    [block] = result.content
    text: str = block.text
    return text


@pytest.mark.parametrize("era", MODES)
def test_an_answer_is_picked_up_after_the_connection_was_let_go(
    kind: Kind, era: str, ferry: str
) -> None:
    """The modern era has nothing to pick up; there the connection is kept, and all is the same."""
    told: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async def run() -> str:
        async with asyncio.timeout(CAP), kind.make(ferry, MODES[era]) as client:
            return text_of(await client.call_tool("cross", {}, **{kind.progress: note}))

    assert asyncio.run(run()) == "Back again."
    assert sorted(told) == [(1, "left"), (2, "landed")]


# -- a network that fails ---------------------------------------------------------------------


class Cable:
    """Between client and server, and can be cut; what connects afterwards is not affected."""

    def __init__(self, url: str) -> None:
        self._there = urlsplit(url)
        self._writers: list[asyncio.StreamWriter] = []
        self._copying: set[asyncio.Task[None]] = set()
        self.url = ""

    @asynccontextmanager
    async def laid(self) -> AsyncIterator[Cable]:
        relay = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        port = relay.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}{self._there.path}"
        try:
            yield self
        finally:
            relay.close()
            self.cut()
            await asyncio.gather(*self._copying)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(self._there.hostname, self._there.port)
        for source, sink in ((reader, there[1]), (there[0], writer)):
            self._writers.append(sink)
            task = asyncio.create_task(_copy(source, sink))
            self._copying.add(task)

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65536):
            sink.write(data)
    except ConnectionError:
        pass
    finally:
        sink.transport.abort()


@pytest.mark.slow
@pytest.mark.parametrize("era", MODES)
def test_an_answer_is_picked_up_after_the_connection_broke(
    kind: Kind, era: str, ferry: str
) -> None:
    """In the modern era a connection that ends is a call that is taken back."""

    async def drift(client: Any, cable: Cable) -> str:
        left = asyncio.Event()
        told: list[str | None] = []

        async def note(progress: float, total: float | None, message: str | None) -> None:
            told.append(message)
            left.set()

        sunk_before = await count_sunk(client)
        drifting = asyncio.create_task(client.call_tool("drift", {}, **{kind.progress: note}))
        await left.wait()
        cable.cut()
        if era == "modern":
            with pytest.raises(MCPError):
                await drifting
            while await count_sunk(client) == sunk_before:
                pass
            return "sunk"
        assert text_of(await client.call_tool("land")) == "Landed."
        text = text_of(await drifting)
        # They come in order; the client tells each in a task of its own.
        assert sorted(map(str, told)) == ["landed", "left"]
        return text

    async def run() -> str:
        async with (
            asyncio.timeout(CAP),
            Cable(ferry).laid() as cable,
            kind.make(cable.url, MODES[era]) as client,
        ):
            return await drift(client, cable)

    assert asyncio.run(run()) == ("sunk" if era == "modern" else "Back again.")


async def count_sunk(client: Any) -> int:
    found = await client.read_resource("ferry://log")
    contents = found if isinstance(found, list) else found.contents
    text: str = contents[0].text
    return text.count("sunk")


# -- a server that is started anew ------------------------------------------------------------


@pytest.mark.slow
def test_a_server_that_was_started_anew_knows_modern_clients_and_no_legacy_ones(
    tmp_path: Path,
) -> None:
    """Neither client shakes hands again by itself: whoever uses it is told, and has to."""

    async def water(client: Any) -> str:
        return text_of(await client.call_tool("water", {"bed": "north"}))

    async def run() -> None:
        async with asyncio.timeout(CAP), AsyncExitStack() as stack:
            clients: dict[tuple[str, str], Any] = {}
            with serve(EXAMPLE, tmp_path / "first") as first:
                for era, mode in MODES.items():
                    for name, kind in KINDS.items():
                        client = await stack.enter_async_context(kind.make(first.url, mode))
                        assert await water(client) == "The tomato got 1 l."
                        clients[name, era] = client
            port = urlsplit(first.url).port or 0
            with serve(EXAMPLE, tmp_path / "second", port):
                for name in KINDS:
                    assert await water(clients[name, "modern"]) == "The tomato got 1 l."
                    with pytest.raises(MCPError, match="no such session"):
                        await water(clients[name, "legacy"])
                # Before the server: a client that leaves says goodbye to somebody.
                await stack.aclose()

    asyncio.run(run())

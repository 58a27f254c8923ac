from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable

import pytest

from dovetail_browser.happy_eyeballs import connect_first, describe_error
from dovetail_browser.relay import Connection, EgressLimits
from tests.patience import CAP


def run(scenario: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(CAP):
            await scenario

    asyncio.run(bounded())


def full_server() -> tuple[socket.socket, list[socket.socket]]:
    """A port that swallows attempts: nobody accepts, and its queue is full."""
    server = socket.create_server(("127.0.0.3", 0), backlog=0)
    waiting = []
    for _ in range(4):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(server.getsockname())
        waiting.append(client)
    return server, waiting


def test_the_next_address_is_tried_while_one_hangs() -> None:
    async def scenario() -> None:
        silent, waiting = full_server()
        port = silent.getsockname()[1]
        good = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", port)
        limits = EgressLimits(connect_seconds=CAP)
        line = await connect_first(["127.0.0.3", "127.0.0.1"], port, limits)
        assert isinstance(line, Connection)
        assert line.writer.get_extra_info("peername")[0] == "127.0.0.1"
        await line.close()
        good.close()
        for one in (silent, *waiting):
            one.close()

    run(scenario())


def test_the_next_address_is_tried_after_a_refusal_and_the_last_error_is_returned() -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        said = await connect_first(["127.0.0.1", "127.0.0.4"], port, EgressLimits())
        assert isinstance(said, str) and "refused" in said.lower()
        assert await connect_first([], 80, EgressLimits()) == "it has no address"

    run(scenario())


def test_connecting_times_out() -> None:
    async def scenario() -> None:
        silent, waiting = full_server()
        port = silent.getsockname()[1]
        said = await connect_first(["127.0.0.3"], port, EgressLimits(connect_seconds=0.1))
        assert said == "timed out"
        for one in (silent, *waiting):
            one.close()

    run(scenario())


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError(), "timed out"),
        (OSError(111, "Connection refused"), "Connection refused"),
        (OSError("odd"), "odd"),
        (OSError(), "OSError"),
    ],
)
def test_errors_are_described(error: OSError, words: str) -> None:
    assert describe_error(error) == words

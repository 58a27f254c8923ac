from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest

from dovetail_check.connections.base import Outgoing, Recorder
from dovetail_check.connections.http_connection import HttpConnection
from dovetail_check.exchanges import Exchange
from dovetail_check.recording import Recording
from tests.check.unit.connections.scripted_server import Peer
from tests.patience import CAP

PING = Outgoing(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', "ping", (1,), timeout=CAP)
PONG = b'HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n{"jsonrpc":"2.0","id":1,"result":{}}'
LAST = PONG.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")


def exchange_thrice(
    serve: Callable[[Peer], Awaitable[bool]], *, reuse: bool
) -> tuple[list[Exchange], int]:
    """Send three requests; returns the exchanges and the number of used connections."""
    found: list[Exchange] = []
    used = 0

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal used
        peer = Peer(reader, writer)
        is_first = True
        while await peer.read_head():
            used += is_first
            is_first = False
            await peer.read_body()
            if not await serve(peer):
                break
        writer.close()

    async def main() -> None:
        listener = await asyncio.start_server(connected, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        recorder = Recorder(Recording(), "http test", "main")
        connection = HttpConnection(recorder, f"http://127.0.0.1:{port}/mcp", reuse=reuse)
        async with asyncio.timeout(CAP):
            await connection.open()
            found.extend([await connection.send(PING) for _ in range(3)])
            await connection.close()
        listener.close()

    asyncio.run(main())
    gc.collect()
    return found, used


async def answer(peer: Peer) -> bool:
    await peer.say(PONG)
    return True


async def answer_and_say_goodbye(peer: Peer) -> bool:
    await peer.say(LAST)
    return False


async def answer_and_leave(peer: Peer) -> bool:
    await peer.say(PONG)
    return False


async def answer_too_much(peer: Peer) -> bool:
    await peer.say(PONG + b"and more")
    return True


@pytest.mark.parametrize(
    ("serve", "reuse", "connections"),
    [
        (answer, True, 1),
        (answer, False, 3),
        (answer_and_say_goodbye, True, 3),
        # The client finds out, at the latest when it tries to use the connection again.
        (answer_and_leave, True, 3),
        # What came behind an answer must not be taken for the next one.
        (answer_too_much, True, 3),
    ],
)
def test_a_connection_is_reused_only_if_possible(
    serve: Callable[[Peer], Awaitable[bool]], reuse: bool, connections: int
) -> None:
    found, used = exchange_thrice(serve, reuse=reuse)
    assert [exchange.result for exchange in found] == [{}, {}, {}]
    assert used == connections


def test_a_silent_server_is_not_retried_forever() -> None:
    asked = 0

    async def leave(peer: Peer) -> bool:
        nonlocal asked
        asked += 1
        return False

    found, _ = exchange_thrice(leave, reuse=True)
    failure = "EOFError: the connection was closed without a response"
    assert [exchange.failure for exchange in found] == [failure] * 3
    assert asked <= 4

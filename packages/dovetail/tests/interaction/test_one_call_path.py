"""What every transport does alike, because one message handler serves them all."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dovetail.spec.keys import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from dovetail.spec.revisions import (
    LATEST_LEGACY,
    V2024_11_05,
    V2025_03_26,
    V2026_07_28,
    Family,
    Revision,
)
from tests.patience import CAP
from tests.transcripts.wires import Wire, open_wire

EVERYWHERE = ["memory", "stdio", "sse", "handle", "http", "http-h11"]
# Where a client has a session, or a connection, that a cancellation can name a request in.
STATEFUL = ["memory", "stdio", "sse", "http", "http-h11"]
MODERN = {PROTOCOL_VERSION: V2026_07_28.date, CLIENT_CAPABILITIES: {}}


def over(*revisions: Revision, without: str = "") -> list[Any]:
    """Transports and revisions; HTTP+SSE exists at the oldest revision only."""
    return [
        pytest.param(transport, revision, id=f"{transport}-{revision}")
        for transport in EVERYWHERE
        for revision in revisions
        if transport != without and (transport != "sse" or revision is V2024_11_05)
    ]


def request(id: int, method: str, params: Any = None, **more: Any) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id, "method": method, **more}
    return message if params is None else {**message, "params": params}


def call(id: int, revision: Revision = LATEST_LEGACY) -> dict[str, Any]:
    meta = {"_meta": MODERN} if revision.family is Family.MODERN else {}
    return request(id, "tools/call", {"name": "wait", **meta})


class Client:
    """A client on a wire, after its handshake."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    async def send(self, message: Any) -> None:
        await self.wire.send(json.dumps(message).encode())

    async def until(self, wanted: Callable[[Any], bool]) -> Any:
        """The next message that is wanted; others are dropped."""
        async with asyncio.timeout(CAP):
            while True:
                line = await self.wire.receive()
                assert line is not None, "the server closed"
                message = json.loads(line)
                if wanted(message):
                    return message

    async def answer(self, id: int) -> Any:
        return await self.until(lambda m: isinstance(m, dict) and m.get("id") == id)

    async def shake_hands(self, revision: Revision) -> None:
        if revision.family is Family.LEGACY:
            params = {
                "protocolVersion": revision.date,
                "capabilities": {},
                "clientInfo": {"name": "c", "version": "1"},
            }
            await self.send(request(0, "initialize", params))
            await self.answer(0)
            await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


def play(
    transport: str,
    variant: str,
    revision: Revision,
    scenario: Callable[[Client], Awaitable[None]],
) -> None:
    async def run() -> None:
        async with open_wire(transport, variant, revision) as wire:
            client = Client(wire)
            if variant != "broken":
                await client.shake_hands(revision)
            await scenario(client)

    asyncio.run(run())


@pytest.mark.parametrize("transport", EVERYWHERE)
def test_an_id_that_is_twice_in_a_batch_is_refused_the_second_time(transport: str) -> None:
    async def scenario(client: Client) -> None:
        await client.send([request(7, "ping"), request(7, "tools/list"), request(8, "ping")])
        answers = await client.until(lambda message: isinstance(message, list))
        assert sorted(answer["id"] for answer in answers) == [7, 7, 8]
        [refused] = [answer["error"] for answer in answers if "error" in answer]
        assert refused["code"] == -32600 and "id 7 is in use" in refused["message"]
        assert [answer["result"] for answer in answers if "result" in answer] == [{}, {}]

    play(transport, "full", V2025_03_26, scenario)


@pytest.mark.parametrize(
    ("transport", "revision"), over(V2024_11_05, LATEST_LEGACY, V2026_07_28, without="stdio")
)
def test_a_lifespan_that_fails_answers_requests_with_an_error(
    transport: str, revision: Revision, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(client: Client) -> None:
        for id in (1, 2):
            if revision.family is Family.MODERN:
                await client.send(request(id, "server/discover", {"_meta": MODERN}))
            else:
                await client.send(request(id, "initialize", {}))
            error = (await client.answer(id))["error"]
            assert error["code"] == -32603
            assert error["message"] == "The server failed to start; its log has the details."

    play(transport, "broken", revision, scenario)
    assert "no database" in caplog.text


def test_a_process_whose_lifespan_fails_ends_with_the_reason() -> None:
    words = [sys.executable, "-m", "tests.transcripts.server", "broken"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode != 0 and "no database" in done.stderr


@pytest.mark.parametrize("transport", STATEFUL)
def test_the_reason_of_a_cancellation_is_logged(
    transport: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG, "dovetail")
    monkeypatch.setenv("DEBUG_LOG", "1")
    revision = V2024_11_05 if transport == "sse" else LATEST_LEGACY
    logged: list[str] = []

    async def scenario(client: Client) -> None:
        await client.send(call(5))
        await client.until(lambda message: message.get("method") == "notifications/message")
        params = {"requestId": 5, "reason": "changed my mind"}
        await client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        # Its id is free again, and nothing was answered under it.
        while "error" in await _ping(client, 5):
            pass
        stderr: Callable[[], str] = getattr(client.wire, "stderr", lambda: caplog.text)
        logged.append(stderr())

    play(transport, "full", revision, scenario)
    assert "request 5 cancelled: changed my mind" in "".join(logged)


async def _ping(client: Client, id: int) -> Any:
    # In memory everything is there at once: the cancelled call needs a turn of the loop.
    await asyncio.sleep(0)
    await client.send(request(id, "ping"))
    return await client.answer(id)


@pytest.mark.parametrize(("transport", "revision"), over(V2024_11_05, LATEST_LEGACY, V2026_07_28))
def test_a_client_has_only_so_many_calls_in_flight(transport: str, revision: Revision) -> None:
    async def scenario(client: Client) -> None:
        for id in (1, 2, 3):
            await client.send(call(id, revision))
        error = (await client.answer(3))["error"]
        assert error["code"] == 429
        assert "this client has 2 requests" in error["message"]

    play(transport, "limited", revision, scenario)

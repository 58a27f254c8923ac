"""Clients are killed in the middle of everything; the server forgets them and serves the rest.

The short form of the last part of `make soak`, with the same server and the same clients, so
that a leak is seen before anybody runs that.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest

from qa.soak.processes import HttpServer
from qa.soak.vandal import HABITS, Vandal
from qa.soak.vanishing import Steady, kill_clients, settle
from tests.patience import CAP

pytestmark = pytest.mark.slow

# Seconds: of the killing, of a session without a request, of waiting for the rest to end.
KILLING = 2.0
LIFETIME = 1.0


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with HttpServer(session_lifetime=LIFETIME) as server:
        yield server


def test_nothing_is_left_of_clients_that_are_killed(server: HttpServer) -> None:
    async def play() -> None:
        before = await server.counts()
        steady = Steady()
        await steady.start(server.port)
        killed = await kill_clients(server.port, KILLING, 2, random.Random(1))
        async with asyncio.timeout(CAP):
            while not steady.waits and not steady.errors:
                await asyncio.sleep(0.01)
        await steady.stop()
        aftermath = await settle(server, before, CAP)
        assert killed >= 2
        assert aftermath.left == {}, aftermath
        assert steady.errors == []

    asyncio.run(play())


def test_what_clients_hold_is_counted_while_they_live(server: HttpServer) -> None:
    """The counters could be zero because they count nothing."""

    async def play() -> None:
        before = await server.counts()
        vandal = Vandal(server.port)
        for habit in ("a GET stream", "a listen stream", "a question that is not answered"):
            await asyncio.to_thread(HABITS[habit], vandal)
        held = await server.counts_once(
            lambda counts: (counts["sessions"], counts["calls"], counts["streams"]) == (2, 2, 3),
            CAP,
        )
        assert (held["sessions"], held["calls"], held["streams"]) == (2, 2, 3)
        assert held["tasks"] > before["tasks"]
        assert held["fds"] > before["fds"]
        vandal.close()
        assert (await settle(server, before, CAP)).left == {}

    asyncio.run(play())

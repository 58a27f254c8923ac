"""The faults of Redis, as a table, and when all is well again.

Redis is prepared with `inflict(server, PREPARE)` and used with the URL `with_login(server)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from tests.cluster.listening import listening
from tests.cluster.redis_server import RedisServer
from tests.cluster.shop import NEWS
from tests.cluster.wire import answer_question, call, start_session

__all__ = ["FAULTS", "PREPARE", "Fault", "inflict", "until_shared", "with_login"]

_USER = "ACL SETUSER shop on ~* &* +@all resetpass >"
PREPARE = (f"{_USER}secret",)


@dataclass(frozen=True)
class Fault:
    """Something that happens to Redis, as commands to it or methods of the process."""

    name: str
    begin: Sequence[str]
    end: Sequence[str]
    # Calls that need the store are refused.
    is_noticed: bool = True
    # What the process knows of the reason; clients are not told.
    problem: str = ""

    def __str__(self) -> str:
        return self.name


FAULTS = (
    Fault("killed", ["kill"], ["start"], problem="connecting to"),
    Fault("restarted empty", ["kill", "start"], [], is_noticed=False),
    Fault("flushed", ["FLUSHALL"], [], is_noticed=False),
    Fault("paused", ["pause"], ["resume"], problem="Timeout"),
    Fault("disconnected", ["CLIENT KILL TYPE normal"], [], is_noticed=False),
    Fault("out of memory", ["CONFIG SET maxmemory 1"], ["CONFIG SET maxmemory 0"]),
    Fault("read-only", ["REPLICAOF 127.0.0.1 1"], ["REPLICAOF NO ONE"], problem="read only"),
    Fault(
        "wrong password",
        [f"{_USER}other", "CLIENT KILL USER shop"],
        [f"{_USER}secret"],
        problem="invalid username-password",
    ),
    Fault(
        "records of another version",
        ["SET dovetail:shop:format 7", "SET dovetail:format 7", "CLIENT KILL USER shop"],
        ["DEL dovetail:shop:format", "DEL dovetail:format"],
        problem="format 7",
    ),
    Fault(
        "another type under the key of the messages",
        ["DEL dovetail:l:shop/messages", "SET dovetail:l:shop/messages text"],
        ["DEL dovetail:l:shop/messages"],
        is_noticed=False,
        problem="WRONGTYPE",
    ),
)


def inflict(server: RedisServer, steps: Sequence[str]) -> None:
    """Do the steps one after the other."""
    for step in steps:
        if step.islower():
            getattr(server, step)()
            if step == "start":
                inflict(server, PREPARE)
        else:
            answer = server.command(*step.split())
            assert not answer.startswith(b"-"), answer


def with_login(server: RedisServer) -> str:
    """The URL for the processes."""
    return f"redis://shop:secret@127.0.0.1:{server.port}/0"


async def until_shared(one: int, other: int) -> None:
    """Wait until the processes at two ports share rounds, sessions and changes."""
    while True:
        question = await call(one, "order")
        answer = await answer_question(question, other, 3)
        if answer.status == 200:
            assert answer.text == "3 ordered"
            break
        assert answer.status == 503, answer
        await asyncio.sleep(0.01)
    while (session := await start_session(one)) is None:
        await asyncio.sleep(0.01)
    while (answer := await session.call(other, "add", a=1, b=2)).status != 200:
        assert answer.status == 503, answer
        await asyncio.sleep(0.01)
    async with listening([other], 1, [NEWS]) as (listener,):
        while NEWS not in listener.told:
            await call(one, "announce")
            await asyncio.sleep(0.01)

"""The messages for one node: those to all nodes and those to it alone, from two Redis streams.

A reader continues where it stopped, so a lost connection loses no message. If messages were
trimmed before they were read, or Redis lost its contents, the feed says so.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from dovetail.errors import StoreError
from dovetail.state.redis_url import RedisUrl
from dovetail.stores.redis.connection import RedisConnection, connect

__all__ = ["EntryId", "RedisFeed", "parse_id"]

logger = logging.getLogger("dovetail")

EntryId: TypeAlias = tuple[int, int]

_START: EntryId = (0, 0)
_BATCH = 512
# Milliseconds that Redis waits for a message before it answers with nothing, and seconds more
# until the connection counts as lost.
_BLOCK_MS = 1000
_TIMEOUT = 2.0
_RETRY_SECONDS = 0.25


class RedisFeed:
    """Reads both streams on a connection of its own."""

    def __init__(
        self,
        url: RedisUrl,
        streams: tuple[bytes, bytes],
        deliver: Callable[[dict[bytes, bytes]], None],
        reset: Callable[[], None],
        emptied: Callable[[], None],
        identify: Callable[[RedisConnection], Awaitable[bytes]],
    ) -> None:
        """`deliver` gets the fields of each message, `reset` is called if some may be lost.

        `emptied` is called before `reset` if Redis has lost its contents: then `identify`, which
        reads an identifier of them, returns another one.
        """
        self._url = url
        self._streams = streams
        self._deliver = deliver
        self._reset = reset
        self._emptied = emptied
        self._identify = identify
        self._contents: bytes | None = None
        # The last message read of each stream; None before the first connection.
        self._seen: dict[bytes, EntryId] | None = None
        self._waiting: list[tuple[EntryId, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None
        # Why no message can be received at the moment; None if they can.
        self.problem: str | None = "there was no connection yet"

    async def open(self) -> None:
        """Start reading new messages; returns when the first attempt to connect has ended."""
        self._seen = None
        first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._keep_reading(first))
        await first

    async def close(self) -> None:
        """Stop reading."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        self._fail_waiting("the server has been closed")

    async def reached(self, id: bytes) -> None:
        """Wait until this message to all nodes has been read; raises StoreError."""
        wanted = parse_id(id)
        if self.problem is not None or self._seen is None:
            raise StoreError(f"messages of other processes cannot be received: {self.problem}")
        if self._seen[self._streams[0]] < wanted:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((wanted, waiting))
            await waiting

    # -- reading --------------------------------------------------------------------------------

    async def _keep_reading(self, first: asyncio.Future[None]) -> None:
        while True:
            connection: RedisConnection | None = None
            reason = "the server has been closed"
            try:
                connection = await connect(self._url, _TIMEOUT)
                await self._find_position(connection)
                self.problem = None
                if not first.done():
                    first.set_result(None)
                while True:
                    await self._read(connection)
            except StoreError as error:
                reason = error.reason
            except TimeoutError:
                reason = f"{self._url} does not answer"
            finally:
                self.problem = reason
                self._fail_waiting(reason)
                if connection is not None:
                    await connection.close(reason)
            logger.debug("the feed of messages ended: %s", reason)
            if not first.done():
                first.set_result(None)
            await asyncio.sleep(_RETRY_SECONDS * random.uniform(0.5, 1.0))

    async def _find_position(self, connection: RedisConnection) -> None:
        """Where to continue, on a new connection, or after a while without a message."""
        async with asyncio.timeout(_TIMEOUT):
            contents = await self._identify(connection)
        previous, self._contents = self._contents, contents
        newest = {name: await self._newest(connection, name) for name in self._streams}
        if self._seen is None:
            # A new node: what was sent before does not concern it.
            bus, inbox = self._streams
            self._seen = {bus: newest[bus], inbox: _START}
        elif previous != contents:
            self._seen = dict.fromkeys(self._streams, _START)
            self._emptied()
            self._lost_some()
        elif any(newest[name] < self._seen[name] for name in self._streams):
            # A replica that was behind has taken over, or the inbox has expired.
            self._seen = newest
            self._lost_some()
        else:
            await self._check_oldest(connection)

    async def _newest(self, connection: RedisConnection, name: bytes) -> EntryId:
        found = await self._do(connection, "XREVRANGE", name, "+", "-", "COUNT", 1)
        return _first_id(found) or _START

    async def _check_oldest(self, connection: RedisConnection) -> None:
        """Notice messages that were trimmed before they were read."""
        assert self._seen is not None
        for name in self._streams:
            oldest = _first_id(await self._do(connection, "XRANGE", name, "-", "+", "COUNT", 1))
            seen = self._seen[name]
            if oldest is not None and seen != _START and oldest > seen:
                self._lost_some()
                return

    def _lost_some(self) -> None:
        logger.warning("messages of other processes may be lost; clients are told to look again")
        self._reset()

    async def _read(self, connection: RedisConnection) -> None:
        assert self._seen is not None
        before = [b"%d-%d" % self._seen[name] for name in self._streams]
        # fmt: off
        answer = await self._do(
            connection, "XREAD", "COUNT", _BATCH, "BLOCK", _BLOCK_MS, "STREAMS",
            *self._streams, *before,
        )
        # fmt: on
        if not answer:
            await self._find_position(connection)
            return
        for name, entries in answer:
            for id, fields in entries:
                self._seen[name] = parse_id(id)
                try:
                    self._deliver(dict(zip(fields[::2], fields[1::2], strict=True)))
                except Exception:
                    logger.exception("a message of another process could not be handled")
        self._wake_waiting()
        if any(len(entries) == _BATCH for _, entries in answer):
            # Far behind: the next ones may be trimmed already.
            await self._check_oldest(connection)

    async def _do(self, connection: RedisConnection, *command: bytes | str | int) -> Any:
        async with asyncio.timeout(_BLOCK_MS / 1000 + _TIMEOUT):
            return await connection.send(command)

    def _wake_waiting(self) -> None:
        if self._waiting and self._seen is not None:
            seen = self._seen[self._streams[0]]
            waiting, self._waiting = self._waiting, []
            for wanted, future in waiting:
                if wanted > seen:
                    self._waiting.append((wanted, future))
                elif not future.done():
                    future.set_result(None)

    def _fail_waiting(self, reason: str) -> None:
        waiting, self._waiting = self._waiting, []
        for _, future in waiting:
            if not future.done():
                future.set_exception(StoreError(reason))


def parse_id(id: bytes) -> EntryId:
    """The two numbers of an entry id, which order entries."""
    milliseconds, _, number = id.partition(b"-")
    return int(milliseconds), int(number)


def _first_id(entries: list[list[bytes]]) -> EntryId | None:
    return parse_id(entries[0][0]) if entries else None

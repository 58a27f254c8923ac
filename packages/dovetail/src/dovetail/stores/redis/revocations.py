"""Revoked API keys on Redis, and in the memory of each process.

dovetail:NAME:revoked    a sorted set: id of a key -> the Unix time at which the key expires

A process asks its memory only. It is told of new entries by a message, and reads all of them when
it starts and when messages may have been lost. If Redis has lost its contents, processes write
back what they know.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator

from dovetail.errors import LimitError, StoreError
from dovetail.stores.redis.node import RedisNode
from dovetail.stores.redis.resp import Script

__all__ = ["RedisRevocations"]

_TOPIC = "revoked"
_MAX_REVOKED = 100_000
_RETRY_SECONDS = 0.25

# ARGV: the time now, the maximum, and the time at which the key expires with its id.
_REVOKE = Script(
    """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[1])
local is_new = not redis.call('ZSCORE', KEYS[1], ARGV[4])
if is_new and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[4])
return 1
"""
)


class RedisRevocations:
    """`SharedRevocations` on Redis."""

    def __init__(self, node: RedisNode) -> None:
        self._node = node
        self._key = node.key("revoked")
        # Id -> when the key expires; infinite if it does not.
        self._known: dict[str, float] = {}
        self._loading: asyncio.Task[None] | None = None
        self._is_stale = True
        node.on_message(_TOPIC, self._receive)
        node.on_reset(self._load_again)

    def __contains__(self, id: object) -> bool:
        """Whether a key is revoked."""
        return id in self._known

    async def revoke(self, id: str, expires: float | None) -> None:
        """Revoke a key in all processes; raises StoreError, or LimitError if there are too many.

        `expires`: the Unix time at which the key expires, when the entry is dropped.
        """
        until = math.inf if expires is None else expires
        arguments = (time.time(), _MAX_REVOKED, until, id)
        if not await self._node.client.run(_REVOKE, [self._key], arguments):
            raise LimitError(
                f"There are {_MAX_REVOKED:,} revoked keys in the cluster; let keys expire, or "
                f"remove old ones from {self._key.decode()!r} that no key file contains"
            )
        self._known[id] = until
        await self._node.publish_and_wait(_TOPIC, f"{until!r} {id}".encode())

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Read the entries on entry, or later if Redis cannot be reached."""
        if not await self._load():
            self._load_again()
        try:
            yield
        finally:
            if self._loading is not None:
                self._loading.cancel()

    def _receive(self, _node: str, message: bytes) -> None:
        until, _, id = message.decode().partition(" ")
        self._known[id] = float(until)

    def _load_again(self) -> None:
        self._is_stale = True
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._keep_loading())

    async def _keep_loading(self) -> None:
        while self._is_stale:
            if not await self._load():
                await asyncio.sleep(_RETRY_SECONDS)

    async def _load(self) -> bool:
        # Only if messages are received too: what is revoked from now on is announced by them.
        if self._node.problem is not None:
            return False
        self._is_stale = False
        client = self._node.client
        try:
            answer: list[bytes] = await client.do("ZRANGE", self._key, 0, -1, "WITHSCORES")
            ids, times = answer[::2], answer[1::2]
            stored = {id.decode(): float(until) for id, until in zip(ids, times, strict=True)}
            self._drop_expired()
            missing = self._known.keys() - stored.keys()
            if missing:
                pairs = [each for id in missing for each in (self._known[id], id)]
                await client.do("ZADD", self._key, *pairs)
        except StoreError:
            self._is_stale = True
            return False
        self._known.update(stored)
        return True

    def _drop_expired(self) -> None:
        now = time.time()
        for id in [id for id, until in self._known.items() if until <= now]:
            del self._known[id]

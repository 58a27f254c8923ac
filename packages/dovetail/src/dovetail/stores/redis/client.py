"""A connection to Redis that is made again when it is lost.

Commands fail at once while there is no connection, so nothing waits and nothing piles up.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
from collections.abc import Sequence
from typing import Any

from dovetail.errors import StoreError
from dovetail.state.redis_url import RedisUrl
from dovetail.stores.redis.connection import Prepare, RedisConnection, connect
from dovetail.stores.redis.resp import Argument, Script

__all__ = ["RedisClient"]

logger = logging.getLogger("dovetail")

# Seconds for an answer, and between two attempts to connect: the first and the longest.
_TIMEOUT = 2.0
_FIRST_DELAY = 0.05
_LONGEST_DELAY = 0.5
# Errors of a server that cannot write now; another one may be at the same address soon.
_UNUSABLE = ("READONLY", "LOADING", "MASTERDOWN", "NOAUTH")


class RedisClient:
    """Sends commands on one connection."""

    def __init__(
        self,
        url: RedisUrl,
        *,
        prepare: Prepare | None = None,
        timeout: float = _TIMEOUT,
    ) -> None:
        """`prepare` runs on every new connection before it is used; it may raise StoreError."""
        self.url = url
        self._prepare = prepare
        self._timeout = timeout
        self._connection: RedisConnection | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._problem: str | None = "there was no connection yet"
        # When a connection was made after one had been lost.
        self._returned_at = -math.inf

    @property
    def problem(self) -> str | None:
        """Why commands fail at the moment; None if there is a connection."""
        return self._problem

    @property
    def seconds_since_return(self) -> float:
        """How long ago a lost connection was made again; infinite if none was lost."""
        return asyncio.get_running_loop().time() - self._returned_at

    async def open(self) -> None:
        """Connect; returns after the first attempt, whether or not it succeeded."""
        first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._keeper = asyncio.create_task(self._keep_connected(first))
        await first

    async def close(self) -> None:
        """Disconnect; all commands fail from now on."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.wait([keeper])
        self._problem = "the server has been closed"

    # -- commands -------------------------------------------------------------------------------

    def send(self, *command: Argument) -> asyncio.Future[Any]:
        """Send a command; the future gets its answer. Raises StoreError, and so does the future."""
        if self._connection is None:
            raise StoreError(self._problem or "")
        return self._connection.send(command)

    def post(self, *command: Argument) -> None:
        """Send a command whose answer nobody needs; raises StoreError if it cannot be sent."""
        if self._connection is None:
            raise StoreError(self._problem or "")
        self._connection.post(command)

    async def do(self, *command: Argument) -> Any:
        """Send a command and return its answer; raises StoreError."""
        try:
            return await self.send(*command)
        except StoreError as error:
            self._look_at(error)
            raise

    async def run(
        self, script: Script, keys: Sequence[Argument], arguments: Sequence[Argument] = ()
    ) -> Any:
        """Run a script and return its answer; raises StoreError."""
        rest = (len(keys), *keys, *arguments)
        try:
            return await self.do("EVALSHA", script.digest, *rest)
        except StoreError as error:
            if "NOSCRIPT" not in error.reason:
                raise
        return await self.do("EVAL", script.source, *rest)

    def _look_at(self, error: StoreError) -> None:
        """Connect again if the server at the other end cannot be used any more."""
        if self._connection is not None and any(word in error.reason for word in _UNUSABLE):
            self._connection.abort(error.reason)

    # -- the connection -------------------------------------------------------------------------

    async def _keep_connected(self, first: asyncio.Future[None]) -> None:
        delay = _FIRST_DELAY
        try:
            while True:
                try:
                    connection = await connect(self.url, self._timeout, self._prepare)
                except StoreError as error:
                    if self._problem != error.reason:
                        logger.error("%s", error)
                    self._problem = error.reason
                else:
                    if await self._use(connection, first) > _LONGEST_DELAY:
                        delay = _FIRST_DELAY
                if not first.done():
                    first.set_result(None)
                # Jitter: the processes of a cluster lose their connections at the same time.
                await asyncio.sleep(delay * random.uniform(0.5, 1.0))
                delay = min(delay * 2, _LONGEST_DELAY)
        finally:
            if self._connection is not None:
                connection, self._connection = self._connection, None
                await connection.close("the server has been closed")

    async def _use(self, connection: RedisConnection, first: asyncio.Future[None]) -> float:
        """Use a connection until it has ended; returns for how long it lasted."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._connection, self._problem = connection, None
        if first.done():
            self._returned_at = began
        else:
            first.set_result(None)
        while not connection.closed.done():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(connection.closed), self._timeout / 4)
            connection.abort_if_silent(self._timeout)
        self._connection = None
        self._problem = f"the connection to {self.url} was lost: {connection.reason}"
        logger.warning("%s; connecting again", self._problem)
        return loop.time() - began

"""One connection to Redis: commands go out at once, answers arrive in the same order.

Written for this package because a call takes about 40 us of CPU, and a round trip with redis-py
more than that (docs/dependencies.md has the figures).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

import hiredis

from dovetail.errors import StoreError
from dovetail.state.redis_url import RedisUrl
from dovetail.stores.redis.resp import Argument, encode_command, handshake

__all__ = ["Prepare", "RedisConnection", "connect"]

# Bytes that may wait to be sent; beyond, commands are refused.
_MAX_UNSENT_BYTES = 64 * 1024 * 1024


class RedisConnection(asyncio.Protocol):
    """A connection; `closed` is done when it has ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._reader = hiredis.Reader()
        self._transport: asyncio.Transport | None = None
        # None: nobody waits for the answer.
        self._waiting: deque[asyncio.Future[Any] | None] = deque()
        # When the oldest command without an answer was sent, or the last answer arrived.
        self._active_at = 0.0
        self.closed: asyncio.Future[None] = loop.create_future()
        # Why it ended.
        self.reason = "it was closed by Redis"

    # -- asyncio.Protocol ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        # Not checked with isinstance: the transports of uvloop have classes of their own.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Deliver the answers that are complete."""
        reader = self._reader
        reader.feed(data)
        self._active_at = self._loop.time()
        while True:
            try:
                answer = reader.gets()
            except hiredis.ProtocolError:
                self.abort("the answer is not in the Redis protocol")
                return
            if answer is False:
                return
            if not self._waiting:
                self.abort(f"unexpected answer: {answer!s:.200}")
                return
            waiting = self._waiting.popleft()
            if waiting is None or waiting.done():
                continue
            if isinstance(answer, hiredis.ReplyError):
                waiting.set_exception(_error(answer))
            else:
                waiting.set_result(answer)

    def connection_lost(self, error: Exception | None) -> None:
        """Fail the commands that have no answer."""
        if error is not None:
            self.reason = f"it failed ({error})"
        waiting, self._waiting = self._waiting, deque()
        for each in waiting:
            if each is not None and not each.done():
                each.set_exception(self._lost())
        if not self.closed.done():
            self.closed.set_result(None)

    # -- commands -----------------------------------------------------------------------------

    def send(self, command: tuple[Argument, ...]) -> asyncio.Future[Any]:
        """Send a command; the future gets its answer, or StoreError."""
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._write(command, answer)
        return answer

    def post(self, command: tuple[Argument, ...]) -> None:
        """Send a command whose answer nobody needs; raises StoreError if it cannot be sent."""
        self._write(command, None)

    def _write(self, command: tuple[Argument, ...], answer: asyncio.Future[Any] | None) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            raise self._lost()
        if transport.get_write_buffer_size() > _MAX_UNSENT_BYTES:
            raise StoreError("too much data waits to be sent to it")
        if not self._waiting:
            self._active_at = self._loop.time()
        self._waiting.append(answer)
        transport.write(encode_command(command))

    def _lost(self) -> StoreError:
        return StoreError(f"the connection was lost: {self.reason}")

    def abort_if_silent(self, seconds: float) -> None:
        """Close the connection if an answer is overdue."""
        if self._waiting and self._loop.time() - self._active_at > seconds:
            self.abort(f"no answer within {seconds:g} seconds")

    def abort(self, reason: str) -> None:
        """Close the connection at once."""
        self.reason = reason
        if self._transport is not None:
            self._transport.abort()

    async def close(self, reason: str) -> None:
        """Close the connection and wait until it has ended."""
        self.abort(reason)
        if self._transport is not None:
            await self.closed


# Runs on a new connection before it is used; raises StoreError to refuse it.
Prepare: TypeAlias = Callable[[RedisConnection], Awaitable[None]]


async def connect(url: RedisUrl, timeout: float, prepare: Prepare | None = None) -> RedisConnection:
    """Connect, log in and prepare the connection; raises StoreError."""
    connection = RedisConnection(asyncio.get_running_loop())
    try:
        async with asyncio.timeout(timeout):
            await _open(url, connection)
            answers = [connection.send(command) for command in handshake(url)]
            # All are awaited: after a failed login, the others fail as well.
            for answer in await asyncio.gather(*answers, return_exceptions=True):
                if isinstance(answer, BaseException):
                    raise answer
            if prepare is not None:
                await prepare(connection)
            return connection
    except BaseException as error:
        await connection.close("it could not be prepared")
        if isinstance(error, TimeoutError):
            raise StoreError(f"{url} does not answer") from None
        # A host name that cannot be encoded is a UnicodeError.
        if isinstance(error, (OSError, UnicodeError)):
            reason = error.strerror if isinstance(error, OSError) else None
            raise StoreError(f"cannot connect to {url}: {reason or error}") from None
        raise


async def _open(url: RedisUrl, connection: RedisConnection) -> None:
    loop = asyncio.get_running_loop()
    if url.socket_path is not None:
        await loop.create_unix_connection(lambda: connection, url.socket_path)
    else:
        await loop.create_connection(lambda: connection, url.host, url.port, ssl=url.tls_context())


def _error(answer: hiredis.ReplyError) -> StoreError:
    return StoreError(f"Redis answered: {answer}")

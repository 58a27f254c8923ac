"""A pool of HTTP connections for servers on other machines, where connecting is slow.

On this machine every request gets a new connection: that is cheap, and an idle connection does not
block a server that handles one connection at a time.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple
from urllib.parse import urlsplit

from dovetail_check.connections.http_response import close_writer, connect

__all__ = ["ConnectionPool", "PooledConnection"]

# Servers close idle connections after five seconds or more, so older ones are not reused.
_MAX_IDLE = 2.0


class PooledConnection(NamedTuple):
    """A connection, and whether it has already carried a response."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    is_used: bool = False


class ConnectionPool:
    """The HTTP connections to one server; without `reuse`, each is closed after one request."""

    def __init__(self, *, reuse: bool) -> None:
        self._reuse = reuse
        # Scheme and host -> connections, and the time since they are idle.
        self._idle: dict[tuple[str, str], list[tuple[PooledConnection, float]]] = {}

    async def acquire(self, url: str, *, fresh: bool = False) -> PooledConnection:
        """Return a connection to the host of the URL; raises OSError."""
        now = asyncio.get_running_loop().time()
        idle = self._idle.get(_host(url), [])
        while idle and not fresh:
            connection, since = idle.pop()
            if now - since < _MAX_IDLE and not connection.reader.at_eof():
                return connection._replace(is_used=True)
            await close_writer(connection.writer)
        return PooledConnection(*await connect(url))

    async def release(self, url: str, connection: PooledConnection, *, reusable: bool) -> None:
        """Return a connection to the pool, or close it if it is not reusable."""
        if self._reuse and reusable:
            now = asyncio.get_running_loop().time()
            self._idle.setdefault(_host(url), []).append((connection, now))
        else:
            await close_writer(connection.writer)

    async def close(self) -> None:
        """Close the idle connections."""
        idle = [connection for entries in self._idle.values() for connection, _ in entries]
        self._idle.clear()
        for connection in idle:
            await close_writer(connection.writer)


def _host(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc

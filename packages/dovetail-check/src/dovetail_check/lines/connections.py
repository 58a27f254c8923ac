"""Connections that are used again, where making new ones takes long: on the way to other machines.

On this machine each request has a connection of its own. That costs nothing there, and a server
that serves one connection at a time is not kept waiting by one that is idle.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple
from urllib.parse import urlsplit

from dovetail_check.lines.http_response import close_writer, connect

__all__ = ["Connection", "Connections"]

# Servers close idle connections after five seconds and more; an older one is not trusted.
_FRESH = 2.0


class Connection(NamedTuple):
    """A connection, and whether a response came over it before."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    is_used: bool = False


class Connections:
    """Connections of one line; `keeps` says whether any is used twice."""

    def __init__(self, *, keeps: bool) -> None:
        self._keeps = keeps
        # By scheme and host: the connection, and since when nobody uses it.
        self._idle: dict[tuple[str, str], list[tuple[Connection, float]]] = {}

    async def take(self, url: str, *, fresh: bool = False) -> Connection:
        """A connection to the host of a URL; raises OSError."""
        now = asyncio.get_running_loop().time()
        idle = self._idle.get(_host(url), [])
        while idle and not fresh:
            connection, since = idle.pop()
            if now - since < _FRESH and not connection.reader.at_eof():
                return connection._replace(is_used=True)
            await close_writer(connection.writer)
        return Connection(*await connect(url))

    async def give_back(self, url: str, connection: Connection, *, is_clean: bool) -> None:
        """Keep it for the next request, if it can serve one."""
        if self._keeps and is_clean:
            now = asyncio.get_running_loop().time()
            self._idle.setdefault(_host(url), []).append((connection, now))
        else:
            await close_writer(connection.writer)

    async def close(self) -> None:
        """Close whatever is idle."""
        idle = [connection for kept in self._idle.values() for connection, _ in kept]
        self._idle.clear()
        for connection in idle:
            await close_writer(connection.writer)


def _host(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc

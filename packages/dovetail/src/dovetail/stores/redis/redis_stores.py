"""All stores of one server on Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote

from dovetail.state.redis_url import parse_url
from dovetail.stores.redis.node import RedisNode

__all__ = ["RedisStores"]


class RedisStores:
    """`SharedStores` on Redis."""

    def __init__(self, url: str, name: str) -> None:
        self.cluster = RedisNode(parse_url(url), quote(name, safe=""))

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Connect on entry, disconnect on exit; an unreachable Redis is tried again later."""
        async with self.cluster.opened():
            yield

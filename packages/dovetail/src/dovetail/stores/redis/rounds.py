"""Used rounds of questions on Redis."""

from __future__ import annotations

from dovetail.stores.redis.node import RedisNode

__all__ = ["RedisRounds"]


class RedisRounds:
    """Remembers the rounds that any process of the cluster has seen."""

    def __init__(self, node: RedisNode) -> None:
        self._node = node

    async def use(self, id: bytes, lifetime: float) -> bool:
        """Record a round for `lifetime` seconds; False if it is recorded already."""
        key = self._node.key("round", id.hex())
        milliseconds = max(1, round(lifetime * 1000))
        return await self._node.client.do("SET", key, 1, "PX", milliseconds, "NX") is not None

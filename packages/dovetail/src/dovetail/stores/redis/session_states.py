"""Values of callers on Redis.

dovetail:NAME:state:OWNER    a hash: vKEY -> value, `size` in bytes, `lifetime` in milliseconds
"""

from __future__ import annotations

import contextlib

from dovetail.errors import StoreError
from dovetail.stores.redis.node import RedisNode
from dovetail.stores.redis.resp import Script
from dovetail.stores.session_states import ENTRY_BYTES, too_large

__all__ = ["RedisSessionStates"]

# Seconds after their last use for which values without a lifetime are stored: those of a session
# whose process died are not removed by anybody.
_LONGEST = 86_400.0

_GET = Script(
    """
local found = redis.call('HMGET', KEYS[1], 'v' .. ARGV[1], 'lifetime')
if found[2] then redis.call('PEXPIRE', KEYS[1], found[2]) end
return found[1]
"""
)

# The size of an entry is that of the store in memory.
_SIZE = """
local function size_of(field, overhead)
  if redis.call('HEXISTS', KEYS[1], field) == 0 then return 0 end
  return redis.call('HSTRLEN', KEYS[1], field) + #field - 1 + overhead
end
local field = 'v' .. ARGV[1]
local size = tonumber(redis.call('HGET', KEYS[1], 'size') or 0) - size_of(field, ARGV[2])
"""

# ARGV: key, bytes that each entry counts, value, maximum, lifetime.
_SET = Script(
    f"""{_SIZE}
size = size + #ARGV[3] + #ARGV[1] + ARGV[2]
if size > tonumber(ARGV[4]) then return 0 end
redis.call('HSET', KEYS[1], field, ARGV[3], 'size', size, 'lifetime', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 1
"""
)

_DELETE = Script(
    f"""{_SIZE}
if redis.call('HDEL', KEYS[1], field) == 0 then return end
if size <= 0 then return redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], 'size', size)
redis.call('PEXPIRE', KEYS[1], redis.call('HGET', KEYS[1], 'lifetime'))
"""
)


class RedisSessionStates:
    """A `SessionStateStore` of all processes."""

    def __init__(self, node: RedisNode) -> None:
        self._node = node

    def _key(self, owner: str) -> bytes:
        return self._node.key("state", owner)

    async def get(self, owner: str, key: str) -> bytes | None:
        """The value, None if there is none; raises StoreError."""
        found: bytes | None = await self._node.client.run(_GET, [self._key(owner)], [key])
        return found

    async def set(
        self, owner: str, key: str, value: bytes, *, lifetime: float | None, max_bytes: int
    ) -> None:
        """Store a value; raises LimitError if the owner would have more than `max_bytes`."""
        milliseconds = max(1, round((_LONGEST if lifetime is None else lifetime) * 1000))
        arguments = (key, ENTRY_BYTES, value, max_bytes, milliseconds)
        if not await self._node.client.run(_SET, [self._key(owner)], arguments):
            raise too_large(max_bytes)

    async def delete(self, owner: str, key: str) -> None:
        """Remove a value, if it exists."""
        await self._node.client.run(_DELETE, [self._key(owner)], [key, ENTRY_BYTES])

    def forget(self, owner: str) -> None:
        """Remove all values of an owner; if Redis cannot be reached, they expire."""
        with contextlib.suppress(StoreError):
            self._node.client.post("UNLINK", self._key(owner))

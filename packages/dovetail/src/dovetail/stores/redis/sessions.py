"""Sessions on Redis: named fields by session id, limited in number and removed when unused.

    session:ID        the fields (a hash); expires when the session is not used
    sessions          ids by the time at which they expire (a sorted set)
    owners            owners by number of sessions (a sorted set)
    owned:OWNER       ids of one owner by the time at which they expire (a sorted set)

The limit is for all clients together. When it is reached, the owner with the most sessions loses
one, so that a client that floods the server cannot lock out the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from dovetail.errors import LimitError
from dovetail.stores.redis.node import RedisNode
from dovetail.stores.redis.resp import Argument, Script

__all__ = ["RedisSessions"]

# Seconds without use after which an owner's session may be replaced by a new one of its own.
_MIN_IDLE = 60.0
# The field that holds the owner; those of the caller contain no control characters.
_OWNER = "\0owner"

# Removes a session from the indexes.
_REMOVE = """
local function forget(id, owner)
  redis.call('ZREM', sessions, id)
  if owner then
    redis.call('ZREM', owned .. owner, id)
    if tonumber(redis.call('ZINCRBY', owners, -1, owner)) <= 0 then
      redis.call('ZREM', owners, owner)
    end
  end
end
"""
_PRELUDE = (
    """
local sessions, owners, owned, prefix = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""
    + _REMOVE
)

# Arguments: owned prefix, session prefix, id, owner, lifetime in ms, limit, idle ms, fields ...
# Returns the ids of sessions that had to end, or false if there is no room.
_ADD = Script(
    _PRELUDE
    + """
local id, owner, lifetime = ARGV[3], ARGV[4], tonumber(ARGV[5])
local limit, idle = tonumber(ARGV[6]), tonumber(ARGV[7])
-- Several processes may store the same session again after Redis has lost it.
if redis.call('EXISTS', prefix .. id) == 1 then return {} end
for _, old in ipairs(redis.call('ZRANGEBYSCORE', sessions, '-inf', now, 'LIMIT', 0, 1000)) do
  -- The fields have expired; a member names the owner as well.
  local cut = string.find(old, ' ', 1, true)
  forget(old, string.sub(old, cut + 1))
end
local ended = {}
if redis.call('ZCARD', sessions) >= limit then
  local largest = redis.call('ZREVRANGE', owners, 0, 0, 'WITHSCORES')
  local own = tonumber(redis.call('ZSCORE', owners, owner) or 0)
  local chosen
  if tonumber(largest[2]) >= own + 2 then
    chosen = largest[1]
  else
    if own > 0 then chosen = owner else chosen = largest[1] end
    local oldest = redis.call('ZRANGE', owned .. chosen, 0, 0, 'WITHSCORES')
    if #oldest == 0 or tonumber(oldest[2]) - lifetime > now - idle then return false end
  end
  local old = redis.call('ZRANGE', owned .. chosen, 0, 0)[1]
  if not old then return false end
  forget(old, chosen)
  local old_id = string.sub(old, 1, string.find(old, ' ', 1, true) - 1)
  redis.call('DEL', prefix .. old_id)
  ended[1] = old_id
end
local member = id .. ' ' .. owner
redis.call('ZADD', sessions, now + lifetime, member)
redis.call('ZADD', owned .. owner, now + lifetime, member)
redis.call('PEXPIRE', owned .. owner, lifetime)
redis.call('ZINCRBY', owners, 1, owner)
redis.call('HSET', prefix .. id, unpack(ARGV, 8))
redis.call('PEXPIRE', prefix .. id, lifetime)
return ended
"""
)

# Arguments: owned prefix, session prefix, id, lifetime in ms. Returns whether the session exists.
_TOUCH = Script(
    _PRELUDE
    + """
local key, lifetime = prefix .. ARGV[3], tonumber(ARGV[4])
local owner = redis.call('HGET', key, ARGV[5])
if not owner then return 0 end
local member = ARGV[3] .. ' ' .. owner
redis.call('PEXPIRE', key, lifetime)
redis.call('ZADD', sessions, now + lifetime, member)
redis.call('ZADD', owned .. owner, now + lifetime, member)
redis.call('PEXPIRE', owned .. owner, lifetime)
return 1
"""
)

# Arguments: owned prefix, session prefix, id, owner field. Returns whether the session existed.
_END = Script(
    _PRELUDE
    + """
local key = prefix .. ARGV[3]
local owner = redis.call('HGET', key, ARGV[4])
if not owner then return 0 end
forget(ARGV[3] .. ' ' .. owner, owner)
redis.call('DEL', key)
return 1
"""
)

# Changes fields only of a session that still exists: a hash must not come back without its index.
# Arguments: number of removed fields, removed fields ..., fields and values ...
_CHANGE = Script(
    """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local removed = tonumber(ARGV[1])
for i = 2, removed + 1 do redis.call('HDEL', KEYS[1], ARGV[i]) end
for i = removed + 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
return 1
"""
)


class RedisSessions:
    """Sessions that all processes of a cluster know."""

    def __init__(self, node: RedisNode) -> None:
        self._node = node
        self._indexes = (node.key("sessions"), node.key("owners"))
        self._prefixes = (node.key("owned", ""), node.key("session", ""))

    async def add(
        self, id: str, owner: str, fields: Mapping[str, bytes], *, limit: int, lifetime: float
    ) -> Sequence[str]:
        """Add a session; returns the ids of sessions that were ended to make room.

        Raises LimitError if there is no room, StoreError if Redis cannot be used.
        """
        hashed = sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()
        arguments: list[Argument] = [id, hashed, _ms(lifetime), limit, _ms(_MIN_IDLE)]
        arguments += [_OWNER, hashed]
        for field, value in fields.items():
            arguments += [field, value]
        ended = await self._run(_ADD, *arguments)
        if ended is None:
            raise LimitError(
                f"The server has reached its limit of {limit} sessions. Try again later."
            )
        return [each.decode() for each in ended]

    async def load(self, id: str) -> dict[str, bytes] | None:
        """The fields of a session; None if there is no such session. Raises StoreError."""
        found = await self._node.client.do("HGETALL", self._key(id))
        fields = dict(zip(found[::2], found[1::2], strict=True))
        if fields.pop(_OWNER.encode(), None) is None:
            return None
        return {field.decode(): value for field, value in fields.items()}

    async def change(self, id: str, changes: Mapping[str, bytes | None]) -> bool:
        """Change fields, None removes one; False if the session has ended. Raises StoreError."""
        removed = [field for field, value in changes.items() if value is None]
        arguments: list[Argument] = [len(removed), *removed]
        for field, value in changes.items():
            if value is not None:
                arguments += [field, value]
        return bool(await self._node.client.run(_CHANGE, [self._key(id)], arguments))

    async def touch(self, id: str, lifetime: float) -> bool:
        """Mark a session as used; False if it has ended. Raises StoreError."""
        return bool(await self._run(_TOUCH, id, _ms(lifetime), _OWNER))

    async def remove(self, id: str) -> bool:
        """End a session; False if it has ended already. Raises StoreError."""
        return bool(await self._run(_END, id, _OWNER))

    def _key(self, id: str) -> bytes:
        return self._node.key("session", id)

    async def _run(self, script: Script, *arguments: Argument) -> Any:
        return await self._node.client.run(script, self._indexes, [*self._prefixes, *arguments])


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))

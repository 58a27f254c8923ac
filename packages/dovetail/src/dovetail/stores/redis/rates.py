"""Rate limits and limits of running calls on Redis.

dovetail:NAME:rate:...       a bucket: the time at which it is full again, in microseconds
dovetail:NAME:running:...    the running calls under a limit, a set of NODE/NUMBER

One script checks all limits of a call and takes from them, so a rejected call takes nothing. It
uses the clock of Redis. A bucket expires when it is full again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import count
from typing import Any

from dovetail.errors import StoreError
from dovetail.stores.redis.node import RedisNode
from dovetail.stores.redis.resp import Argument, Script
from dovetail.stores.shared_stores import OverLimit, RateBucket, RunningLimit

__all__ = ["RedisRates"]

# Seconds after the last call until the calls under a limit are forgotten.
_RUNNING_SECONDS = 86_400
# Ends of calls that Redis has not been told yet.
_MAX_UNTOLD = 100_000

# KEYS: the buckets, then the sets of running calls. ARGV: the number of buckets; the interval and
# the capacity of each in microseconds; the limit of each set; and if there are sets: the call, the
# prefix of the keys that exist while a node is alive, and the seconds for which a set is kept.
_TAKE = Script(
    """
local buckets = tonumber(ARGV[1])
for i = buckets + 1, #KEYS do
  local limit = tonumber(ARGV[buckets + 1 + i])
  if redis.call('SCARD', KEYS[i]) >= limit then
    -- Drop the calls of processes that have ended; not on every call, there may be many.
    if redis.call('SET', KEYS[i] .. ':checked', 1, 'PX', 500, 'NX') then
      local alive = {}
      for _, call in ipairs(redis.call('SMEMBERS', KEYS[i])) do
        local node = string.match(call, '^[^/]*')
        if alive[node] == nil then
          alive[node] = redis.call('EXISTS', ARGV[#ARGV - 1] .. node)
        end
        if alive[node] == 0 then redis.call('SREM', KEYS[i], call) end
      end
    end
    if redis.call('SCARD', KEYS[i]) >= limit then return {i, 0} end
  end
end
local time = redis.call('TIME')
local now, full_at = time[1] * 1000000 + time[2], {}
for i = 1, buckets do
  local interval, capacity = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  -- The upper bound matters if the clock was set back, or if the rate was changed.
  local full = math.max(now, tonumber(redis.call('GET', KEYS[i]) or now) or now)
  full = math.min(full, now + capacity) + interval
  local wait = full - capacity - now
  -- A microsecond for rounding errors.
  if wait > 1 then return {i, math.ceil(wait)} end
  full_at[i] = full
end
for i = 1, buckets do
  local milliseconds = math.ceil((full_at[i] - now) / 1000)
  redis.call('SET', KEYS[i], string.format('%.3f', full_at[i]), 'PX', milliseconds)
end
for i = buckets + 1, #KEYS do
  redis.call('SADD', KEYS[i], ARGV[#ARGV - 2])
  redis.call('EXPIRE', KEYS[i], ARGV[#ARGV])
end
return 0
"""
)


class RedisRates:
    """`SharedRates` on Redis."""

    def __init__(self, node: RedisNode) -> None:
        self._node = node
        self._node_prefix = node.key("node", "")
        self._numbers = count(1)
        self._times: dict[tuple[float, float], tuple[bytes, bytes]] = {}
        # Call -> the sets that still contain it, because Redis could not be reached.
        self._untold: dict[str, list[bytes]] = {}

    async def take(
        self, buckets: Sequence[RateBucket], running: Sequence[RunningLimit] = ()
    ) -> OverLimit | str:
        """Count a call if no limit is reached; returns its name for `release`. Raises StoreError.

        Otherwise returns a limit that is reached.
        """
        node = self._node
        keys = [node.key("rate", bucket.name) for bucket in buckets]
        arguments: list[Argument] = [len(keys)]
        for bucket in buckets:
            arguments += self._times.get(bucket[1:]) or self._add_times(bucket)
        if not running:
            return _read(await node.client.run(_TAKE, keys, arguments), "")
        call = f"{node.node}/{next(self._numbers)}"
        sets = [node.key("running", each.name) for each in running]
        arguments += [each.limit for each in running]
        arguments += (call, self._node_prefix, _RUNNING_SECONDS)
        if self._untold:
            self._tell_again()
        try:
            return _read(await node.client.run(_TAKE, [*keys, *sets], arguments), call)
        except (StoreError, asyncio.CancelledError):
            # Whether the call was counted is unknown.
            self._tell(call, sets)
            raise

    def _add_times(self, bucket: RateBucket) -> tuple[bytes, bytes]:
        """The interval and the capacity of a bucket, encoded once: there are few rates."""
        interval = 1e6 / bucket.per_second
        times = repr(interval).encode(), repr(interval * bucket.burst).encode()
        self._times[bucket[1:]] = times
        return times

    def release(self, call: str, running: Sequence[RunningLimit]) -> None:
        """Count a call as finished."""
        self._tell(call, [self._node.key("running", each.name) for each in running])

    def _tell(self, call: str, sets: list[bytes]) -> None:
        """Remove a call from its sets, later if Redis cannot be reached now."""
        client = self._node.client

        def check(sent: asyncio.Future[Any]) -> None:
            if sent.cancelled() or sent.exception() is not None:
                self._remember(call, sets)

        try:
            # The answer to the last command tells that the connection has lasted.
            for each in sets[:-1]:
                client.post("SREM", each, call)
            client.send("SREM", sets[-1], call).add_done_callback(check)
        except StoreError:
            self._remember(call, sets)

    def _remember(self, call: str, sets: list[bytes]) -> None:
        if len(self._untold) < _MAX_UNTOLD:
            self._untold[call] = sets

    def _tell_again(self) -> None:
        if self._node.client.problem is None:
            untold, self._untold = self._untold, {}
            for call, sets in untold.items():
                self._tell(call, sets)


def _read(answer: Any, call: str) -> OverLimit | str:
    if answer == 0:
        return call
    position, wait = answer
    return OverLimit(position - 1, wait / 1e6)

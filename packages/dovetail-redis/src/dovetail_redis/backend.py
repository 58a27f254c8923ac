"""A backend on Redis 6.2 or newer, which processes on many machines share.

All keys begin with `dovetail:`, or `dovetail:NAME/` for a URL with `?name=NAME`:

v:KEY       a value: eight bytes of version, then the data
t:LIMIT     when a limit that refills is full again, in microseconds
h:LIMIT     the holders of a limit (a sorted set by expiry, in microseconds)
l:LOG       a log (a stream); an id is the position, at least the time in microseconds
e:LEASE     the token of a lease
token       the last token
format      the version of the records
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Any, TypeVar

import redis.asyncio as redis_py
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ReadOnlyError, RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from dovetail.errors import StoreError
from dovetail.state import (
    ABSENT,
    Backend,
    Entry,
    Inbox,
    Lease,
    Limit,
    LogPage,
    Published,
    Refusal,
    Retention,
    Value,
)
from dovetail_redis.url import parse_url

__all__ = ["RedisBackend"]

logger = logging.getLogger("dovetail")

T = TypeVar("T")

# redis-py raises AttributeError if a connection is closed while it is being written to.
_ERRORS = (RedisError, OSError, UnicodeError, AttributeError)

# Seconds for an answer and for a connection.
_TIMEOUT = 2.0
_CONNECTIONS = 16
# Seconds after a missing answer in which commands fail at once, so that not every call waits for
# it, and seconds after which the same problem is logged again.
_AWAY = 0.5
_LOG_SECONDS = 10.0
# Seconds between two attempts to subscribe, the first and the longest.
_FIRST_DELAY = 0.05
_LONGEST_DELAY = 0.5
# Seconds between two attempts to cancel the listener.
_STOP_AGAIN = 0.1
_VERSION_BYTES = 8
# Milliseconds after the last lease for which the last token is kept; then the clock is ahead of it.
_TOKEN_MS = 86_400_000
_SCAN = 1000
# Kinds of operations that may fail alone: without memory, or for a user without all rights.
_READS, _WRITES, _SCRIPTS, _MESSAGES = "reads", "writes", "scripts", "messages"
# The version of the records; backends with different ones refuse to work on the same keys.
_FORMAT = b"1"

# KEYS: the value, the lease. ARGV: the expected version ("": none, "*": any), the token or "", and
# for a write the value with its version and its time in milliseconds (0: it does not expire).
_MAY_WRITE = """
if ARGV[2] ~= '' and redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
if ARGV[1] ~= '*' and redis.call('GETRANGE', KEYS[1], 0, 7) ~= ARGV[1] then return 0 end
"""
_SET = f"""{_MAY_WRITE}
redis.call('SET', KEYS[1], ARGV[3])
if ARGV[4] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
return 1
"""
_DELETE = f"{_MAY_WRITE} return redis.call('DEL', KEYS[1])"

_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
"""
# KEYS: the limits. ARGV: the holder, its milliseconds, and capacity and rate of each limit.
_TAKE = f"""{_NOW}
local full_at = {{}}
for i = 1, #KEYS do
  local capacity, rate = tonumber(ARGV[2 * i + 1]), tonumber(ARGV[2 * i + 2])
  if rate == 0 then
    if redis.call('ZCARD', KEYS[i]) >= capacity then
      redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now)
    end
    if redis.call('ZCARD', KEYS[i]) >= capacity and not redis.call('ZSCORE', KEYS[i], ARGV[1]) then
      return {{i, 0}}
    end
  else
    -- The upper bound matters if the clock was set back, or if the rate was changed.
    local full = math.max(now, tonumber(redis.call('GET', KEYS[i]) or now))
    full = math.min(full, now + capacity / rate * 1000000) + 1000000 / rate
    local wait = full - capacity / rate * 1000000 - now
    -- A microsecond for rounding errors.
    if wait > 1 then return {{i, math.ceil(wait)}} end
    full_at[i] = full
  end
end
for i = 1, #KEYS do
  if full_at[i] then
    local milliseconds = math.ceil((full_at[i] - now) / 1000)
    redis.call('SET', KEYS[i], string.format('%.3f', full_at[i]), 'PX', milliseconds)
  else
    redis.call('ZADD', KEYS[i], string.format('%.0f', now + ARGV[2] * 1000), ARGV[1])
    if redis.call('PTTL', KEYS[i]) < tonumber(ARGV[2]) then
      redis.call('PEXPIRE', KEYS[i], ARGV[2])
    end
  end
end
return 0
"""
# KEYS: the log, the lease. ARGV: the data, the count, the bytes and the milliseconds to keep, the
# channel, the token or "". Fields of an entry: p, the position before; t, the bytes up to here; d.
_APPEND = f"""{_NOW}
if ARGV[6] ~= '' and redis.call('GET', KEYS[2]) ~= ARGV[6] then return false end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local previous, total = 0, #ARGV[1]
if last then
  previous, total = tonumber(string.match(last[1], '%d+')), total + last[2][4]
end
local position = string.format('%.0f', math.max(now, previous + 1))
redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[2], position .. '-0',
  'p', string.format('%.0f', previous), 't', string.format('%.0f', total), 'd', ARGV[1])
redis.call('XTRIM', KEYS[1], 'MINID', string.format('%.0f', now - ARGV[4] * 1000))
while true do
  local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  if first[1] == position .. '-0' or total - first[2][4] + #first[2][6] <= tonumber(ARGV[3]) then
    break
  end
  redis.call('XDEL', KEYS[1], first[1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PUBLISH', ARGV[5], '')
return position
"""
# KEYS: the lease, the last token. ARGV: milliseconds of the lease and of the last token.
_ACQUIRE = f"""{_NOW}
if redis.call('EXISTS', KEYS[1]) == 1 then return false end
local token = math.max(now, tonumber(redis.call('GET', KEYS[2]) or 0) + 1)
token = string.format('%.0f', token)
redis.call('SET', KEYS[1], token, 'PX', ARGV[1])
redis.call('SET', KEYS[2], token, 'PX', ARGV[2])
return token
"""
# KEYS: the lease. ARGV: the token, the milliseconds.
_RENEW = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""
_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"


class RedisBackend(Backend):
    """State on Redis."""

    def __init__(self, url: str) -> None:
        """`url` is redis://, rediss:// or unix://; raises UsageError."""
        self._url = parse_url(url)
        name = "" if self._url.name is None else f"{self._url.name}/"
        self._prefix = f"dovetail:{name}"
        # Channels do not belong to a database.
        self._channels = f"dovetail:{self._url.database}:{name}"
        self._inboxes: dict[str, list[Inbox]] = {}
        # Done when Redis has confirmed the subscription; and the channels of which messages may
        # have been lost until then.
        self._subscribed: dict[str, asyncio.Future[None]] = {}
        self._gaps: set[str] = set()
        self._pubsub: Any = None
        self._listener: asyncio.Task[None] | None = None
        self._redis: Any = None
        # By kind of operation: why it fails, and the last problem in the log with its time.
        self._problems: dict[str, str] = {}
        self._logged: dict[str, tuple[str, float]] = {}
        # Until when no command is tried, and why.
        self._away_until, self._away = -math.inf, ""

    async def open(self) -> None:
        """Prepare the connections, which are made when they are needed."""
        url = self._url
        where: dict[str, Any] = {"host": url.host, "port": url.port}
        kind: Any = redis_py.SSLConnection if url.tls else redis_py.Connection
        if url.socket_path is not None:
            kind, where = redis_py.UnixDomainSocketConnection, {"path": url.socket_path}
        self._redis = redis_py.Redis.from_pool(
            redis_py.BlockingConnectionPool(
                _CONNECTIONS,
                _TIMEOUT,
                connection_class=kind,
                db=url.database,
                username=url.username,
                password=url.password,
                client_name="dovetail",
                redis_connect_func=self._join,
                socket_timeout=_TIMEOUT,
                socket_connect_timeout=_TIMEOUT,
                # Whether a command that got no answer took effect is unknown.
                retry=Retry(NoBackoff(), 0),
                **where,
            )
        )
        self._scripts = {
            source: self._redis.register_script(source)
            for source in (_SET, _DELETE, _TAKE, _APPEND, _ACQUIRE, _RENEW, _RELEASE)
        }

    async def _join(self, connection: Any) -> None:
        """Log in on a new connection, and check the version of the records."""
        await connection.on_connect()
        key = f"{self._prefix}format"
        await connection.send_command("GET", key)
        found = await connection.read_response()
        if found is None:
            await connection.send_command("SET", key, _FORMAT, "NX")
            # What is stored can be read although nothing can be written.
            with contextlib.suppress(ResponseError):
                await connection.read_response()
        elif found != _FORMAT:
            raise RedisConnectionError(
                f"its records have the format {found.decode('ascii', 'replace'):.20}, this version "
                f"needs {_FORMAT.decode()}; use the same version in all processes, or another name "
                "in the URL (?name=NAME)"
            )

    async def close(self) -> None:
        """Close all connections."""
        listener, self._listener = self._listener, None
        while listener is not None and not listener.done():
            # Again, because redis-py turns some cancellations into errors of the connection.
            listener.cancel()
            await asyncio.wait([listener], timeout=_STOP_AGAIN)
        redis, self._redis = self._redis, None
        if redis is not None:
            await redis.aclose()

    async def _do(self, command: Awaitable[T], kind: str = _READS) -> T:
        try:
            answer = await command
        except _ERRORS as error:
            problem = StoreError(f"{self._url}: {str(error) or type(error).__name__}")
            self._note(kind, problem.reason)
            await self._look_at(error, problem)
            raise problem from None
        if self._problems:
            self._note(kind, None)
        return answer

    def _note(self, kind: str, problem: str | None) -> None:
        """Set why a kind of operations fails, or that it succeeds, and log a new problem."""
        if problem is None:
            self._problems.pop(kind, None)
        else:
            self._problems[kind] = problem
            now = asyncio.get_running_loop().time()
            logged, at = self._logged.get(kind, ("", 0.0))
            if problem != logged or now - at > _LOG_SECONDS:
                self._logged[kind] = problem, now
                logger.error("%s", StoreError(problem))
        self.problem = next(iter(self._problems.values()), None)

    async def _look_at(self, error: Exception, problem: StoreError) -> None:
        """Drop the idle connections to a server that cannot be used.

        They are lost as well, or another server will be at the address soon.
        """
        if isinstance(error, RedisTimeoutError):
            self._away_until = asyncio.get_running_loop().time() + _AWAY
            self._away = problem.reason
        is_lost = isinstance(error, RedisConnectionError | RedisTimeoutError | ReadOnlyError)
        if is_lost and self._redis is not None:
            with contextlib.suppress(*_ERRORS):
                await self._redis.connection_pool.disconnect(inuse_connections=False)

    @property
    def _commands(self) -> Any:
        if self._redis is None:
            raise StoreError(f"{self._url}: the backend is not open")
        if asyncio.get_running_loop().time() < self._away_until:
            raise StoreError(self._away)
        return self._redis

    async def _run(self, script: str, keys: Sequence[str], *arguments: Any) -> Any:
        client = self._commands
        return await self._do(
            self._scripts[script](keys=keys, args=arguments, client=client), _SCRIPTS
        )

    def _key(self, kind: str, name: str) -> str:
        return f"{self._prefix}{kind}:{name}"

    # -- values ---------------------------------------------------------------------------------

    async def get(self, key: str, *, ttl: float | None = None) -> Value | None:
        """The value of a key."""
        name, commands = self._key("v", key), self._commands
        get = commands.get(name) if ttl is None else commands.getex(name, px=_ms(ttl))
        found: bytes | None = await self._do(get)
        return None if found is None else _value(found)

    async def set(
        self,
        key: str,
        data: bytes,
        *,
        ttl: float | None = None,
        version: int | None = None,
        fence: Lease | None = None,
    ) -> int | None:
        """Store a value; returns its version, or None if a condition is not met."""
        new = random.getrandbits(52) or 1
        stored, name = _pack(new) + data, self._key("v", key)
        if fence is None and version in (None, ABSENT):
            px = None if ttl is None else _ms(ttl)
            command = self._commands.set(name, stored, px=px, nx=version == ABSENT)
            is_set = await self._do(command, _WRITES)
        else:
            keys, conditions = self._conditions(name, version, fence)
            px = 0 if ttl is None else _ms(ttl)
            is_set = await self._run(_SET, keys, *conditions, stored, px)
        return new if is_set else None

    async def delete(
        self, key: str, *, version: int | None = None, fence: Lease | None = None
    ) -> bool:
        """Delete a value; whether there was one to delete."""
        keys, conditions = self._conditions(self._key("v", key), version, fence)
        return bool(await self._run(_DELETE, keys, *conditions))

    def _conditions(
        self, name: str, version: int | None, fence: Lease | None
    ) -> tuple[list[str], tuple[bytes | str, int | str]]:
        expected = "*" if version is None else _pack(version) if version else ""
        if fence is None:
            return [name, name], (expected, "")
        return [name, self._key("e", fence.name)], (expected, fence.token)

    async def scan(self, prefix: str) -> AsyncIterator[tuple[str, Value]]:
        """The values whose keys have this prefix; searches the whole database."""
        escaped = "".join(f"\\{each}" if each in "*?[]^\\" else each for each in prefix)
        start = len(self._key("v", ""))
        cursor, seen = 0, set[bytes]()
        while True:
            scan = self._commands.scan(cursor, self._key("v", escaped) + "*", _SCAN)
            cursor, names = await self._do(scan)
            # Redis may return a key twice.
            names = [name for name in dict.fromkeys(names) if name not in seen]
            seen.update(names)
            values = await self._do(self._commands.mget(names)) if names else ()
            for name, value in zip(names, values, strict=True):
                if value is not None:
                    yield name.decode(errors="surrogateescape")[start:], _value(value)
            if not cursor:
                return

    # -- limits ---------------------------------------------------------------------------------

    async def take(
        self, limits: Sequence[Limit], *, holder: str = "", ttl: float = 0.0
    ) -> Refusal | None:
        """Take a token of every limit, or of none if one of them is reached."""
        keys, arguments = [], []
        for limit in limits:
            keys.append(self._key("t" if limit.per_second else "h", limit.name))
            arguments += [repr(float(limit.capacity)), repr(float(limit.per_second))]
        answer = await self._run(_TAKE, keys, holder, _ms(ttl), *arguments)
        return None if answer == 0 else Refusal(answer[0] - 1, answer[1] / 1e6)

    async def give_back(self, names: Sequence[str], holder: str) -> None:
        """Give back the tokens of a holder."""
        async with self._commands.pipeline(transaction=False) as pipeline:
            for name in names:
                pipeline.zrem(self._key("h", name), holder)
            await self._do(pipeline.execute())

    # -- logs -----------------------------------------------------------------------------------

    async def append(
        self, log: str, data: bytes, retention: Retention, *, fence: Lease | None = None
    ) -> int | None:
        """Append an entry and trim the log; returns its position, or None without the lease."""
        lease = log if fence is None else fence.name
        position = await self._run(
            _APPEND,
            [self._key("l", log), self._key("e", lease)],
            *(data, retention.max_entries, retention.max_bytes, _ms(retention.max_age)),
            *(self._channels + log, "" if fence is None else fence.token),
        )
        return None if position is None else int(position)

    async def read(self, log: str, after: int = 0, limit: int = 1000) -> LogPage:
        """The first entries after a position."""
        name = self._key("l", log)
        found = await self._do(self._commands.xrange(name, f"{after}-0", "+", limit + 1))
        rows = [(int(id.partition(b"-")[0]), fields) for id, fields in found]
        is_complete = after == 0
        if rows:
            is_complete = after in (rows[0][0], int(rows[0][1].get(b"p", -1)))
        entries = [
            Entry(position, fields.get(b"d", b"")) for position, fields in rows if position > after
        ]
        return LogPage(entries[:limit], not is_complete)

    async def drop(self, log: str) -> None:
        """Delete a log."""
        await self._do(self._commands.delete(self._key("l", log)))

    # -- messages -------------------------------------------------------------------------------

    async def publish(self, channel: str, data: bytes) -> None:
        """Send a message to all subscribers."""
        await self._do(self._commands.publish(self._channels + channel, data))

    @contextlib.asynccontextmanager
    async def subscribe(self, *channels: str) -> AsyncIterator[AsyncIterator[Published]]:
        """Receive the messages that are published while the context is open."""
        inbox = Inbox()
        for channel in channels:
            self._inboxes.setdefault(channel, []).append(inbox)
        if self._listener is None:
            self._listener = asyncio.create_task(self._listen())
        try:
            await self._add_channels(channels)
            yield inbox
        finally:
            for channel in channels:
                self._inboxes[channel].remove(inbox)
                if not self._inboxes[channel]:
                    del self._inboxes[channel]
                    self._subscribed.pop(channel, None)
                    self._gaps.discard(channel)
                    if self._pubsub is not None:
                        with contextlib.suppress(*_ERRORS):
                            await self._pubsub.unsubscribe(self._channels + channel)

    async def _add_channels(self, channels: Sequence[str]) -> None:
        """Subscribe, and wait for Redis to confirm it; the listener does so when it connects."""
        loop = asyncio.get_running_loop()
        for channel in channels:
            if channel not in self._subscribed:
                self._subscribed[channel] = loop.create_future()
                if self._pubsub is not None:
                    with contextlib.suppress(*_ERRORS):
                        await self._pubsub.subscribe(self._channels + channel)
        waiting = {self._subscribed[channel]: channel for channel in channels}
        # Not longer than for an answer, and not at all if Redis was not there a moment ago.
        if not self._gaps:
            await asyncio.wait(waiting, timeout=_TIMEOUT)
        self._gaps.update(channel for each, channel in waiting.items() if not each.done())

    async def _listen(self) -> None:
        """Receive messages on one connection, which is made again when it is lost."""
        delay = _FIRST_DELAY
        while True:
            pubsub = self._redis.pubsub()
            try:
                await self._receive(pubsub)
            except _ERRORS as error:
                self._note(_MESSAGES, f"{self._url}: no messages are received: {error}")
                if self._pubsub is not None:
                    delay = _FIRST_DELAY
            finally:
                self._pubsub = None
                self._forget_subscriptions()
                with contextlib.suppress(*_ERRORS):
                    await pubsub.aclose()
            # Jitter: the processes of a cluster lose their connections at the same time.
            await asyncio.sleep(delay * random.uniform(0.5, 1.0))
            delay = min(delay * 2, _LONGEST_DELAY)

    def _forget_subscriptions(self) -> None:
        """Messages may be lost from now on until there is a new subscription."""
        loop = asyncio.get_running_loop()
        for channel, subscribed in self._subscribed.items():
            self._gaps.add(channel)
            if subscribed.done():
                self._subscribed[channel] = loop.create_future()

    async def _receive(self, pubsub: Any) -> None:
        start = len(self._channels)
        # Always one channel, so that the connection is made.
        await pubsub.subscribe(*(self._channels + each for each in ("", *self._subscribed)))
        self._pubsub = pubsub
        self._note(_MESSAGES, None)
        waits_for_answer = False
        while True:
            message = await pubsub.get_message(timeout=_TIMEOUT / 2)
            if message is None:
                if waits_for_answer:
                    raise OSError(f"no answer within {_TIMEOUT:g} seconds")
                waits_for_answer = True
                await pubsub.ping()
                continue
            waits_for_answer = False
            if message["type"] not in ("message", "subscribe"):
                continue
            channel = message["channel"].decode()[start:]
            inboxes = self._inboxes.get(channel, ())
            if message["type"] == "message":
                for inbox in inboxes:
                    inbox.put(Published(channel, message["data"]))
                continue
            subscribed = self._subscribed.get(channel)
            if subscribed is not None and not subscribed.done():
                subscribed.set_result(None)
            if channel in self._gaps:
                self._gaps.discard(channel)
                for inbox in inboxes:
                    inbox.put(Published("", None))

    # -- leases ---------------------------------------------------------------------------------

    async def acquire(self, name: str, holder: str, ttl: float) -> Lease | None:
        """Get a name for `ttl` seconds; None if it is held."""
        keys = [self._key("e", name), f"{self._prefix}token"]
        token = await self._run(_ACQUIRE, keys, _ms(ttl), _TOKEN_MS)
        return None if token is None else Lease(name, holder, int(token))

    async def renew(self, lease: Lease, ttl: float) -> bool:
        """Keep a lease; False if it is lost."""
        return bool(await self._run(_RENEW, [self._key("e", lease.name)], lease.token, _ms(ttl)))

    async def release(self, lease: Lease) -> None:
        """Give a lease back, if it is still held."""
        await self._run(_RELEASE, [self._key("e", lease.name)], lease.token)


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def _pack(version: int) -> bytes:
    return version.to_bytes(_VERSION_BYTES, "big")


def _value(stored: bytes) -> Value:
    version = int.from_bytes(stored[:_VERSION_BYTES], "big")
    return Value(stored[_VERSION_BYTES:], version)

"""The state of a server: where it is, and what is stored there for several parts of the server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import time
from collections.abc import AsyncIterator, Coroutine
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from dovetail import state as backends
from dovetail.errors import LimitError, MissingPackageError, StoreError, UsageError
from dovetail.state import ABSENT, Backend, MemoryBackend
from dovetail.state.backend import stop_task

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["CLUSTER", "Revocations", "ServerState", "SessionStates", "UsedRounds", "open_state"]

logger: logging.Logger = logging.getLogger("dovetail")

# The environment variable with the URL.
CLUSTER = "DOVETAIL_CLUSTER"
# The entry points of backends: the scheme of a URL, and what takes the URL and returns a Backend.
_GROUP = "dovetail.backends"
# Distributions that have some, so that an error names them before they are installed.
_KNOWN = {"dovetail-redis": ("redis", "rediss", "unix")}

# Seconds between two attempts to read the revoked keys, and until a look whether they are still
# stored: a backend may lose its contents.
_RETRY = 0.25
_LOOK_AGAIN = 10.0
# What a value of a session counts besides its key and itself, so that their number is limited too.
_ENTRY_BYTES = 100
# Seconds after their last use for which values of a session are stored: those of a session whose
# process died are not removed by anybody.
_LONGEST = 86_400.0
# Seconds that closing waits for what is still being stored or removed.
_CLOSING = 1.0


class ServerState:
    """A backend, and the name that separates the servers that use it."""

    def __init__(self, backend: Backend, name: str, *, is_shared: bool = True) -> None:
        """`is_shared`: whether other processes may have the same state."""
        self.backend = backend
        self.is_shared = is_shared
        self._name = quote(name, safe="")
        self._running: set[asyncio.Task[None]] = set()
        self.used_rounds: UsedRounds = UsedRounds(self)
        self.revocations: Revocations = Revocations(self)
        self.session_states: SessionStates = SessionStates(self)

    def key(self, *parts: str) -> str:
        """The name of something of this server."""
        return "/".join((self._name, *parts))

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Open the backend; one that cannot be reached is tried again later."""
        async with self.backend.opened(), self.revocations.opened():
            try:
                yield
            finally:
                await self.close()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run what nobody waits for; closing does, for a moment."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def close(self) -> None:
        """Wait a moment for what was started."""
        if self._running:
            await asyncio.wait(self._running, timeout=_CLOSING)


def open_state(given: Backend | str | None, name: str) -> ServerState:
    """The state of a server; raises UsageError.

    The environment takes precedence: a server is written once and runs in several places.
    """
    given = os.environ.get(CLUSTER) or given
    if isinstance(given, str):
        backend = _make_backend(given)
    elif given is None or isinstance(given, Backend):
        backend = MemoryBackend() if given is None else given
    else:
        raise UsageError(f"Options.state: expected a Backend or its URL, got {given!r:.100}")
    return ServerState(backend, name, is_shared=not isinstance(backend, MemoryBackend))


def _make_backend(url: str) -> Backend:
    """The backend for a URL; errors do not show what follows the scheme, it may be a password."""
    scheme, separator, rest = url.partition("://")
    if url == "memory://":
        return MemoryBackend()
    if scheme == "sqlite" and rest[:1] == "/" and rest[1:]:
        return backends.SQLiteBackend(rest[1:])
    if separator:
        # It loads the packages for e-mail and archives, and most servers do not need it.
        from importlib.metadata import entry_points  # noqa: PLC0415

        installed = entry_points(group=_GROUP)
        if scheme in installed.names:
            return _load_backend(installed[scheme], url)
        for distribution, schemes in _KNOWN.items():
            if scheme in schemes:
                raise MissingPackageError(f"Options.state: {scheme}://", distribution, distribution)
    raise UsageError(
        "Options.state: expected a Backend, redis://HOST:PORT/DATABASE, rediss://, unix://, "
        "sqlite:///PATH (three slashes), memory:// or the URL of another backend that is "
        f"installed, got {scheme + separator!r}..."
    )


def _load_backend(found: EntryPoint, url: str) -> Backend:
    try:
        make = found.load()
    except ModuleNotFoundError as error:
        distribution = found.dist.name if found.dist is not None else found.module
        raise MissingPackageError(
            f"Options.state: {found.name}://", error.name or found.module, distribution
        ) from None
    backend = make(url)
    if not isinstance(backend, Backend):
        raise UsageError(
            f"Options.state: {found.value}, the entry point {found.name!r} in {_GROUP}, returned "
            f"{type(backend).__name__}; expected a Backend"
        )
    return backend


class UsedRounds:
    """Remembers the rounds of questions that any process has seen."""

    def __init__(self, state: ServerState) -> None:
        self._state = state

    async def use(self, id: bytes, lifetime: float) -> bool:
        """Record a round for `lifetime` seconds; False if it is recorded already."""
        key = self._state.key("used", id.hex())
        added = await self._state.backend.set(key, b"", ttl=lifetime, version=ABSENT)
        return added is not None


class Revocations:
    """The API keys that are revoked in all processes.

    A process asks its memory only. It is told of new entries by a message, and reads all of them
    when it starts and when messages may have been lost. If the backend has lost its contents,
    processes write back what they know.
    """

    def __init__(self, state: ServerState) -> None:
        self._state = state
        # Id -> the Unix time at which the key expires; infinite if it does not.
        self._known: dict[str, float] = {}

    def __contains__(self, id: object) -> bool:
        """Whether a key is revoked."""
        return id in self._known

    async def revoke(self, id: str, expires: float | None) -> None:
        """Revoke a key in all processes; raises StoreError.

        `expires`: the Unix time at which the key expires, when the entry is dropped.
        """
        until = math.inf if expires is None else expires
        await self._store(id, until)
        self._known[id] = until
        await self._state.backend.publish(self._channel, f"{until!r} {id}".encode())

    @property
    def _channel(self) -> str:
        return self._state.key("revoked")

    async def _store(self, id: str, until: float) -> None:
        ttl = None if until == math.inf else max(0.001, until - time.time())
        await self._state.backend.set(f"{self._channel}/{id}", repr(until).encode(), ttl=ttl)

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Read the entries on entry, or later if the backend cannot be reached."""
        tried = asyncio.Event()
        following = asyncio.create_task(self._follow(tried))
        try:
            await tried.wait()
            yield
        finally:
            await stop_task(following)

    async def _follow(self, tried: asyncio.Event) -> None:
        async with self._state.backend.subscribe(self._channel) as messages:
            await self._read(tried)
            while True:
                try:
                    async with asyncio.timeout(_LOOK_AGAIN):
                        message = await anext(messages)
                except TimeoutError:
                    await self._read_if_missing()
                    continue
                if message.data is None:
                    await self._read(tried)
                else:
                    until, _, id = message.data.partition(b" ")
                    found = _read_time(until)
                    if found is not None:
                        self._known[id.decode(errors="replace")] = found

    async def _read(self, tried: asyncio.Event) -> None:
        while True:
            try:
                await self._read_all()
                return
            except StoreError:
                pass
            finally:
                tried.set()
            await asyncio.sleep(_RETRY)

    async def _read_all(self) -> None:
        prefix = f"{self._channel}/"
        stored: dict[str, float] = {}
        async for key, value in self._state.backend.scan(prefix):
            until = _read_time(value.data)
            if until is not None:
                stored[key.removeprefix(prefix)] = until
        now = time.time()
        self._known = {id: until for id, until in self._known.items() if until > now}
        for id, until in tuple(self._known.items()):
            if id not in stored:
                await self._store(id, until)
        self._known.update(stored)

    async def _read_if_missing(self) -> None:
        with contextlib.suppress(StoreError):
            for id in self._known:
                if await self._state.backend.get(f"{self._channel}/{id}") is None:
                    await self._read_all()
                return


def _read_time(data: bytes) -> float | None:
    """A stored time; None, with a line in the log, for what this server did not write."""
    try:
        return float(data)
    except ValueError:
        logger.warning("ignored a revoked key: its time is %.50r", data)
        return None


class SessionStates:
    """Values by owner and key, which handlers keep for a caller between requests.

    All values of an owner are one value of the backend.
    """

    def __init__(self, state: ServerState) -> None:
        self._state = state

    async def get(self, owner: str, key: str) -> bytes | None:
        """The value, None if there is none."""
        name = self._state.key("session state", owner)
        found = await self._state.backend.get(name)
        if found is None:
            return None
        lifetime, values = _unpack(found.data)
        await self._state.backend.get(name, ttl=lifetime)
        return values.get(key)

    async def set(
        self, owner: str, key: str, value: bytes, *, lifetime: float | None, max_bytes: int
    ) -> None:
        """Store a value; raises LimitError if the owner would have more than `max_bytes`."""

        def change(values: dict[str, bytes]) -> None:
            values[key] = value
            size = sum(len(each.encode()) + len(raw) for each, raw in values.items())
            if size + _ENTRY_BYTES * len(values) > max_bytes:
                raise LimitError(
                    f"The session state of this caller is over its limit of {max_bytes:,} bytes; "
                    "delete values that are no longer needed"
                )

        await self._change(owner, change, lifetime or _LONGEST)

    async def delete(self, owner: str, key: str) -> None:
        """Remove a value, if it exists."""
        await self._change(owner, lambda values: values.pop(key, None), None)

    async def _change(self, owner: str, change: Any, lifetime: float | None) -> None:
        """Change the values of an owner, again if somebody else has changed them meanwhile."""
        backend, name = self._state.backend, self._state.key("session state", owner)
        while True:
            found = await backend.get(name)
            known, values = (_LONGEST, {}) if found is None else _unpack(found.data)
            change(values)
            version = ABSENT if found is None else found.version
            if not values:
                if found is None or await backend.delete(name, version=version):
                    return
                continue
            ttl = lifetime or known
            packed = msgspec.msgpack.encode((ttl, values))
            if await backend.set(name, packed, ttl=ttl, version=version) is not None:
                return

    def forget(self, owner: str) -> None:
        """Remove all values of an owner; if the backend cannot be reached, they expire."""
        self._state.start(self._remove(owner))

    async def _remove(self, owner: str) -> None:
        with contextlib.suppress(StoreError):
            await self._state.backend.delete(self._state.key("session state", owner))


def _unpack(data: bytes) -> tuple[float, dict[str, bytes]]:
    return msgspec.msgpack.decode(data, type=tuple[float, dict[str, bytes]])

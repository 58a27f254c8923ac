"""The parts of a server that all its connections share, its lifespan and its health pages.

The lifespan is entered before the first call that needs it, and exited on shutdown. It runs in its
own asyncio task. It therefore does not end with the client that made the first call, and the same
task enters and exits the context manager, as cancel scopes require.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from typing import Any, NamedTuple

from dovetail.core.call import Host, Runner
from dovetail.core.changes import ChangeEvent
from dovetail.core.dispatch import Dispatcher
from dovetail.core.link import SessionStateStore
from dovetail.core.options import Options
from dovetail.core.principal import Permission
from dovetail.eras.select import Eras
from dovetail.runtime.bus import Bus
from dovetail.runtime.processes import Processes
from dovetail.runtime.state import ServerState
from dovetail.wire import codec

__all__ = ["HEALTH_PATHS", "READY_PATH", "Engine", "Lifespan", "PublicDocument", "find_health_page"]


class Lifespan:
    """Enters the context managers of a server once, on first use."""

    def __init__(
        self, factory: Callable[[], AbstractAsyncContextManager[Any]] | None = None
    ) -> None:
        """Create a lifespan; without a factory it counts as started."""
        self._factory = factory
        self._task: asyncio.Task[None] | None = None
        self._entered: asyncio.Future[Any] | None = None
        self._stop: asyncio.Event | None = None
        # Whether calls may run, and the value that the context manager yielded. Plain attributes,
        # because every call reads them.
        self.started: bool = factory is None
        self.state: Any = None
        self._inner: list[Callable[[], AbstractAsyncContextManager[Any]]] = []
        # When the transport began to shut down.
        self._shutdown_at: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the author has none."""
        return self._factory is None

    def add(self, factory: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        """Add an internal context manager, entered after the author's and exited before it.

        If the lifespan has already been entered, the addition takes effect the next time it starts.
        """
        self._inner.append(factory)
        if self._entered is None:
            self.started = False

    async def start(self) -> Any:
        """Enter the context managers, once, and return the state; raises what entering raised."""
        if self._factory is None and not self._inner:
            return None
        if self._entered is None:
            self._entered = asyncio.get_running_loop().create_future()
            self._stop = asyncio.Event()
            factory = self._factory or nullcontext
            self._task = asyncio.create_task(self._run(factory, self._entered, self._stop))
        return await asyncio.shield(self._entered)

    def begin_shutdown(self) -> None:
        """Begin the time that what runs has to end; a transport calls it before `close`."""
        if self._shutdown_at is None:
            self._shutdown_at = time.monotonic()

    def grace_left(self, grace: float) -> float:
        """The rest of the seconds that what runs has to end."""
        if self._shutdown_at is None:
            return grace
        return max(0.0, self._shutdown_at + grace - time.monotonic())

    async def close(self) -> None:
        """Exit the context managers."""
        if self._task is not None and self._stop is not None:
            self._stop.set()
            task, self._task, self._entered, self._stop = self._task, None, None, None
            self.started, self.state = False, None
            try:
                await task
            finally:
                self._shutdown_at = None

    async def _run(
        self,
        factory: Callable[[], AbstractAsyncContextManager[Any]],
        entered: asyncio.Future[Any],
        stop: asyncio.Event,
    ) -> None:
        try:
            async with factory() as value, AsyncExitStack() as stack:
                self.state = value
                for inner in tuple(self._inner):
                    await stack.enter_async_context(inner())
                self.started = True
                entered.set_result(value)
                await stop.wait()
        except Exception as error:
            if entered.done():
                raise
            entered.set_exception(error)
        finally:
            if self._entered is entered:
                # Startup failed, or the event loop ended: the next call enters it again.
                self._task = self._entered = self._stop = None
                self.started, self.state = False, None


class Engine(NamedTuple):
    """The parts of a server that serve requests; the `Services` of its calls."""

    eras: Eras
    dispatcher: Dispatcher
    runner: Runner
    host: Host
    bus: Bus[ChangeEvent]
    lifespan: Lifespan
    options: Options
    tasks: Any
    state: ServerState
    # The processes that have the same state; None if no other process can have it.
    processes: Processes | None = None
    # What the guard of a transport allows to all its callers.
    permission: Permission | None = None

    @property
    def session_states(self) -> SessionStateStore:
        """The values that handlers keep for callers."""
        return self.state.session_states


class PublicDocument(NamedTuple):
    """A document served to GET requests without authentication."""

    status: int
    body: bytes
    content_type: bytes = b"application/json"


READY_PATH = "/readyz"
HEALTH_PATHS = ("/healthz", READY_PATH)
_OK = PublicDocument(200, b'{"status":"ok"}')


def find_health_page(
    path: str, engine: Engine, *, is_draining: bool = False
) -> PublicDocument | None:
    """The health page at a path; None at any other path.

    The reasons name no host: anybody may read them. The log has the details.
    """
    if path not in HEALTH_PATHS:
        return None
    if path != READY_PATH:
        return _OK
    if is_draining:
        return _not_ready("draining", "the process is shutting down")
    if not engine.lifespan.started:
        return _not_ready("starting", "the lifespan of the server has not started")
    if engine.state.is_shared and engine.state.backend.problem is not None:
        return _not_ready("unavailable", "the shared store cannot be used; see the log")
    return _OK


def _not_ready(status: str, reason: str) -> PublicDocument:
    return PublicDocument(503, codec.encode({"status": status, "reason": reason}))

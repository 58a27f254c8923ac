"""Browser sessions: each client session has its own, isolated browser context.

How a call is assigned to a session depends on the transport. On stdio there is one client, so one
session. Over HTTP, clients with a session send it in the Mcp-Session-Id header, which the transport
has validated; the old SSE transport keeps one connection. All other clients pass a `session`
argument with each call: an unguessable handle from the first result, valid for the same caller
only.

Idle sessions are closed after a timeout, and the least recently used one is closed when a new
session exceeds the limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail import Context, ToolError
from dovetail_browser.driver import Driver
from dovetail_browser.page_errors import abandon_after, driver_errors, tool_error
from dovetail_browser.saved_files import SavedFiles
from dovetail_browser.tabs import Tabs

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

__all__ = ["BrowserSession", "SessionLimits", "Sessions"]

_SESSION_HEADER = b"mcp-session-id"
_CONNECTION = "dovetail.browser.connection"
# Shorter than the time within which all browser processes must have ended.
_RELEASE_SECONDS = 3.0
_MOST_REMEMBERED = 200


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Maximum number of sessions, and the idle timeout."""

    most: int = 16
    idle_seconds: float = 900.0


class BrowserSession:
    """A browser context with its tabs."""

    def __init__(self, handle: str, owner: str | None, driver: Driver, tabs: Tabs) -> None:
        self.handle = handle
        self.owner = owner
        # Whether calls must pass the handle.
        self.is_named = True
        self.tabs = tabs
        self.used = time.monotonic()
        self.calls = 0
        # Held while the tab for a page is selected.
        self.placing = asyncio.Lock()
        self._driver = driver
        self._context: BrowserContext | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Create the browser context if there is none."""
        async with self._starting:
            if self._context is not None and not self._driver.has(self._context):
                # If the driver has died, no event reports that the context is closed.
                self._lost(self._context)
            if self._context is None:
                context = await self._driver.new_context()
                context.on("close", lambda _: self._lost(context))
                self._context = context
                self.tabs.attach(context)

    async def close(self) -> None:
        """Release the context."""
        context, self._context = self._context, None
        self.tabs.lose_all("its session was closed")
        if context is not None:
            with contextlib.suppress(TimeoutError, *driver_errors()):
                await abandon_after(_RELEASE_SECONDS, self._driver.release_context(context))

    def _lost(self, context: BrowserContext) -> None:
        if self._context is context:
            self._context = None
            self.tabs.lose_all("the browser ended; it restarts with the next page")


class Sessions:
    """All sessions of a server."""

    def __init__(
        self,
        driver: Driver,
        files: SavedFiles,
        limits: SessionLimits,
        on_change: Callable[[], None],
    ) -> None:
        self._driver = driver
        self._files = files
        self._limits = limits
        self._on_change = on_change
        # By the key of the transport's session.
        self._ambient: dict[Any, BrowserSession] = {}
        self._named: dict[str, BrowserSession] = {}
        # Messages for clients whose session was closed.
        self._ended: dict[Any, str] = {}

    def __len__(self) -> int:
        return len(self._named)

    def peek(self, ctx: Context, handle: str | None) -> BrowserSession | None:
        """Return the session of a call if it exists."""
        if handle is not None and handle != "new":
            return self._by_handle(handle, _owner(ctx))
        key = _transport_key(ctx)
        return self._ambient.get(key) if key is not None else None

    @contextlib.asynccontextmanager
    async def using(
        self, ctx: Context, handle: str | None, *, may_create: bool = False
    ) -> AsyncIterator[BrowserSession]:
        """Yield the session of a call; only calls that open pages create one."""
        session = await self._find(ctx, handle, may_create)
        session.calls += 1
        try:
            yield session
        finally:
            session.calls -= 1
            session.used = time.monotonic()

    async def close_idle(self) -> None:
        """Close sessions that have been idle too long."""
        oldest = time.monotonic() - self._limits.idle_seconds
        for session in list(self._named.values()):
            if session.calls == 0 and session.used < oldest:
                await self._close(session)

    async def watch(self) -> None:
        """Close idle sessions periodically."""
        while True:
            await asyncio.sleep(min(30.0, self._limits.idle_seconds / 4))
            await self.close_idle()

    async def close(self) -> None:
        """Close all sessions concurrently, so that a hanging browser delays shutdown only once."""
        await asyncio.gather(*(self._close(session) for session in list(self._named.values())))

    async def _find(self, ctx: Context, handle: str | None, may_create: bool) -> BrowserSession:
        owner = _owner(ctx)
        if handle is not None and handle != "new":
            return self._by_handle(handle, owner)
        key = _transport_key(ctx)
        if handle is None and key is not None:
            if key not in self._ambient:
                await self._make_room()
            # Another call may have created the session meanwhile.
            if key not in self._ambient:
                self._ambient[key] = self._create(owner)
                self._ambient[key].is_named = False
                self._ambient[key].tabs.before = self._ended.pop(key, "")
            return self._ambient[key]
        if not may_create:
            raise tool_error(
                "This call does not say which browser session it belongs to, and its connection "
                "has none.",
                "pass the `session` from the result of fetch_webpage",
                "fetch_webpage without `session` starts a new session",
            )
        # A call that elicits input runs again and must get the same session.
        made = await ctx.once("session", lambda: self._create_named(owner), str)
        return self._by_handle(made, owner)

    async def _create_named(self, owner: str | None) -> str:
        await self._make_room()
        return self._create(owner).handle

    async def _make_room(self) -> None:
        if len(self._named) < self._limits.most:
            return
        resting = [session for session in self._named.values() if session.calls == 0]
        if not resting:
            raise ToolError(
                f"{len(self._named)} sessions are busy, which is the limit; try again later."
            )
        await self._close(min(resting, key=lambda session: session.used))

    def _create(self, owner: str | None) -> BrowserSession:
        tabs = Tabs(self._files, self._on_change)
        session = BrowserSession(f"s-{secrets.token_urlsafe(18)}", owner, self._driver, tabs)
        self._named[session.handle] = session
        return session

    def _by_handle(self, handle: str, owner: str | None) -> BrowserSession:
        found = self._named.get(handle)
        # The error is the same for another caller's session.
        if found is None or found.owner != owner:
            minutes = self._limits.idle_seconds / 60
            raise tool_error(
                f"There is no session {handle[:80]!r}; idle sessions are closed after "
                f"{minutes:g} minutes, or earlier to make room.",
                "fetch_webpage without `session` starts a new session",
            )
        return found

    async def _close(self, session: BrowserSession) -> None:
        self._named.pop(session.handle, None)
        for key in [key for key, known in self._ambient.items() if known is session]:
            del self._ambient[key]
            self._ended[key] = "Its tabs were closed because the session was idle. "
            while len(self._ended) > _MOST_REMEMBERED:
                self._ended.pop(next(iter(self._ended)))
        await session.close()


def _owner(ctx: Context) -> str | None:
    return ctx.principal.id if ctx.principal is not None else None


def _transport_key(ctx: Context) -> Any:
    """Return the key of the transport's session; None if there is none."""
    scope = ctx.scope
    if scope is None:
        # stdio, or an embedding program: one client.
        return ("process", _owner(ctx))
    if not isinstance(scope, dict) or "headers" not in scope:
        return None
    given = next((value for name, value in scope["headers"] if name == _SESSION_HEADER), None)
    if given is not None:
        return ("session", given, _owner(ctx))
    if scope.get("method") == "GET":
        # The SSE transport: calls carry the scope of the stream for responses.
        return ("connection", scope.setdefault(_CONNECTION, secrets.token_hex(8)), _owner(ctx))
    return None

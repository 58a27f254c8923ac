"""Browser sessions: each client session has its own, isolated browser context.

How a call is assigned to a session depends on the transport. On stdio there is one client, so one
session. Over HTTP, clients with a session send it in the Mcp-Session-Id header, which the transport
has validated; the old SSE transport keeps one connection. All other clients pass a `session`
argument with each call: an unguessable handle from the first result, valid for the same caller
only.

Idle sessions are closed after a timeout. When a new session exceeds a limit, the client with the
most sessions loses its least recently used one. A client is a principal; without authentication it
is the address of the peer. Each client has its own browser, see `drivers.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail import Context, ToolError
from dovetail_browser.driver import Driver
from dovetail_browser.drivers import Drivers
from dovetail_browser.page_errors import abandon_after, tool_error
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
# The client of a server on stdio, or of an embedding program.
_LOCAL = "local"


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Maximum number of sessions, and the idle timeout."""

    most: int = 16
    idle_seconds: float = 900.0

    @property
    def most_per_client(self) -> int:
        """Maximum number for one HTTP client: a quarter is left for the others."""
        return self.most - self.most // 4


class BrowserSession:
    """A browser context with its tabs."""

    def __init__(self, owner: str | None, client: str, driver: Driver, tabs: Tabs) -> None:
        self.handle = f"s-{secrets.token_urlsafe(18)}"
        self.owner = owner
        self.client = client
        # Whether calls must pass the handle.
        self.is_named = True
        self.tabs = tabs
        self.used = time.monotonic()
        self.calls = 0
        # Held while the tab for a page is selected.
        self.placing = asyncio.Lock()
        self.driver = driver
        self._context: BrowserContext | None = None
        self._is_lost = False
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Create the browser context if there is none."""
        async with self._starting:
            if self._context is not None and not self.driver.has(self._context):
                # If the driver has died, no event reports that the context is closed.
                self._lost(self._context)
            if self._context is None:
                context = await self.driver.new_context()
                context.on("close", lambda _: self._lost(context))
                self._context = context
                self._is_lost = False
                self.tabs.attach(context)

    async def close(self) -> None:
        """Release the context."""
        context, self._context = self._context, None
        self.tabs.lose_all("its session was closed")
        if context is not None:
            # If the driver has ended, Playwright raises Exception itself. The caller may be another
            # client that needs the room.
            with contextlib.suppress(Exception):
                await abandon_after(_RELEASE_SECONDS, self.driver.release_context(context))

    @property
    def has_lost_browser(self) -> bool:
        """Whether its browser ended after it was started."""
        is_gone = self._context is not None and not self.driver.has(self._context)
        return self._is_lost or is_gone

    def _lost(self, context: BrowserContext) -> None:
        if self._context is context:
            self._context = None
            self._is_lost = True
            self.tabs.lose_all("the browser ended; it restarts with the next page")


class Sessions:
    """All sessions of a server."""

    def __init__(
        self,
        drivers: Drivers,
        files: SavedFiles,
        limits: SessionLimits,
        on_change: Callable[[], None],
    ) -> None:
        self._drivers = drivers
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
        except Exception as error:
            # A driver that has ended raises Exception itself.
            if isinstance(error, ToolError) or not session.has_lost_browser:
                raise
            raise tool_error(
                "The browser of this session has ended, and its tabs with it. Sessions of other "
                "clients are not affected.",
                "fetch_webpage opens a page in a new browser; log in again if needed",
            ) from None
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
        owner, client = _owner(ctx), _client(ctx)
        if handle is not None and handle != "new":
            return self._by_handle(handle, owner)
        key = _transport_key(ctx)
        if handle is None and key is not None:
            if key not in self._ambient:
                await self._make_room(client)
            # Another call may have created the session meanwhile.
            if key not in self._ambient:
                self._ambient[key] = self._create(owner, client)
                self._ambient[key].is_named = False
                self._ambient[key].tabs.before = self._ended.pop(key, "")
            return self._ambient[key]
        if not may_create:
            raise tool_error(
                "This call does not say which browser session it belongs to, and its connection "
                "has none.",
                "pass the `session` from an earlier result",
                "fetch_webpage without `session` starts a new session",
            )
        # A call that elicits input runs again and must get the same session.
        made = await ctx.once("session", lambda: self._create_named(owner, client), str)
        return self._by_handle(made, owner)

    async def _create_named(self, owner: str | None, client: str) -> str:
        await self._make_room(client)
        return self._create(owner, client).handle

    async def _make_room(self, client: str) -> None:
        """Close sessions until this client may have one more."""
        is_local = client == _LOCAL
        most = self._limits.most if is_local else self._limits.most_per_client
        while True:
            counts = Counter(session.client for session in self._named.values())
            if counts[client] >= most:
                loser = client
            elif len(self._named) >= self._limits.most:
                # Of clients with the same number of sessions, the one that wants another.
                loser = max(counts, key=lambda other: (counts[other], other == client))
            else:
                return
            theirs = [session for session in self._named.values() if session.client == loser]
            resting = [session for session in theirs if session.calls == 0]
            if not resting:
                raise tool_error(
                    f"{len(theirs)} sessions are busy, which is the limit.", "try again later"
                )
            await self._close(min(resting, key=lambda session: session.used))

    def _create(self, owner: str | None, client: str) -> BrowserSession:
        tabs = Tabs(self._files, self._on_change)
        session = BrowserSession(owner, client, self._drivers.of_client(client), tabs)
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
        if all(other.client != session.client for other in self._named.values()):
            await self._drivers.end(session.client)


def _owner(ctx: Context) -> str | None:
    return ctx.principal.id if ctx.principal is not None else None


def _client(ctx: Context) -> str:
    """Name the client for quotas: the principal, or the address of an anonymous peer."""
    if ctx.principal is not None:
        return f"principal {ctx.principal.id}"
    if ctx.scope is None:
        return _LOCAL
    peer = ctx.scope.get("client") if isinstance(ctx.scope, dict) else None
    return f"address {peer[0]}" if peer else "anonymous"


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

"""Who has which browser context: one for each client session, isolated from all others.

Theory of operation. What a session is depends on what carries the call, as far as a handler can
tell: on stdio there is one client, and so one session. Over HTTP a client that keeps a session
names it in the header Mcp-Session-Id, which the transport has checked before; the old SSE
transport keeps one connection. Everybody else names the session with each call: the `session`
that a first answer handed out, which cannot be guessed and works for the same caller only.

Sessions that nobody uses are closed after a while, and the one that was not used for the longest
time makes room for a new one.
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
from dovetail_browser.page_errors import driver_errors, refuse
from dovetail_browser.saved_files import SavedFiles
from dovetail_browser.tabs import Tabs

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

__all__ = ["BrowserSession", "SessionLimits", "Sessions"]

_SESSION_HEADER = b"mcp-session-id"
_CONNECTION = "dovetail.browser.connection"
# Less than the time within which nothing may be left of a browser.
_RELEASE_SECONDS = 3.0
_MOST_REMEMBERED = 200


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How many sessions there may be, and how long one may rest."""

    most: int = 16
    idle_seconds: float = 900.0


class BrowserSession:
    """A browser context of its own, with its tabs."""

    def __init__(self, handle: str, owner: str | None, driver: Driver, tabs: Tabs) -> None:
        self.handle = handle
        self.owner = owner
        # Whether calls have to name it.
        self.is_named = True
        self.tabs = tabs
        self.used = time.monotonic()
        self.calls = 0
        # Held while a tab is chosen for a page.
        self.placing = asyncio.Lock()
        self._driver = driver
        self._context: BrowserContext | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Have a browser context."""
        async with self._starting:
            if self._context is not None and not self._driver.has(self._context):
                # Where the driver has died nobody is told that a context has closed.
                self._lost(self._context)
            if self._context is None:
                context = await self._driver.new_context()
                context.on("close", lambda _: self._lost(context))
                self._context = context
                self.tabs.attach(context)

    async def close(self) -> None:
        """Give the context back."""
        context, self._context = self._context, None
        self.tabs.lose_all("its session was closed")
        if context is not None:
            with contextlib.suppress(TimeoutError, *driver_errors()):
                async with asyncio.timeout(_RELEASE_SECONDS):
                    await self._driver.release_context(context)

    def _lost(self, context: BrowserContext) -> None:
        if self._context is context:
            self._context = None
            self.tabs.lose_all("the browser ended and is started again with the next page")


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
        # By what the transport knows them by.
        self._ambient: dict[Any, BrowserSession] = {}
        self._named: dict[str, BrowserSession] = {}
        # What to tell clients whose session was closed under them.
        self._ended: dict[Any, str] = {}

    def __len__(self) -> int:
        return len(self._named)

    def peek(self, ctx: Context, handle: str | None) -> BrowserSession | None:
        """The session of a call if there is one already."""
        if handle is not None and handle != "new":
            return self._by_handle(handle, _owner(ctx))
        key = _ambient_key(ctx)
        return self._ambient.get(key) if key is not None else None

    @contextlib.asynccontextmanager
    async def using(
        self, ctx: Context, handle: str | None, *, may_begin: bool = False
    ) -> AsyncIterator[BrowserSession]:
        """The session of a call; a new one only for calls that open pages."""
        session = await self._find(ctx, handle, may_begin)
        session.calls += 1
        try:
            yield session
        finally:
            session.calls -= 1
            session.used = time.monotonic()

    async def close_idle(self) -> None:
        """Close what nobody has used for too long."""
        oldest = time.monotonic() - self._limits.idle_seconds
        for session in list(self._named.values()):
            if session.calls == 0 and session.used < oldest:
                await self._close(session)

    async def watch(self) -> None:
        """Close idle sessions, for ever."""
        while True:
            await asyncio.sleep(min(30.0, self._limits.idle_seconds / 4))
            await self.close_idle()

    async def close(self) -> None:
        """Close all, at the same time: a browser that hangs must not hold up the end for each."""
        await asyncio.gather(*(self._close(session) for session in list(self._named.values())))

    async def _find(self, ctx: Context, handle: str | None, may_begin: bool) -> BrowserSession:
        owner = _owner(ctx)
        if handle is not None and handle != "new":
            return self._by_handle(handle, owner)
        key = _ambient_key(ctx)
        if handle is None and key is not None:
            if key not in self._ambient:
                await self._make_room()
            # Another call may have been first while room was made.
            if key not in self._ambient:
                self._ambient[key] = self._begin(owner)
                self._ambient[key].is_named = False
                self._ambient[key].tabs.before = self._ended.pop(key, "")
            return self._ambient[key]
        if not may_begin:
            raise refuse(
                "This call does not say which browser session it belongs to, and this connection "
                "has none of its own.",
                "give the `session` that the answer of fetch_webpage named",
                "fetch_webpage without `session` begins a new one",
            )
        # A call that asks the user runs twice and must find its session again.
        made = await ctx.once("session", lambda: self._begin_named(owner), str)
        return self._by_handle(made, owner)

    async def _begin_named(self, owner: str | None) -> str:
        await self._make_room()
        return self._begin(owner).handle

    async def _make_room(self) -> None:
        if len(self._named) < self._limits.most:
            return
        resting = [session for session in self._named.values() if session.calls == 0]
        if not resting:
            raise ToolError(
                f"{len(self._named)} sessions are at work, the most there may be; try again later."
            )
        await self._close(min(resting, key=lambda session: session.used))

    def _begin(self, owner: str | None) -> BrowserSession:
        tabs = Tabs(self._files, self._on_change)
        session = BrowserSession(f"s-{secrets.token_urlsafe(18)}", owner, self._driver, tabs)
        self._named[session.handle] = session
        return session

    def _by_handle(self, handle: str, owner: str | None) -> BrowserSession:
        found = self._named.get(handle)
        # Somebody else's session does not exist.
        if found is None or found.owner != owner:
            minutes = self._limits.idle_seconds / 60
            raise refuse(
                f"There is no session {handle[:80]!r} (any more); one that rests is closed after "
                f"{minutes:g} minutes, or earlier to make room.",
                "fetch_webpage without `session` begins a new one",
            )
        return found

    async def _close(self, session: BrowserSession) -> None:
        self._named.pop(session.handle, None)
        for key in [key for key, known in self._ambient.items() if known is session]:
            del self._ambient[key]
            self._ended[key] = "Its tabs were closed because the session had rested. "
            while len(self._ended) > _MOST_REMEMBERED:
                self._ended.pop(next(iter(self._ended)))
        await session.close()


def _owner(ctx: Context) -> str | None:
    return ctx.principal.id if ctx.principal is not None else None


def _ambient_key(ctx: Context) -> Any:
    """What tells this client's session from others; None if nothing does."""
    scope = ctx.scope
    if scope is None:
        # A process that one client started, or an embedding program that serves one client.
        return ("process", _owner(ctx))
    if not isinstance(scope, dict) or "headers" not in scope:
        return None
    given = next((value for name, value in scope["headers"] if name == _SESSION_HEADER), None)
    if given is not None:
        return ("session", given, _owner(ctx))
    if scope.get("method") == "GET":
        # The old transport: calls come with the scope of the stream that answers go to.
        return ("connection", scope.setdefault(_CONNECTION, secrets.token_hex(8)), _owner(ctx))
    return None

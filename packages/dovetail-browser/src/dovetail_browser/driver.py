"""The browser behind all sessions: started when it is first needed, and again when it died.

Belongs to one event loop, the server's. Playwright is loaded with the first start: whoever only
lists tools does not pay for it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dovetail import ToolError, UsageError
from dovetail_browser.addresses import AddressRules
from dovetail_browser.egress import Egress, EgressLimits, Resolver, Trouble, resolve_name
from dovetail_browser.interception import intercept
from dovetail_browser.starting import (
    CONTEXT,
    DriverOptions,
    Running,
    attempt,
    connect_browser,
    proxy_of,
    start_browser,
)

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page

__all__ = ["Driver", "DriverOptions"]

_DEVTOOLS = ("http", "https", "ws", "wss")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_DYING_SECONDS = 0.5

_NOT_ENFORCED = (
    "This browser was not started by the server (--connect): in its own pages addresses are "
    "checked when a request is made, not when it is connected, so a name that resolves "
    "differently a moment later, or what the browser does outside of pages, is not stopped"
)


class Driver:
    """One browser for all sessions.

    With `profile` or `connect` there is a default context that keeps cookies. `new_context` gives
    it to the first who asks, which on stdio is the only client; until it is released, everybody
    else gets a context of their own, which starts empty and keeps nothing. Two sessions are
    therefore never in one context, and the next session after a release finds the same cookies.
    """

    def __init__(
        self,
        options: DriverOptions | None = None,
        *,
        resolve: Resolver = resolve_name,
        rules: AddressRules | None = None,
    ) -> None:
        self.options = options or DriverOptions()
        connect = self.options.connect
        if connect is not None and urlsplit(connect).scheme not in _DEVTOOLS:
            raise UsageError(f"--connect {connect!r} is no address of a browser: http://HOST:PORT")
        if connect is not None and self.options.profile is not None:
            raise UsageError("--connect uses the profile of that browser; leave out --profile")
        self.rules = rules or AddressRules(self.options.allow)
        limits = EgressLimits(response_bytes=self.options.max_response)
        self._egress = Egress(self.rules, resolve=resolve, limits=limits)
        self._running: Running | None = None
        self._starting: asyncio.Task[Running] | None = None
        self._is_closed = False
        self._is_kept_in_use = False
        # Pages of a connected browser that were there before: not ours to close.
        self._foreign: frozenset[Page] = frozenset()

    async def browser(self) -> Browser:
        """The running browser; started if there is none. ToolError says why it cannot be."""
        return (await self._ready()).browser

    async def new_context(self) -> BrowserContext:
        """A context with nothing of other sessions in it, permissions denied, egress enforced.

        Give it back with `release_context`, which knows the one that keeps cookies.
        """
        running = await self._ready()
        if running.kept is not None and not self._is_kept_in_use:
            self._is_kept_in_use = True
            return running.kept
        try:
            return await self._make_context(running)
        except ToolError:
            # A browser that dies may look alive for another moment.
            await asyncio.sleep(_DYING_SECONDS)
            if running.is_alive:
                raise
            return await self._make_context(await self._ready())

    async def _make_context(self, running: Running) -> BrowserContext:
        options = dict(CONTEXT)
        connect = self.options.connect
        is_near = connect is not None and urlsplit(connect).hostname in _LOOPBACK
        if is_near:
            # A browser on this machine reaches our egress like one of our own.
            options["proxy"] = proxy_of(self._egress)
        elif connect is not None:
            # The requests of a service worker would not be stopped.
            options["service_workers"] = "block"
        context: BrowserContext = await attempt(
            "A context of the browser", running.browser.new_context(**options)
        )
        if connect is not None and not is_near:
            await intercept(context, self._judge)
        await attempt("A context of the browser", context.grant_permissions([]))
        return context

    def has(self, context: BrowserContext) -> bool:
        """Whether a context is one of the browser that runs now."""
        running = self._running
        is_ours = running is not None and context.browser is running.browser
        return is_ours and self.is_running

    async def release_context(self, context: BrowserContext) -> None:
        """End a session: its context is closed; one that keeps cookies only loses our pages."""
        if self._running is None or context is not self._running.kept:
            await context.close()
            return
        pages = [page for page in context.pages if page not in self._foreign]
        await asyncio.gather(*(page.close() for page in pages), return_exceptions=True)
        self._is_kept_in_use = False

    async def check_url(self, url: str) -> str | None:
        """Why this address cannot be opened (scheme, host, what it resolves to), or None."""
        place = self.rules.read_url(url)
        if isinstance(place, str):
            return place
        found = await self._egress.find_addresses(place)
        return found.reason if isinstance(found, Trouble) else None

    def last_refusal(self, host: str) -> str | None:
        """Why the last request to this host did not get through: refused, cut, unreachable."""
        trouble = self._egress.last_trouble(host)
        return None if trouble is None else trouble.reason

    @property
    def is_running(self) -> bool:
        """Whether a browser is there."""
        return self._running is not None and self._running.is_alive

    @property
    def warning(self) -> str | None:
        """What cannot be promised in this mode, for answers and logs."""
        return None if self.options.connect is None else _NOT_ENFORCED

    async def close(self) -> None:
        """End the browser, its processes and its temporary folder. May be called twice."""
        self._is_closed = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self._stop()

    async def _ready(self) -> Running:
        if self._is_closed:
            raise ToolError("The server is shutting down; no browser is started any more.")
        if self._running is not None and self._running.is_alive:
            return self._running
        # One start for all who wait; a caller that gives up does not take it from the others.
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._restart())
            self._starting.add_done_callback(self._finish_start)
        return await asyncio.shield(self._starting)

    def _finish_start(self, task: asyncio.Task[Running]) -> None:
        self._starting = None
        # Looked at, so that asyncio does not complain where nobody is left to hear of it.
        if not task.cancelled():
            task.exception()

    async def _restart(self) -> Running:
        await self._stop()
        if self.options.connect is None:
            self._running = await start_browser(self.options, self._egress)
        else:
            self._running = await connect_browser(self.options.connect, self._egress)
            if self._running.kept is not None:
                self._foreign = frozenset(self._running.kept.pages)
                await intercept(self._running.kept, self._judge)
        return self._running

    async def _stop(self) -> None:
        running, self._running = self._running, None
        self._is_kept_in_use = False
        if running is not None:
            await running.end()

    async def _judge(self, url: str) -> str | None:
        """What the interception asks for each request; what is refused is remembered."""
        reason = await self.check_url(url)
        if reason is not None:
            self._egress.remember(urlsplit(url).hostname or "", Trouble(True, reason))
        return reason

"""The browser of one client: started on first use, and restarted after a crash.

Belongs to the server's event loop. Playwright is imported when the browser starts, so that
listing tools stays cheap.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dovetail import ToolError, UsageError
from dovetail_browser.addresses import AddressRules
from dovetail_browser.egress import Egress, EgressLimits, RequestFailure, Resolver, resolve_name
from dovetail_browser.interception import intercept
from dovetail_browser.startup import (
    CONTEXT,
    DriverOptions,
    Running,
    attempt,
    connect_browser,
    proxy_of,
    start_browser,
)

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page, Response

__all__ = ["Driver", "DriverOptions"]

_DEVTOOLS = ("http", "https", "ws", "wss")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_DYING_SECONDS = 0.5

_NOT_ENFORCED = (
    "This browser was not started by the server (--connect). In its own pages, addresses are "
    "checked when a request is made, not when it connects. Names that resolve differently a "
    "moment later, and requests that the browser makes outside of pages, are not blocked"
)


class Driver:
    """One browser for all sessions of a client.

    With `profile` or `connect` there is a default context that keeps cookies, unless
    `keeps_cookies` is false. `new_context` returns it to the first caller. Until it is released,
    other callers get a new, temporary context. So two sessions never share a context, and the
    next session after a release finds the same cookies.
    """

    def __init__(
        self,
        options: DriverOptions | None = None,
        *,
        resolve: Resolver = resolve_name,
        rules: AddressRules | None = None,
        keeps_cookies: bool = True,
    ) -> None:
        self.options = options or DriverOptions()
        connect = self.options.connect
        if connect is not None and urlsplit(connect).scheme not in _DEVTOOLS:
            raise UsageError(
                f"--connect {connect!r} is not the address of a browser, like http://HOST:PORT"
            )
        if connect is not None and self.options.profile is not None:
            raise UsageError("--connect uses the profile of that browser; omit --profile")
        self.rules = rules or AddressRules(self.options.allow)
        limits = EgressLimits(response_bytes=self.options.max_response)
        self._egress = Egress(self.rules, resolve=resolve, limits=limits)
        self._running: Running | None = None
        self._starting: asyncio.Task[Running] | None = None
        # Held while a browser starts or ends: the next one uses the same profile and proxy.
        self._changing = asyncio.Lock()
        self._is_closed = False
        self._keeps_cookies = keeps_cookies
        self._is_kept_in_use = False
        # Pages that a connected browser had before; they are not closed.
        self._foreign: frozenset[Page] = frozenset()

    async def browser(self) -> Browser:
        """Return the running browser; start it if needed. Raises ToolError if it cannot start."""
        return (await self._ready()).browser

    async def new_context(self) -> BrowserContext:
        """Return an isolated context with all permissions denied and address checks in place.

        Return it with `release_context`, which keeps the context that has the cookies.
        """
        running = await self._ready()
        if self._keeps_cookies and running.kept is not None and not self._is_kept_in_use:
            self._is_kept_in_use = True
            return running.kept
        try:
            return await self._make_context(running)
        except ToolError:
            # A browser that crashes may look alive for a moment.
            await asyncio.sleep(_DYING_SECONDS)
            if running.is_alive:
                raise
            return await self._make_context(await self._ready())

    async def _make_context(self, running: Running) -> BrowserContext:
        options = dict(CONTEXT)
        connect = self.options.connect
        is_near = connect is not None and urlsplit(connect).hostname in _LOOPBACK
        if is_near:
            # A connected browser on this machine can use our proxy as well.
            options["proxy"] = proxy_of(self._egress)
        elif connect is not None:
            # Requests of service workers cannot be intercepted.
            options["service_workers"] = "block"
        context: BrowserContext = await attempt(
            "A context of the browser", running.browser.new_context(**options)
        )
        if connect is not None and not is_near:
            await intercept(context, self._check)
        await attempt("A context of the browser", context.grant_permissions([]))
        return context

    def has(self, context: BrowserContext) -> bool:
        """Whether a context belongs to the running browser."""
        running = self._running
        is_ours = running is not None and context.browser is running.browser
        return is_ours and self.is_running

    async def release_context(self, context: BrowserContext) -> None:
        """Close a session's context; of the context that keeps cookies, close only our pages."""
        if self._running is None or context is not self._running.kept:
            await context.close()
            return
        pages = [page for page in context.pages if page not in self._foreign]
        await asyncio.gather(*(page.close() for page in pages), return_exceptions=True)
        self._is_kept_in_use = False

    async def check_url(self, url: str) -> str | None:
        """Return why this URL is refused (scheme, host, resolved address), or None."""
        destination = self.rules.parse_url(url)
        if isinstance(destination, str):
            return destination
        found = await self._egress.find_addresses(destination)
        return found.reason if isinstance(found, RequestFailure) else None

    def failure_reason(self, response: Response) -> str | None:
        """Return why a request failed if this is the proxy's response, not the site's."""
        return self._egress.failure_reason(response.headers)

    def last_refusal(self, host: str) -> str | None:
        """Return why the last request to this host failed: refused, cut off or unreachable."""
        trouble = self._egress.last_failure(host)
        return None if trouble is None else trouble.reason

    @property
    def is_running(self) -> bool:
        """Whether the browser is running."""
        return self._running is not None and self._running.is_alive

    @property
    def warning(self) -> str | None:
        """Return the limits of address checks in this mode, or None."""
        return None if self.options.connect is None else _NOT_ENFORCED

    async def close(self) -> None:
        """End the browser and remove its temporary folder. May be called twice."""
        self._is_closed = True
        await self.stop()

    async def stop(self) -> None:
        """End the browser; the next use starts another one."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        async with self._changing:
            await self._stop()

    async def _ready(self) -> Running:
        if self._is_closed:
            raise ToolError("The server is shutting down; the browser cannot be started.")
        if self._running is not None and self._running.is_alive:
            return self._running
        # All callers share one start; cancelling a caller does not cancel it.
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._restart())
            self._starting.add_done_callback(self._finish_start)
        return await asyncio.shield(self._starting)

    def _finish_start(self, task: asyncio.Task[Running]) -> None:
        self._starting = None
        # Retrieve the exception, or asyncio logs a warning if no caller is left.
        if not task.cancelled():
            task.exception()

    async def _restart(self) -> Running:
        async with self._changing:
            await self._stop()
            if self.options.connect is None:
                self._running = await start_browser(self.options, self._egress)
                return self._running
            self._running = await connect_browser(self.options.connect, self._egress)
            if self._running.kept is not None and self._keeps_cookies:
                self._foreign = frozenset(self._running.kept.pages)
                await intercept(self._running.kept, self._check)
            return self._running

    async def _stop(self) -> None:
        running, self._running = self._running, None
        self._is_kept_in_use = False
        if running is not None:
            await running.end()

    async def _check(self, url: str) -> str | None:
        """Check a URL for the interception; refusals are recorded."""
        reason = await self.check_url(url)
        if reason is not None:
            self._egress.remember(urlsplit(url).hostname or "", RequestFailure(True, reason))
        return reason

"""Address checks for a browser that the server did not start: requests are paused and checked.

This is weaker than the proxy, and used for contexts whose traffic does not go through it. Requests
and WebSockets are checked by name and by the addresses that it resolves to at that moment; the
browser resolves it again when it connects. Playwright routes see only the first URL of a request,
so redirects are paused by our own DevTools session. If a page redirects before that session is
attached, the redirect is detected afterwards and the page is closed before it can be read.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.async_api import (
        BrowserContext,
        CDPSession,
        Page,
        Request,
        Route,
        WebSocketRoute,
    )

__all__ = ["UrlCheck", "intercept"]

# Returns the reason to refuse a URL, or None.
UrlCheck = Callable[[str], Awaitable[str | None]]

# Schemes that cause no network access.
_INNER = ("about:", "blob:", "data:")
_SAME = {"ws": "http", "wss": "https"}
# WebSocket close code: policy violation.
_REFUSED = 1008


async def intercept(context: BrowserContext, check: UrlCheck) -> None:
    """Check all requests of the pages in this context."""
    interceptor = _Interceptor(context, check)
    await context.route("**/*", interceptor.decide)
    await context.route_web_socket("**/*", interceptor.decide_socket)
    context.on("page", interceptor.watch)
    context.on("request", interceptor.notice)
    for page in context.pages:
        interceptor.watch(page)
    await interceptor.settle()


class _Interceptor:
    def __init__(self, context: BrowserContext, check: UrlCheck) -> None:
        self._context = context
        self._check = check
        self._tasks: set[asyncio.Task[None]] = set()
        self._watches: set[asyncio.Task[None]] = set()

    async def decide(self, route: Route) -> None:
        await self.settle()
        if await self._is_refused(route.request.url):
            await route.abort("blockedbyclient")
        else:
            await route.fallback()

    async def decide_socket(self, socket: WebSocketRoute) -> None:
        if await self._is_refused(socket.url):
            await socket.close(code=_REFUSED, reason="refused")
        else:
            socket.connect_to_server()

    def watch(self, page: Page) -> None:
        """Pause each redirect in this page."""
        task = self._spawn(self._watch(page))
        self._watches.add(task)
        task.add_done_callback(self._watches.discard)

    def notice(self, request: Request) -> None:
        """Check a redirect that was not paused."""
        if request.redirected_from is not None:
            self._spawn(self._close_if_refused(request))

    async def settle(self) -> None:
        """Wait until all open pages are watched."""
        await asyncio.gather(*self._watches)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _is_refused(self, url: str) -> bool:
        if url.startswith(_INNER):
            return False
        scheme, _, rest = url.partition(":")
        return await self._check(f"{_SAME.get(scheme, scheme)}:{rest}") is not None

    async def _watch(self, page: Page) -> None:
        # The page may be closed before it is watched.
        with contextlib.suppress(_error()):
            session = await self._context.new_cdp_session(page)
            session.on(
                "Fetch.requestPaused", lambda event: self._spawn(self._release(session, event))
            )
            await session.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})

    async def _release(self, session: CDPSession, event: dict[str, Any]) -> None:
        request = {"requestId": event["requestId"]}
        with contextlib.suppress(_error()):
            if await self._is_refused(event["request"]["url"]):
                failed = {**request, "errorReason": "BlockedByClient"}
                await session.send("Fetch.failRequest", failed)
            else:
                await session.send("Fetch.continueRequest", request)

    async def _close_if_refused(self, request: Request) -> None:
        # After a redirect that was blocked in time, the page is closed or the request has failed.
        with contextlib.suppress(_error()):
            if await self._is_refused(request.url) and request.failure is None:
                await request.frame.page.close()


def _error() -> type[Exception]:
    from playwright.async_api import Error  # noqa: PLC0415 - of an optional extra

    return Error

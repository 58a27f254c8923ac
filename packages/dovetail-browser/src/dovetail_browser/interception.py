"""The rules for a browser that we did not start: each request is stopped and judged in the page.

The weaker way, for contexts whose traffic does not come through our egress. Requests and WebSockets
are judged by name and by what the name resolves to at that moment; the browser looks it up again
when it connects. Routes see the first address of a request only, so hops of a redirect are
stopped by a session of the protocol of our own; should a page be faster than that session, the
hop is noticed when it was made, and the page is closed before anybody reads it.
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

__all__ = ["Judge", "intercept"]

# Gives the reason to refuse a URL.
Judge = Callable[[str], Awaitable[str | None]]

# Addresses that lead to no network.
_INNER = ("about:", "blob:", "data:")
_SAME = {"ws": "http", "wss": "https"}
# Policy violation, in the protocol of WebSockets.
_REFUSED = 1008


async def intercept(context: BrowserContext, judge: Judge) -> None:
    """Judge everything that pages of this context ask for."""
    interceptor = _Interceptor(context, judge)
    await context.route("**/*", interceptor.decide)
    await context.route_web_socket("**/*", interceptor.decide_socket)
    context.on("page", interceptor.watch)
    context.on("request", interceptor.notice)
    for page in context.pages:
        interceptor.watch(page)
    await interceptor.settle()


class _Interceptor:
    def __init__(self, context: BrowserContext, judge: Judge) -> None:
        self._context = context
        self._judge = judge
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
        """Stop at each hop of a redirect in this page."""
        task = self._spawn(self._watch(page))
        self._watches.add(task)
        task.add_done_callback(self._watches.discard)

    def notice(self, request: Request) -> None:
        """A hop that nobody stopped."""
        if request.redirected_from is not None:
            self._spawn(self._close_if_refused(request))

    async def settle(self) -> None:
        """All pages that are there are watched."""
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
        return await self._judge(f"{_SAME.get(scheme, scheme)}:{rest}") is not None

    async def _watch(self, page: Page) -> None:
        # The page may be gone before it is watched.
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
        # A hop that was stopped in time has no page any more, or one that failed already.
        with contextlib.suppress(_error()):
            if await self._is_refused(request.url) and request.failure is None:
                await request.frame.page.close()


def _error() -> type[Exception]:
    from playwright.async_api import Error  # noqa: PLC0415 - of an optional extra

    return Error

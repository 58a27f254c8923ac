"""Applications around others: they add something, choose one, or start and stop several at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping

from dovetail.runtime.engine import HEALTH_PATHS
from dovetail.transports.asgi.in_flight import RequestTasks
from dovetail.transports.asgi.messages import (
    JSON,
    PendingResponse,
    Receive,
    RequestView,
    Scope,
    ServedApp,
    Transmit,
    respond,
)
from dovetail.transports.streamable_http.app import HttpApp
from dovetail.transports.streamable_http.signals import end_streams_on_signal

__all__ = ["AppWrapper", "OuterApp", "PathRouter"]

# Seconds for requests whose MCP calls have just been ended to send their responses.
_MIN_SECONDS = 0.1


class AppWrapper:
    """The base of ASGI applications around others, of which the first serves the requests.

    A subclass overrides what it does itself. Requests that the wrapped application has validated
    keep their fast path; a subclass that must see all of them returns False from `is_validated`.
    """

    def __init__(self, *apps: ServedApp) -> None:
        self._apps = apps
        # Whether another ASGI server runs this application, and whether it refuses requests.
        self._is_hosted = True
        self._is_closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Transmit) -> None:
        """Serve one ASGI connection."""
        await self._apps[0](scope, receive, send)

    def is_validated(self, request: RequestView) -> bool:
        """Whether an identical POST was validated before, so that only the body is unchecked."""
        return self._apps[0].is_validated(request)

    def begin(self, request: RequestView, body: bytes) -> PendingResponse | None:
        """Start a validated POST with a complete body; None if the ASGI path is needed."""
        return self._apps[0].begin(request, body)

    def end_streams(self) -> None:
        """End the streams that the subclass itself has open; runs at every step of a shutdown."""

    def end_streams_on_signal(self) -> None:
        """Under another ASGI server, end the streams on SIGTERM and SIGINT: it waits for them."""
        if self._is_hosted:
            end_streams_on_signal(self)

    def serve_directly(self) -> None:
        """Leave the shutdown to the caller."""
        self._is_hosted = False
        for app in self._apps:
            app.serve_directly()

    def begin_shutdown(self) -> None:
        """End streams; requests are still served."""
        self.end_streams()
        for app in self._apps:
            app.begin_shutdown()

    async def finish_shutdown(self, grace: float) -> None:
        """Refuse new requests, give running calls `grace` seconds, and end all sessions."""
        self._is_closing = True
        self.end_streams()
        await asyncio.gather(*(app.finish_shutdown(grace) for app in self._apps))

    def close(self) -> None:
        """End all sessions and streams at once."""
        self.end_streams()
        for app in self._apps:
            app.close()


class PathRouter(AppWrapper):
    """An ASGI application that routes to other applications by path."""

    def __init__(self, apps: Mapping[str, HttpApp]) -> None:
        super().__init__(*apps.values())
        self._by_path = dict(apps)

    async def __call__(self, scope: Scope, receive: Receive, send: Transmit) -> None:
        """Serve one ASGI connection."""
        app = self._find(scope)
        if app is None and scope.get("path", "") in HEALTH_PATHS:
            app = await self._find_health(scope["path"])
        if app is None:
            await respond(send, 404, b'{"error":"no server at this path"}', JSON)
        else:
            await app(scope, receive, send)

    def is_validated(self, request: RequestView) -> bool:
        """Whether an identical POST was validated before, so that only the body is unchecked."""
        app = self._find(request.scope)
        return app is not None and app.is_validated(request)

    def begin(self, request: RequestView, body: bytes) -> PendingResponse | None:
        """Start a validated POST with a complete body; None if the ASGI path is needed."""
        app = self._find(request.scope)
        return None if app is None else app.begin(request, body)

    async def _find_health(self, path: str) -> HttpApp | None:
        """The application whose health page is that of all of them: the first that is not OK."""
        pages = {app: await app.find_health(path) for app in self._by_path.values()}
        served = {app: page for app, page in pages.items() if page is not None}
        not_ready = (app for app, page in served.items() if page.status != 200)
        return next(not_ready, next(iter(served), None))

    def _find(self, scope: Scope) -> HttpApp | None:
        path = scope.get("path", "").rstrip("/")
        app = self._by_path.get(path)
        if app is None:
            # auth.prm.discovery: the metadata path is a well-known prefix plus the server's path
            matching = (app for own, app in self._by_path.items() if path.endswith(own))
            app = next(matching, None) if path.startswith("/.well-known/") else None
        return app


class OuterApp(AppWrapper):
    """An ASGI application of the user, served with the MCP applications inside it.

    It gets every request, and may do anything with it.
    """

    def __init__(
        self,
        app: Callable[[Scope, Receive, Transmit], Awaitable[None]],
        inner: Collection[HttpApp],
    ) -> None:
        super().__init__(*inner)
        self._outer = app
        self._requests = RequestTasks()

    async def __call__(self, scope: Scope, receive: Receive, send: Transmit) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http":
            await self._outer(scope, receive, send)
            return
        with self._requests.track():
            await self._outer(scope, receive, send)

    async def finish_shutdown(self, grace: float) -> None:
        """Give all running requests `grace` seconds, and end all sessions."""
        deadline = asyncio.get_running_loop().time() + grace
        await super().finish_shutdown(grace)
        left = deadline - asyncio.get_running_loop().time()
        await self._requests.finish(max(_MIN_SECONDS, left))

    def is_validated(self, request: RequestView) -> bool:
        """No request may skip the application."""
        return False

"""Routes requests to one of several applications by path."""

from __future__ import annotations

from collections.abc import Mapping

from dovetail.runtime.health import HEALTH_PATHS
from dovetail.transports.app_group import AppGroup
from dovetail.transports.asgi.messages import (
    JSON,
    PendingResponse,
    Receive,
    RequestView,
    Scope,
    Transmit,
    respond,
)
from dovetail.transports.streamable_http.app import HttpApp

__all__ = ["PathRouter"]


class PathRouter(AppGroup):
    """An ASGI application that routes to other applications by path."""

    def __init__(self, apps: Mapping[str, HttpApp]) -> None:
        super().__init__(apps.values())
        self._apps = dict(apps)

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
        pages = {app: await app.find_health(path) for app in self._apps.values()}
        served = {app: page for app, page in pages.items() if page is not None}
        not_ready = (app for app, page in served.items() if page.status != 200)
        return next(not_ready, next(iter(served), None))

    def _find(self, scope: Scope) -> HttpApp | None:
        path = scope.get("path", "").rstrip("/")
        app = self._apps.get(path)
        if app is None:
            # auth.prm.discovery: the metadata path is a well-known prefix plus the server's path
            matching = (app for own, app in self._apps.items() if path.endswith(own))
            app = next(matching, None) if path.startswith("/.well-known/") else None
        return app

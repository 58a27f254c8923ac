"""Applications side by side at one address, told apart by the path of a request."""

from __future__ import annotations

from collections.abc import Mapping

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


class PathRouter:
    """Serves what one application serves, for each of several by its path."""

    def __init__(self, apps: Mapping[str, HttpApp]) -> None:
        self._apps = dict(apps)

    async def __call__(self, scope: Scope, receive: Receive, send: Transmit) -> None:
        """Serve one ASGI connection."""
        app = self._find(scope)
        if app is None:
            await respond(send, 404, b'{"error":"no server has this path"}', JSON)
        else:
            await app(scope, receive, send)

    def is_validated(self, request: RequestView) -> bool:
        """Whether a POST like this has been looked at, so that its body alone is left."""
        app = self._find(request.scope)
        return app is not None and app.is_validated(request)

    def begin(self, request: RequestView, body: bytes) -> PendingResponse | None:
        """Begin to answer a welcome POST whose body is there; None where that must wait."""
        app = self._find(request.scope)
        return None if app is None else app.begin(request, body)

    def close(self) -> None:
        """End the sessions and streams of all."""
        for app in self._apps.values():
            app.close()

    def _find(self, scope: Scope) -> HttpApp | None:
        path = scope.get("path", "").rstrip("/")
        app = self._apps.get(path)
        if app is None:
            # auth.prm.discovery: what is said of a server lies at its path behind a prefix
            behind = (app for own, app in self._apps.items() if path.endswith(own))
            app = next(behind, None) if path.startswith("/.well-known/") else None
        return app

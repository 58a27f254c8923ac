"""An ASGI application of the user, served with the MCP applications inside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection

from dovetail.transports.app_group import AppGroup
from dovetail.transports.asgi.messages import (
    PendingResponse,
    Receive,
    RequestView,
    Scope,
    Transmit,
)
from dovetail.transports.streamable_http.app import HttpApp

__all__ = ["OuterApp"]


class OuterApp(AppGroup):
    """Passes every request to the application of the user, which may do anything with it."""

    def __init__(
        self,
        app: Callable[[Scope, Receive, Transmit], Awaitable[None]],
        inner: Collection[HttpApp],
    ) -> None:
        super().__init__(inner)
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Transmit) -> None:
        """Serve one ASGI connection."""
        await self._app(scope, receive, send)

    def is_validated(self, request: RequestView) -> bool:
        """No request may skip the application."""
        return False

    def begin(self, request: RequestView, body: bytes) -> PendingResponse | None:
        """Every request needs the ASGI path."""
        return None

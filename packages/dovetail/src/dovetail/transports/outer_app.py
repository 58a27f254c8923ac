"""An ASGI application of the user, served with the MCP applications inside it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from dovetail.transports.app_group import AppGroup
from dovetail.transports.asgi.messages import (
    PendingResponse,
    Receive,
    RequestView,
    Scope,
    Transmit,
)
from dovetail.transports.asgi.request_tasks import RequestTasks
from dovetail.transports.streamable_http.app import HttpApp

__all__ = ["OuterApp"]

# Seconds for requests whose MCP calls have just been ended to send their responses.
_MIN_SECONDS = 0.1


class OuterApp(AppGroup):
    """Passes every request to the application of the user, which may do anything with it."""

    def __init__(
        self,
        app: Callable[[Scope, Receive, Transmit], Awaitable[None]],
        inner: Collection[HttpApp],
    ) -> None:
        super().__init__(inner)
        self._app = app
        self._requests = RequestTasks()

    async def __call__(self, scope: Scope, receive: Receive, send: Transmit) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with self._requests.track():
            await self._app(scope, receive, send)

    async def finish_shutdown(self, grace: float) -> None:
        """Give all running requests `grace` seconds, and end all sessions."""
        deadline = asyncio.get_running_loop().time() + grace
        await super().finish_shutdown(grace)
        left = deadline - asyncio.get_running_loop().time()
        await self._requests.finish(max(_MIN_SECONDS, left))

    def is_validated(self, request: RequestView) -> bool:
        """No request may skip the application."""
        return False

    def begin(self, request: RequestView, body: bytes) -> PendingResponse | None:
        """Every request needs the ASGI path."""
        return None

"""The base of applications that serve something beside the application that they wrap."""

from __future__ import annotations

from dovetail.transports.asgi.messages import (
    PendingResponse,
    Receive,
    RequestView,
    Scope,
    ServedApp,
    Transmit,
)

__all__ = ["AppWrapper"]


class AppWrapper:
    """Passes everything on; a subclass overrides what it serves itself.

    Requests that the wrapped application has validated keep their fast path.
    """

    def __init__(self, app: ServedApp) -> None:
        self._app = app
        # Whether another ASGI server runs this application, and whether it refuses requests.
        self._is_hosted = True
        self._is_closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Transmit) -> None:
        """Serve one ASGI connection."""
        await self._app(scope, receive, send)

    def is_validated(self, request: RequestView) -> bool:
        """Whether an identical POST was validated before, so that only the body is unchecked."""
        return self._app.is_validated(request)

    def begin(self, request: RequestView, body: bytes) -> PendingResponse | None:
        """Start a validated POST with a complete body; None if the ASGI path is needed."""
        return self._app.begin(request, body)

    def serve_directly(self) -> None:
        """Leave the shutdown to the caller."""
        self._is_hosted = False
        self._app.serve_directly()

    def begin_shutdown(self) -> None:
        """End streams; requests are still served."""
        self._app.begin_shutdown()

    async def finish_shutdown(self, grace: float) -> None:
        """Refuse new requests, give running calls `grace` seconds, and end all sessions."""
        self._is_closing = True
        await self._app.finish_shutdown(grace)

    def close(self) -> None:
        """End all sessions and streams at once."""
        self._app.close()

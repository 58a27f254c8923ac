"""The shutdown of several MCP applications in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from dovetail.transports.streamable_http.app import HttpApp

__all__ = ["AppGroup"]


class AppGroup:
    """MCP applications that start and stop together."""

    def __init__(self, apps: Collection[HttpApp]) -> None:
        self._group = tuple(apps)

    def serve_directly(self) -> None:
        """Leave the shutdown to the caller, in all applications."""
        for app in self._group:
            app.serve_directly()

    def begin_shutdown(self) -> None:
        """End streams, in all applications."""
        for app in self._group:
            app.begin_shutdown()

    async def finish_shutdown(self, grace: float) -> None:
        """Give running calls `grace` seconds, and end all sessions."""
        await asyncio.gather(*(app.finish_shutdown(grace) for app in self._group))

    def close(self) -> None:
        """End the sessions and streams of all applications."""
        for app in self._group:
            app.close()

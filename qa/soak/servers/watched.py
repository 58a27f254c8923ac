"""Any ASGI application, with a route beside it that tells what its process holds.

Imports nothing but the standard library: the peers have environments of their own.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Watched", "raise_limit_of_files"]

_ROUTES = {"/counts": False, "/collected-counts": True}


class Watched:
    """Answers on its own routes and hands everything else on."""

    def __init__(self, app: Any, counts: Callable[[], Mapping[str, int]] = dict) -> None:
        self._app = app
        self._counts = counts

    def __getattr__(self, name: str) -> Any:
        # Whoever serves it may know more ways into it than ASGI has.
        return getattr(self._app, name)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one ASGI connection."""
        collects = _ROUTES.get(scope["path"]) if scope["type"] == "http" else None
        if collects is None:
            await self._app(scope, receive, send)
            return
        found = {**self._counts(), **_process()}
        if collects:
            gc.collect()
            # All that can hold something else: what leaks is among them.
            found["objects"] = len(gc.get_objects())
        body = json.dumps(found).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _process() -> dict[str, int]:
    return {"tasks": len(asyncio.all_tasks()), "fds": len(os.listdir("/proc/self/fd"))}


def raise_limit_of_files() -> None:
    """Thousands of connections need a descriptor each."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

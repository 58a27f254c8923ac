"""Runs rendering in worker processes, so that a crash costs one call.

Drawing, text layout, image decoding and SVG parsing are native code that handles what callers
send. All of it runs in workers, also for small designs without pictures: a warm call costs about a
millisecond more than in the server's process, and the server never loads the graphics library.
Uploaded fonts are only checked, in Python, and never drawn.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from dovetail import ToolError, current_context
from dovetail.errors import UsageError
from dovetail_serverkit.worker_pool import WorkerError, WorkerPool

__all__ = ["RenderPool"]

T = TypeVar("T")

# Address space. The largest pictures that are allowed (40 megapixels) need up to 1.5 GB.
_MEMORY_MB = 2048
# More than the renderer's own time limit, whose message says more.
_SECONDS = 60.0
_MOST_WORKERS = 4


class RenderPool:
    """Worker processes for the functions of `render_jobs`; they start at the first call."""

    def __init__(self) -> None:
        size = max(2, min(_MOST_WORKERS, os.cpu_count() or 1))
        self._workers = WorkerPool(
            "Rendering", size=size, memory_mb=_MEMORY_MB, seconds=_SECONDS, errors=(ToolError,)
        )

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        returns: type[T],
        kept: str = "; the design is unchanged",
    ) -> T:
        """Call a function in a worker; raises ToolError, also if the worker crashes.

        Blocks, so call it in a thread; principals take turns for the workers. `kept` is added to
        the error if the worker fails.
        """
        try:
            result: T = self._workers.run(function, *args, returns=returns, owner=_find_owner())
        except WorkerError as error:
            raise ToolError(f"{error}{kept}") from None
        return result

    def close(self) -> None:
        """End the workers."""
        self._workers.close()


def _find_owner() -> str | None:
    """The id of the principal whose call is running, if any."""
    try:
        principal = current_context().principal
    except UsageError:
        return None
    return None if principal is None else principal.id

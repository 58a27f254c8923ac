"""`--debug`: a tool that crashes tells its caller where, with the author's frames only."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from dovetail.cli.loading import format_author_frames
from dovetail.core.middleware import CallNext, Request
from dovetail.errors import DovetailError, ToolError
from dovetail.server import Server

__all__ = ["expose_crashes"]

logger: logging.Logger = logging.getLogger("dovetail")

_CALL = "tools/call"


def expose_crashes(servers: Sequence[Server]) -> None:
    """Send tracebacks of tools to their callers; for servers that only this machine reaches."""
    for server in servers:
        server.add_middleware(_expose)


async def _expose(request: Request[Any], call_next: CallNext[Any]) -> Any:
    try:
        return await call_next(request)
    except DovetailError:
        raise
    except Exception as error:
        if request.method != _CALL:
            raise
        text = format_author_frames(error)
        logger.error("tool %r failed\n%s", request.target, text)
        raise ToolError(text) from None

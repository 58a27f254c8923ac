"""`dovetail run FILE`: a server on stdio, with as little in the way as possible."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from dovetail.cli.collecting import collect_seldom
from dovetail.cli.guarding import GuardChoice
from dovetail.cli.loading import load_server
from dovetail.errors import TransportError, UsageError
from dovetail.server import Server
from dovetail.transports.stdio import serve_stdio

if TYPE_CHECKING:
    from dovetail.guard import Guard

__all__ = ["run_file", "run_server"]


def run_file(text: str, guard: GuardChoice | None = None) -> int:
    """Serve until stdin ends; 2 for a file that names no server, 4 for one that cannot run."""
    try:
        server = load_server(text)
        auth = None if guard is None else guard.make()
    except UsageError as error:
        return _complain(error, 2)
    except TransportError as error:
        return _complain(error, 4)
    return run_server(server, auth)


def run_server(server: Server, guard: Guard | None = None) -> int:
    """Serve on stdio until stdin ends."""
    if sys.stdin is not None and sys.stdin.isatty():
        # Somebody runs it by hand; without a word it would look like a hang.
        sys.stderr.write(f"{server.name}: serving on stdio, waiting for a client; Ctrl-C ends it\n")
    collect_seldom()
    try:
        asyncio.run(serve_stdio(server, guard=guard))
    except UsageError as error:
        return _complain(error, 2)
    except KeyboardInterrupt:
        return 130
    return 0


def _complain(error: Exception, code: int) -> int:
    sys.stderr.write(f"dovetail: {error}\n")
    return code

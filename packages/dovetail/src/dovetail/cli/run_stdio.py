"""`dovetail run FILE`: serve over stdio, with few imports for a fast start."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import select
import sys
from typing import TYPE_CHECKING

from dovetail.cli.exit_deadline import ExitDeadline
from dovetail.cli.gc_tuning import tune_gc
from dovetail.cli.guard_options import GuardOptions
from dovetail.cli.guards import choose_guard
from dovetail.cli.loading import load
from dovetail.cli.log_format import write_line
from dovetail.errors import TransportError, UsageError
from dovetail.server import Server
from dovetail.transports.stdio import serve_stdio
from dovetail.wire import codec

if TYPE_CHECKING:
    from dovetail.auth import Guard

__all__ = ["run_file", "run_server"]


def run_file(text: str, guard: GuardOptions | None = None, report: int | None = None) -> int:
    """Serve until stdin is closed.

    If `report` is a file descriptor, the grace period is written to it when the file is loaded, and
    the server starts with the first message, when the process that it replaces has ended.
    Returns the exit code: 2 for a file without a server, 4 for a file that fails to load.
    """
    with asyncio.Runner() as runner:
        try:
            loaded = load(text, runner.run)
            auth, warnings = choose_guard(loaded, guard or GuardOptions(), over_http=False)
            server = loaded.server
        except UsageError as error:
            return _report(error, 2)
        except TransportError as error:
            return _report(error, 4)
        for warning in warnings:
            write_line(f"Warning: {warning}", logging.WARNING)
        if report is not None:
            _report_and_wait(server, report)
        return run_server(server, auth, runner=runner)


def run_server(
    server: Server, guard: Guard | None = None, *, runner: asyncio.Runner | None = None
) -> int:
    """Serve over stdio until stdin is closed."""
    if sys.stdin is not None and sys.stdin.isatty():
        # In a terminal it would look like a hang without a message.
        write_line(f"{server.name}: serving on stdio, waiting for a client; press Ctrl-C to stop")
    tune_gc()
    try:
        with (
            contextlib.closing(ExitDeadline(server.options.grace)) as deadline,
            runner or asyncio.Runner() as runner,
        ):
            runner.run(serve_stdio(server, guard=guard, on_stop=deadline.start))
    except UsageError as error:
        return _report(error, 2)
    except KeyboardInterrupt:
        return 130
    return 0


def _report_and_wait(server: Server, report: int) -> None:
    from dovetail.cli.supervisor import WorkerReport  # noqa: PLC0415 - only with --reload

    with open(report, "wb") as pipe:
        pipe.write(codec.encode(WorkerReport([], server.options.grace)))
    select.select([0], [], [])


def _report(error: Exception, code: int) -> int:
    write_line(f"dovetail: {error}", logging.ERROR)
    return code

"""`dovetail run FILE` and `server.run()`: serve over stdio, with few imports for a fast start."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dovetail.auth import GuardSettings
from dovetail.cli.loading import choose_guard, load
from dovetail.cli.log_format import write_line
from dovetail.cli.process import ExitDeadline, take_snapshot, tune_gc, wait_for_change
from dovetail.cli.sources import parse_source
from dovetail.core.options import HTTP_DEFAULTS, HttpAppOptions
from dovetail.errors import TransportError, UsageError
from dovetail.server import Server
from dovetail.transports.stdio import serve_stdio

if TYPE_CHECKING:
    from dovetail.auth import Guard

__all__ = ["choose_address", "run", "run_file", "run_server"]


def run_file(
    text: str,
    guard: GuardSettings | None = None,
    *,
    reload: bool = False,
    debug: bool = False,
    arguments: Sequence[str] = (),
) -> int:
    """Serve until stdin is closed; with `reload`, until a Python file in the folder changes.

    `arguments`: those of the server, in its `sys.argv[1:]`. `debug` and `reload` send tracebacks
    of tools to the client.
    Returns the exit code: 2 for a file without a server, 4 for a file that fails to load.
    """
    # Before the file is loaded: later changes end the server.
    changed = _watch_files(text) if reload else None
    with asyncio.Runner() as runner:
        try:
            loaded = load(text, runner.run, arguments)
            auth, warnings = choose_guard(loaded, guard or GuardSettings(), over_http=False)
            server = loaded.server
        except UsageError as error:
            return _report(error, 2)
        except TransportError as error:
            return _report(error, 4)
        if debug or reload:
            # Only this command has a debug mode, and it takes time to import.
            from dovetail.cli.debugging import expose_crashes  # noqa: PLC0415

            expose_crashes(loaded.servers)
        for warning in warnings:
            write_line(f"Warning: {warning}", logging.WARNING)
        return run_server(server, auth, runner=runner, changed=changed)


def run_server(
    server: Server,
    guard: Guard | None = None,
    *,
    runner: asyncio.Runner | None = None,
    changed: Callable[[], Coroutine[Any, Any, str]] | None = None,
) -> int:
    """Serve over stdio until stdin is closed, or until `changed` returns the name of a file."""
    if sys.stdin is not None and sys.stdin.isatty():
        # In a terminal it would look like a hang without a message.
        write_line(f"{server.name}: serving on stdio, waiting for a client; press Ctrl-C to stop")
    tune_gc()
    try:
        with (
            contextlib.closing(ExitDeadline(server.options.grace)) as deadline,
            runner or asyncio.Runner() as runner,
        ):
            runner.run(_serve(server, guard, deadline.start, changed))
    except UsageError as error:
        return _report(error, 2)
    except KeyboardInterrupt:
        return 130
    return 0


async def _serve(
    server: Server,
    guard: Guard | None,
    on_stop: Callable[[], None],
    changed: Callable[[], Coroutine[Any, Any, str]] | None,
) -> None:
    async def end(changed: Coroutine[Any, Any, str]) -> None:
        write_line(f"{await changed} changed; ending, for the client to start the server again")
        signal.raise_signal(signal.SIGTERM)

    # The task begins when `serve_stdio` waits, so after it has set its handlers of signals.
    ending = None if changed is None else asyncio.create_task(end(changed()))
    await serve_stdio(server, guard=guard, on_stop=on_stop)
    if ending is not None:
        ending.cancel()


def _watch_files(text: str) -> Callable[[], Coroutine[Any, Any, str]] | None:
    """Return what waits for a change of the Python files beside FILE[:NAME]."""
    source = parse_source(text)
    if source is None:
        return None
    folder = source.folder
    return partial(wait_for_change, folder, take_snapshot(folder))


def _report(error: Exception, code: int) -> int:
    write_line(f"dovetail: {error}", logging.ERROR)
    return code


_HTTP = ("http", "streamable-http")


def choose_address(
    http: int | str | None, transport: str | None, host: str | None, port: int | None
) -> str | None:
    """The "HOST:PORT" that the keywords of `server.run()` ask for, None for stdio.

    Raises UsageError.
    """
    if transport not in (None, "stdio", *_HTTP):
        hint = "; for clients of HTTP+SSE add old_sse='/sse' to http" if transport == "sse" else ""
        raise UsageError(f"run(): transport is 'stdio' or 'http', got {transport!r}{hint}")
    if http is not None:
        if host is not None or port is not None or transport == "stdio":
            raise UsageError(
                "run(): http=PORT or http='HOST:PORT' takes no transport, host or port"
            )
        return str(http)
    if transport in _HTTP:
        name = host or "127.0.0.1"
        return f"{f'[{name}]' if ':' in name else name}:{8000 if port is None else port}"
    if host is not None or port is not None:
        raise UsageError("run(): host and port need transport='http'; the short form is http=PORT")
    return None


def run(
    server: Server, http: str | None, path: str, options: HttpAppOptions, *, console: bool
) -> int:
    """Serve a server from its own file, for `server.run()`; returns the exit code."""
    if http is None:
        if console or path != "/mcp" or options != HTTP_DEFAULTS:
            raise UsageError("run(): path, console and the options of HTTP need http=PORT")
        return run_server(server)
    from dovetail.cli.run_http import run_server_http  # noqa: PLC0415 - uvicorn
    from dovetail.cli.settings import HttpSettings, parse_address  # noqa: PLC0415 - only for HTTP

    host, port = parse_address(http)
    run = HttpSettings(host=host, port=port, path=path, app=options, console=console)
    return run_server_http(lambda: (server, server.http_app(path, **options)), run)

"""`dovetail dev FILE`: serve a file over HTTP, restart it on changes, and open the console."""

from __future__ import annotations

from typing import Any

import click

from dovetail.cli.failures import or_fail
from dovetail.cli.options import (
    GUARD_OPTIONS,
    LOG_FORMAT_OPTION,
    PATH_OPTION,
    WATCH_OPTION,
    take_guard,
    with_options,
)
from dovetail_console.console_command import NO_OPEN

__all__ = ["dev"]

_HTTP = click.option(
    "--http",
    "address",
    default="8000",
    show_default=True,
    metavar="[HOST:]PORT",
    help="Serve at this address; port 0 picks a free port.",
)


@click.command()
@click.argument("file", metavar="FILE[:NAME]")
@with_options((_HTTP, NO_OPEN, WATCH_OPTION, PATH_OPTION, LOG_FORMAT_OPTION, *GUARD_OPTIONS))
def dev(file: str, address: str, no_open: bool, **given: Any) -> None:
    """Serve the Server in FILE over HTTP, restart it when a Python file changes, open the console.

    The same as `dovetail run FILE --http 8000 --reload --console`, with a browser.
    """
    from dovetail.cli.run_http import HttpSettings, parse_address, run_http  # noqa: PLC0415 - uvicorn

    guard = or_fail(lambda: take_guard(given))
    host, port = or_fail(lambda: parse_address(address))
    run = or_fail(
        lambda: HttpSettings(
            host=host,
            port=port,
            guard=guard,
            console=True,
            reload=True,
            open_browser=not no_open,
            **given,
        )
    )
    raise SystemExit(run_http(file, run))

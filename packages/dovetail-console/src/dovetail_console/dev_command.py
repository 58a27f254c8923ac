"""`dovetail dev FILE`: serve a file over HTTP, restart it on changes, and open the console."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from dovetail.cli.failures import or_fail
from dovetail.cli.options import with_options
from dovetail.cli.settings import (
    GUARD_OPTIONS,
    LOG_FORMAT_OPTION,
    PATH_OPTION,
    WATCH_OPTION,
    read_settings,
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
def dev(file: str, no_open: bool, **given: Any) -> None:
    """Serve the Server in FILE over HTTP, restart it when a Python file changes, open the console.

    The same as `dovetail run FILE --http 8000 --reload --console`, with a browser.
    """
    from dovetail.cli.run_http import run_http  # noqa: PLC0415 - uvicorn

    _, http = or_fail(lambda: read_settings({**given, "console": True, "reload": True}))
    assert http is not None
    raise SystemExit(run_http(file, replace(http, open_browser=not no_open)))

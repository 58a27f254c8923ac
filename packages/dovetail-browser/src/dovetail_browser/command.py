"""`dovetail serve browser`: command line options, and the server built from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dovetail import Server, UsageError
from dovetail_browser.driver import DriverOptions
from dovetail_browser.login import LoginOptions
from dovetail_browser.secret_values import Secrets, read_secrets_file
from dovetail_browser.server import BrowserOptions, build_server
from dovetail_browser.sessions import SessionLimits
from dovetail_browser.settling import SETTLE_SECONDS
from dovetail_serverkit.tool_sets import TOOLS_OPTION, ToolSet

__all__ = ["ARGUMENTS", "OPTIONS", "SUMMARY", "build"]

SUMMARY = "Drive Chromium: read pages as short text, click, type and fill in forms."

ARGUMENTS: Sequence[click.Parameter] = ()
OPTIONS: Sequence[click.Parameter] = (
    click.Option(["--headless/--headed"], default=True, help="Run without or with a window."),
    click.Option(
        ["--profile"],
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Keep cookies and logins in this folder.",
    ),
    click.Option(["--connect"], metavar="URL", help="Use a running browser at this DevTools URL."),
    click.Option(
        ["--allow"],
        multiple=True,
        metavar="HOST",
        help="Allow a non-public HOST, HOST:PORT, *.SUFFIX, address or network (repeatable).",
    ),
    click.Option(
        ["--folder"],
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Folder for downloads, uploads and saved files; without it there are none.",
    ),
    click.Option(
        ["--secrets", "secrets_file"],
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="File of NAME=value lines: secrets that tools type by name.",
    ),
    TOOLS_OPTION,
    click.Option(["--enable-scripts"], is_flag=True, help="Enable the evaluate_script tool."),
    click.Option(
        ["--settle"],
        type=click.FloatRange(0.1, 60),
        default=SETTLE_SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="Wait at most this long for a page to settle.",
    ),
    click.Option(
        ["--idle"],
        type=click.FloatRange(0.01, 1440),
        default=15.0,
        show_default=True,
        metavar="MINUTES",
        help="Close sessions after this idle time.",
    ),
    click.Option(
        ["--max-sessions"],
        type=click.IntRange(1, 200),
        default=16,
        show_default=True,
        help="Maximum number of sessions.",
    ),
    click.Option(
        ["--no-sandbox"], is_flag=True, help="Start Chromium without its sandbox, for containers."
    ),
)


def build(  # noqa: PLR0913 - the options of the command line, all by name
    *,
    headless: bool = True,
    profile: Path | None = None,
    connect: str | None = None,
    allow: Sequence[str] = (),
    folder: Path | None = None,
    secrets_file: Path | None = None,
    enable_scripts: bool = False,
    tools: ToolSet = "default",
    settle: float = SETTLE_SECONDS,
    idle: float = 15.0,
    max_sessions: int = 16,
    no_sandbox: bool = False,
    over_http: bool = False,
    **_others: Any,
) -> Server:
    """Build the server; no process starts yet."""
    if connect is not None and profile is not None:
        raise UsageError("--connect uses the profile of the running browser; omit --profile")
    return build_server(
        BrowserOptions(
            driver=DriverOptions(
                headless=headless,
                profile=_absolute(profile),
                connect=connect,
                allow=tuple(allow),
                no_sandbox=no_sandbox,
            ),
            limits=SessionLimits(max_sessions, idle * 60),
            folder=_absolute(folder),
            secrets=Secrets(read_secrets_file(secrets_file) if secrets_file else None),
            enable_scripts=enable_scripts,
            settle_seconds=settle,
            tools=tools,
            is_http=over_http,
            login=LoginOptions(has_window=not headless or connect is not None),
        )
    )


def _absolute(path: Path | None) -> Path | None:
    return path.expanduser().absolute() if path is not None else None

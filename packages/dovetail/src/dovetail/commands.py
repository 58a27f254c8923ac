"""Helpers for packages that add commands to `dovetail` through the `dovetail.commands` group.

Importing this module imports click and rich. `serve_page` imports uvicorn.

The exit codes of all commands: `FAILED_CALL` is 1 (the server or the tool reported an error),
`WRONG_USAGE` is 2 (wrong arguments), and `COULD_NOT_START` is 4 (the server did not start).
`REACH_OPTIONS` are the options of commands that connect to a server: --header, --token-env, --env
and --cwd. Add them with `with_options`. `REQUEST_OPTIONS` are those of commands that take a target
and make requests; `find_target` and `run_with_client` connect to it. `run_command` is the command
`dovetail run`, for commands that serve a file: invoke it with `click.Context.invoke`.
"""

from __future__ import annotations

import typing as _typing

from dovetail.cli.app import run as run_command
from dovetail.cli.client_runs import find_auth, run_with_client
from dovetail.cli.failures import COULD_NOT_START, FAILED_CALL, WRONG_USAGE, Failure, or_fail
from dovetail.cli.options import (
    REACH_OPTIONS,
    REQUEST_OPTIONS,
    OptionMaker,
    run_group,
    with_options,
)
from dovetail.cli.printing import make_console, print_json, print_pairs
from dovetail.cli.settings import parse_address
from dovetail.cli.targets import TargetOptions, find_target, read_headers, read_login_headers

if _typing.TYPE_CHECKING:
    from dovetail.cli.run_http import serve_page

__all__ = [
    "COULD_NOT_START",
    "FAILED_CALL",
    "REACH_OPTIONS",
    "REQUEST_OPTIONS",
    "WRONG_USAGE",
    "Failure",
    "OptionMaker",
    "TargetOptions",
    "find_auth",
    "find_target",
    "make_console",
    "or_fail",
    "parse_address",
    "print_json",
    "print_pairs",
    "read_headers",
    "read_login_headers",
    "run_command",
    "run_group",
    "run_with_client",
    "serve_page",
    "with_options",
]


def __getattr__(name: str) -> _typing.Any:
    if name == "serve_page":
        from dovetail.cli.run_http import serve_page  # noqa: PLC0415 - uvicorn

        return serve_page
    raise AttributeError(f"module 'dovetail.commands' has no attribute {name!r}")

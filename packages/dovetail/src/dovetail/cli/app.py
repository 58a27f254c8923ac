"""The `dovetail` group and the command `run`; the other commands have their own modules.

TARGET is FILE.py, FILE.py:NAME, PACKAGE.MODULE:NAME, a URL, or a name from a configuration file.
Without a TARGET, everything after `--` is a command that starts a server. After `run FILE`, it is
the arguments of the server.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from dovetail.cli.failures import INTERRUPTED, WRONG_USAGE, Failure, or_fail
from dovetail.cli.options import MODULE_OPTION, require_module, run_group, with_options
from dovetail.cli.plugins import COMMANDS, PluginError, unavailable
from dovetail.cli.run_stdio import run_file
from dovetail.cli.settings import (
    CLUSTER_OPTIONS,
    CONSOLE_OPTIONS,
    DEBUG_OPTION,
    GUARD_OPTIONS,
    HTTP_OPTIONS,
    LOG_FORMAT_OPTION,
    LOG_LEVEL_OPTION,
    OPEN_OPTION,
    PATH_OPTION,
    RELOAD_OPTION,
    REST_OPTION,
    read_settings,
)
from dovetail.errors import MissingPackageError

__all__ = ["app", "run", "run_app"]

# Commands of this package that are imported on first use: name -> module:object.
_LAZY = {
    "list": "dovetail.cli.list_commands:list_command",
    "call": "dovetail.cli.client_commands:call",
    "read": "dovetail.cli.client_commands:read",
    "prompt": "dovetail.cli.client_commands:prompt",
    "complete": "dovetail.cli.client_commands:complete",
    "subscribe": "dovetail.cli.client_commands:subscribe",
    "inspect": "dovetail.cli.list_commands:inspect",
    "generate": "dovetail.cli.generate_command:generate",
    "login": "dovetail.cli.login_command:login",
    "logout": "dovetail.cli.login_command:logout",
    "whoami": "dovetail.cli.login_command:whoami",
    "tasks": "dovetail.cli.tasks_command:tasks",
    "serve": "dovetail.cli.serve_command:serve",
    "keys": "dovetail.cli.keys_command:keys",
}
# The groups of the help; commands of other packages come last.
_GROUPS = {
    "Serving": ("run", "dev", "serve", "gateway", "console"),
    "Using servers": (
        *("list", "call", "read", "prompt", "complete", "subscribe", "inspect"),
        *("generate", "openapi", "login", "logout", "whoami"),
    ),
    "Checking": ("check", "report", "verify", "diff", "explain", "rules", "badge"),
    "Operations": ("keys", "tasks", "graph"),
}
# Longer than every summary, which the formatter wraps.
_UNCUT = 1000


def run_app(arguments: Sequence[str]) -> int:
    """Run a command line; click exits the process with the exit code."""
    return run_group(app, arguments, "dovetail")


class LazyGroup(click.Group):
    """Imports most commands on first use, and finds the commands of other packages."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands of this package, then those of plugins."""
        return [*self.commands, *_LAZY, *COMMANDS.names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name."""
        command: click.Command
        if cmd_name in _LAZY:
            module, _, name = _LAZY[cmd_name].partition(":")
            command = getattr(importlib.import_module(module), name)
            return command
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in COMMANDS.names:
            return own
        try:
            command = COMMANDS.load(cmd_name)
        except PluginError as error:
            command = unavailable(cmd_name, str(error))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in groups, with their whole summaries."""
        others = [name for name in self.list_commands(ctx) if name not in sum(_GROUPS.values(), ())]
        for title, names in {**_GROUPS, "Other packages": others}.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            rows = [
                (name, command.get_short_help_str(_UNCUT))
                for name, command in found
                if command is not None
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C and a missing package end it without a traceback."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            # In the form of all other errors.
            path = (error.ctx or ctx).command_path
            text = error.format_message().removesuffix(".")
            raise Failure(f"{text}; see: {path} --help", WRONG_USAGE) from None
        except MissingPackageError as error:
            raise Failure(str(error), WRONG_USAGE) from None
        except KeyboardInterrupt:
            if sys.stderr.isatty():
                click.echo(err=True)  # after the ^C of the terminal
            raise SystemExit(INTERRUPTED) from None


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dovetail-mcp", prog_name="dovetail")
def app() -> None:
    """Run MCP servers, call their tools, and check them against the specification.

    TARGET is FILE.py, FILE.py:NAME (if the file has several servers), PACKAGE.MODULE[:NAME],
    a URL, or with --config the name of a server in a configuration file. To use any other
    server, omit TARGET and add the command that starts it after `--`.
    """


@app.command()
@click.argument("file", metavar="FILE[:NAME] [-- ARGUMENTS...]")
@with_options((MODULE_OPTION,))
@with_options((*HTTP_OPTIONS, PATH_OPTION, LOG_FORMAT_OPTION, LOG_LEVEL_OPTION, REST_OPTION))
@with_options((*CONSOLE_OPTIONS, *CLUSTER_OPTIONS, RELOAD_OPTION, DEBUG_OPTION, OPEN_OPTION))
@with_options(GUARD_OPTIONS)
@click.pass_obj
def run(arguments: list[str] | None, /, file: str, as_module: bool, **given: Any) -> None:
    """Serve the Server in FILE over stdio, or over HTTP with --http.

    FILE may be a module: PACKAGE.MODULE[:NAME]. The server finds the ARGUMENTS in sys.argv[1:].
    """
    require_module(file, as_module)
    reload, debug = given["reload"], given["debug"]
    guard, http = or_fail(lambda: read_settings(given))
    if http is None:
        code = run_file(file, guard, reload=reload, debug=debug, arguments=arguments or ())
        raise SystemExit(code)
    from dovetail.cli.run_http import run_http  # noqa: PLC0415 - uvicorn

    raise SystemExit(run_http(file, http, arguments or ()))

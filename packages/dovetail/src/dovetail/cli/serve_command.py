"""`dovetail serve NAME`: runs one ready-made server, or all of them on one port.

Each server is a plugin (see `plugins.py`): a module with SUMMARY, ARGUMENTS, OPTIONS and
`build(**options)`, which returns the server, or None if the options do not ask for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from dovetail.auth import GuardSettings
from dovetail.cli.failures import COULD_NOT_START, WRONG_USAGE, Failure, or_fail
from dovetail.cli.options import with_options
from dovetail.cli.plugins import SERVERS, PluginError, unavailable
from dovetail.cli.run_stdio import run_server
from dovetail.cli.settings import (
    CONSOLE_OPTIONS,
    GUARD_OPTIONS,
    HTTP_OPTIONS,
    LOG_FORMAT_OPTION,
    HttpSettings,
    read_settings,
)
from dovetail.errors import TransportError
from dovetail.runtime.state import CLUSTER
from dovetail.server import Server

__all__ = ["run_serve", "serve"]

T = TypeVar("T")

_DEFAULT_PORT = "8000"


class _ReadyServers(click.Group):
    """A command for each ready-made server, imported on first use."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return [*SERVERS.names, "all"]

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name == "all":
            return _command_for_all()
        return _command_for_one(name) if name in SERVERS.names else None


@click.command(
    cls=_ReadyServers, name="serve", context_settings={"help_option_names": ["-h", "--help"]}
)
def serve() -> None:
    """Run a ready-made server over stdio, or over HTTP with --http, in one process."""


def run_serve(arguments: Sequence[str]) -> int:
    """Run the command line of `dovetail serve`; click exits the process with the exit code."""
    serve.main(args=list(arguments), prog_name="dovetail serve")
    return 0


def _load_all() -> tuple[dict[str, Any], list[str]]:
    """The installed servers, and why the others are missing."""
    loaded, missing = {}, []
    for name in SERVERS.names:
        try:
            loaded[name] = SERVERS.load(name)
        except PluginError as error:
            missing.append(f"{name} {error}")
    return loaded, missing


def _command_for_one(name: str) -> click.Command:
    try:
        ready = SERVERS.load(name)
    except PluginError as error:
        return unavailable(name, str(error))

    def run(shared: dict[str, Any], given: dict[str, Any]) -> None:
        guard, http = _read(shared, given)
        server = _build(ready, given, over_http=http is not None)
        if server is None:
            raise Failure(f"Missing argument: dovetail serve {name} PATH", WRONG_USAGE)
        if http is None:
            raise SystemExit(run_server(server, or_fail(guard.build)))
        raise SystemExit(_serve_http({"": server}, http))

    return _make_command(name, ready.SUMMARY, [*ready.ARGUMENTS, *ready.OPTIONS], run)


def _command_for_all() -> click.Command:
    loaded, missing = _load_all()

    def run(shared: dict[str, Any], given: dict[str, Any]) -> None:
        _, http = _read(shared, given, _DEFAULT_PORT)
        assert http is not None
        for reason in missing:
            click.echo(f"skipped: {reason}", err=True)
        built = {name: _build(ready, given, over_http=True) for name, ready in loaded.items()}
        servers = {name: server for name, server in built.items() if server is not None}
        for name in built.keys() - servers.keys():
            option = loaded[name].OPTIONS[0].opts[0]
            click.echo(f"skipped: {name} requires {option}", err=True)
        if not servers:
            raise Failure("No server can be started", WRONG_USAGE)
        raise SystemExit(_serve_http(servers, http))

    own: dict[str, click.Parameter] = {}
    for ready in loaded.values():
        for option in ready.OPTIONS:
            own.setdefault(option.name, option)
    text = f"All servers on one port.\n\nURLs: /vault/mcp and so on. Default port: {_DEFAULT_PORT}."
    return _make_command("all", text, list(own.values()), run)


def _refuse_cluster(_context: click.Context, option: click.Parameter, value: Any) -> None:
    if value is not None and value != "1":
        name = (
            option.opts[0] if value != os.environ.get(CLUSTER) else f"{option.opts[0]}, {CLUSTER}"
        )
        raise Failure(
            f"{name}: a ready-made server runs in one process, because its tabs and indexes live "
            "in it; `dovetail run` and `dovetail gateway` run in several",
            WRONG_USAGE,
        )


# Not for these servers; the message says why.
_CLUSTER_OPTIONS = (
    click.option("--workers", hidden=True, expose_value=False, callback=_refuse_cluster),
    click.option(
        "--cluster", envvar=CLUSTER, hidden=True, expose_value=False, callback=_refuse_cluster
    ),
)


_SHARED = (*HTTP_OPTIONS, *CONSOLE_OPTIONS, LOG_FORMAT_OPTION, *GUARD_OPTIONS, *_CLUSTER_OPTIONS)


def _make_command(
    name: str,
    summary: str,
    own: list[click.Parameter],
    run: Callable[[dict[str, Any], dict[str, Any]], None],
) -> click.Command:
    """A command that calls `run` with the values of the shared options, and with the others."""

    def split(**given: Any) -> None:
        run({each: given.pop(each) for each in shared if each in given}, given)

    command = click.command(name, help=summary)(with_options(_SHARED)(split))
    shared = [str(option.name) for option in command.params]
    names = {parameter.name for parameter in own}
    # A server's own option replaces the shared option of the same name.
    command.params = [*own, *(option for option in command.params if option.name not in names)]
    return command


def _read(
    shared: dict[str, Any], given: dict[str, Any], default_address: str | None = None
) -> tuple[GuardSettings, HttpSettings | None]:
    guard, http = or_fail(lambda: read_settings(shared, default_address=default_address))
    # The server gets it too, because some servers have their own read-only mode.
    given["read_only"] = guard.read_only
    return guard, http


def _build(ready: Any, given: dict[str, Any], *, over_http: bool) -> Server | None:
    # Some servers list other parameters over HTTP, where they have several clients.
    built: Server | None = or_fail(lambda: ready.build(**given, over_http=over_http))
    return built


def _serve_http(servers: dict[str, Server], http: HttpSettings) -> int:
    from dovetail.cli.run_http import run_many  # noqa: PLC0415 - uvicorn

    try:
        or_fail(lambda: run_many(servers, http))
    except TransportError as error:
        raise Failure(str(error), COULD_NOT_START) from None
    except KeyboardInterrupt:
        return 130
    return 0

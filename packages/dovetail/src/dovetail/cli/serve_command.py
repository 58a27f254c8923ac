"""`dovetail serve NAME`: the ready-made servers, one of them or all of them on one port.

Each server is a plugin (see `plugins.py`): a module with SUMMARY, ARGUMENTS, OPTIONS and
`build(**options)`, which returns the server, or None if the options do not ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import click

from dovetail.cli.failures import COULD_NOT_START, WRONG_USAGE, Failure, or_fail
from dovetail.cli.guarding import GuardChoice
from dovetail.cli.options import GUARD_OPTIONS, HTTP_OPTIONS, with_options
from dovetail.cli.plugins import SERVERS, PluginError, unavailable
from dovetail.cli.running import run_server
from dovetail.errors import TransportError
from dovetail.server import Server

__all__ = ["run_serve", "serve"]

T = TypeVar("T")

_PORT_OF_ALL = "8000"
_OF_HTTP = ("allow_hosts", "allow_origins", "stateless", "parser")


class _ReadyServers(click.Group):
    """A command per ready server, loaded when it is named."""

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
    """Run a ready server, on stdio or over HTTP."""


def run_serve(arguments: Sequence[str]) -> int:
    """Run the command line of `dovetail serve`, which ends the process with the exit code."""
    serve.main(args=list(arguments), prog_name="dovetail serve")
    return 0


def _load_all() -> tuple[dict[str, Any], list[str]]:
    """The installed servers, and why the others are missing."""
    loaded, missing = {}, []
    for name in SERVERS.names:
        try:
            loaded[name] = SERVERS.load(name)
        except PluginError as error:
            missing.append(f"{name} is {error}")
    return loaded, missing


def _command_for_one(name: str) -> click.Command:
    try:
        ready = SERVERS.load(name)
    except PluginError as error:
        return unavailable(name, str(error))

    def run(**given: Any) -> None:
        chosen = _Chosen.of(given)
        server = _build(ready, given)
        if server is None:
            raise Failure(f"Say what to serve: dovetail serve {name} PATH", WRONG_USAGE)
        if chosen.address is None:
            raise SystemExit(_serve_stdio(server, chosen))
        raise SystemExit(_serve_http({"": server}, chosen.address, chosen))

    return _make_command(name, ready.SUMMARY, [*ready.ARGUMENTS, *ready.OPTIONS], run)


def _command_for_all() -> click.Command:
    loaded, missing = _load_all()

    def run(**given: Any) -> None:
        chosen = _Chosen.of(given)
        for reason in missing:
            click.echo(f"not served: {reason}", err=True)
        built = {name: _build(ready, given) for name, ready in loaded.items()}
        servers = {name: server for name, server in built.items() if server is not None}
        for name in built.keys() - servers.keys():
            option = loaded[name].OPTIONS[0].opts[0]
            click.echo(f"not served: {name} needs {option}", err=True)
        if not servers:
            raise Failure("None of the servers can be served", WRONG_USAGE)
        raise SystemExit(_serve_http(servers, chosen.address or _PORT_OF_ALL, chosen))

    own: dict[str, click.Parameter] = {}
    for ready in loaded.values():
        for option in ready.OPTIONS:
            own.setdefault(option.name, option)
    text = f"All on one port: /vault/mcp and so on. Port {_PORT_OF_ALL} unless --http says."
    return _make_command("all", text, list(own.values()), run)


def _make_command(
    name: str, summary: str, own: list[click.Parameter], run: Callable[..., None]
) -> click.Command:
    made = click.command(name, help=summary)(with_options((*HTTP_OPTIONS, *GUARD_OPTIONS))(run))
    named = {parameter.name for parameter in own}
    # A server that has an option of the same name does more about it than the guard would.
    made.params = [*own, *(shared for shared in made.params if shared.name not in named)]
    return made


@dataclass(frozen=True, kw_only=True)
class _Chosen:
    """What the shared options say."""

    address: str | None
    guard: GuardChoice
    http: dict[str, Any]

    @classmethod
    def of(cls, given: dict[str, Any]) -> _Chosen:
        guard = {option.name: given.pop(option.name) for option in fields(GuardChoice)}
        # The server is told as well, where it can make itself read-only.
        given["read_only"] = guard["read_only"]
        http = {name: given.pop(name) for name in _OF_HTTP}
        address = given.pop("address")
        if address is None and any(value for name, value in http.items() if name != "parser"):
            raise Failure(
                "--allow-host, --allow-origin, --stateless: only together with --http", WRONG_USAGE
            )
        return cls(address=address, guard=or_fail(lambda: GuardChoice(**guard)), http=http)


def _build(ready: Any, given: dict[str, Any]) -> Server | None:
    built: Server | None = or_fail(lambda: ready.build(**given))
    return built


def _serve_stdio(server: Server, chosen: _Chosen) -> int:
    return run_server(server, or_fail(chosen.guard.make))


def _serve_http(servers: dict[str, Server], address: str, chosen: _Chosen) -> int:
    from dovetail.cli.serving import HttpRun, parse_address  # noqa: PLC0415 - uvicorn
    from dovetail.cli.serving_several import run_several  # noqa: PLC0415 - uvicorn

    host, port = or_fail(lambda: parse_address(address))
    run = HttpRun(host=host, port=port, guard=chosen.guard, **chosen.http)
    try:
        or_fail(lambda: run_several(servers, run))
    except TransportError as error:
        raise Failure(str(error), COULD_NOT_START) from None
    except KeyboardInterrupt:
        return 130
    return 0

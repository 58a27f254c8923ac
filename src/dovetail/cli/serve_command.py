"""`dovetail serve NAME`: the ready servers, one of them or all on one port.

The servers are looked up by name when they are wanted: each brings libraries of its own, which
need not be installed, and this room does not know what they do. A ready server is a package with
a module `command` that has SUMMARY, ARGUMENTS, OPTIONS and `build(**options)`, which returns the
server, or None where the options do not ask for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import click

from dovetail.cli.failures import COULD_NOT_START, WRONG_USAGE, Failure, or_fail
from dovetail.cli.guarding import GuardChoice
from dovetail.cli.options import GUARD_OPTIONS, HTTP_OPTIONS, with_options
from dovetail.cli.running import run_server
from dovetail.errors import TransportError
from dovetail.server import Server

__all__ = ["READY", "run_serve", "serve"]

T = TypeVar("T")

_PORT_OF_ALL = "8000"
_OF_HTTP = ("allow_hosts", "allow_origins", "stateless", "parser")

# Name -> where its command is. Its libraries are in the extra of the same name.
READY: dict[str, str] = {
    "vault": "dovetail.servers.vault.command",
    "graph": "dovetail.servers.graph.command",
    "browser": "dovetail.servers.browser.command",
    "design": "dovetail.servers.design.command",
}


class _ReadyServers(click.Group):
    """A command per ready server, loaded when it is named."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return [*READY, "all"]

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name == "all":
            return _command_for_all()
        return _command_for_one(name) if name in READY else None


@click.command(
    cls=_ReadyServers, name="serve", context_settings={"help_option_names": ["-h", "--help"]}
)
def serve() -> None:
    """Run a ready server, on stdio or over HTTP."""


def run_serve(arguments: Sequence[str]) -> int:
    """Run the command line of `dovetail serve`, which ends the process with the exit code."""
    serve.main(args=list(arguments), prog_name="dovetail serve")
    return 0


def _load(name: str) -> Any:
    try:
        return importlib.import_module(READY[name])
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("dovetail"):
            raise
        raise Failure(
            f"dovetail serve {name} needs the library {error.name!r}: pip install "
            f"'dovetail[{name}]'",
            WRONG_USAGE,
        ) from None


def _load_all() -> tuple[dict[str, Any], list[str]]:
    """Those that are installed, and why the others are not served."""
    loaded, left_out = {}, []
    for name in READY:
        try:
            loaded[name] = _load(name)
        except Failure as failure:
            left_out.append(failure.message)
    return loaded, left_out


def _command_for_one(name: str) -> click.Command:
    ready = _load(name)

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
    loaded, left_out = _load_all()

    def run(**given: Any) -> None:
        chosen = _Chosen.of(given)
        for reason in left_out:
            click.echo(f"left out: {reason}", err=True)
        built = {name: _build(ready, given) for name, ready in loaded.items()}
        servers = {name: server for name, server in built.items() if server is not None}
        for name in built.keys() - servers.keys():
            option = loaded[name].OPTIONS[0].opts[0]
            click.echo(f"left out: {name}; {option} says what it is to serve", err=True)
        if not servers:
            raise Failure("Nothing is left to serve", WRONG_USAGE)
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

"""`dovetail serve NAME`: the ready servers, one of them or all on one port.

The servers are looked up by name when they are wanted: each brings libraries of its own, which
need not be installed, and this room does not know what they do. A ready server is a package with
a module `command` that has SUMMARY, ARGUMENTS, OPTIONS and `build(**options)`, which returns the
server, or None where the options do not ask for it.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Callable
from typing import Any

import click

from dovetail.cli.talking import WRONG_USAGE, Failure
from dovetail.errors import TransportError, UsageError
from dovetail.server import Server
from dovetail.transports.stdio import serve_stdio

__all__ = ["READY", "serve"]

_NO_LINE = 4

# Name -> where its command is. Its libraries are in the extra of the same name.
READY: dict[str, str] = {
    "vault": "dovetail.servers.vault.command",
    "graph": "dovetail.servers.graph.command",
}

_HTTP_OPTIONS: tuple[Callable[[], click.Option], ...] = (
    lambda: click.Option(
        ["--http", "address"], metavar="[HOST:]PORT", help="Serve over HTTP; 0: a free port."
    ),
    lambda: click.Option(
        ["--allow-host", "allow_hosts"], multiple=True, metavar="HOST", help="Name it has."
    ),
    lambda: click.Option(
        ["--allow-origin", "allow_origins"],
        multiple=True,
        metavar="ORIGIN",
        help="Pages that may call.",
    ),
)


class _ReadyServers(click.Group):
    """A command per ready server, loaded when it is named."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return [*READY, "all"]

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name == "all":
            return _command_for_all()
        return _command_for_one(name) if name in READY else None


@click.command(cls=_ReadyServers, name="serve")
def serve() -> None:
    """Run a ready server, on stdio or over HTTP."""


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


def _command_for_one(name: str) -> click.Command:
    ready = _load(name)

    def run(address: str | None, allow_hosts: Any, allow_origins: Any, **given: Any) -> None:
        server = _build(ready, given)
        if server is None:
            raise Failure(f"Say what to serve: dovetail serve {name} PATH", WRONG_USAGE)
        if address is None:
            if allow_hosts or allow_origins:
                raise Failure(
                    "--allow-host, --allow-origin: only together with --http", WRONG_USAGE
                )
            raise SystemExit(_serve_stdio(server))
        raise SystemExit(_serve_http({"": server}, address, allow_hosts, allow_origins))

    params = [*ready.ARGUMENTS, *ready.OPTIONS, *(make() for make in _HTTP_OPTIONS)]
    return click.Command(name, params=params, callback=run, help=ready.SUMMARY)


def _command_for_all() -> click.Command:
    loaded = {name: _load(name) for name in READY}

    def run(address: str | None, allow_hosts: Any, allow_origins: Any, **given: Any) -> None:
        built = {name: _build(ready, given) for name, ready in loaded.items()}
        servers = {name: server for name, server in built.items() if server is not None}
        if not servers:
            options = ", ".join(
                option.opts[0] for ready in loaded.values() for option in ready.OPTIONS[:1]
            )
            raise Failure(f"Say what to serve, by {options}", WRONG_USAGE)
        code = _serve_http(servers, address or "8000", allow_hosts, allow_origins)
        raise SystemExit(code)

    own: dict[str, click.Parameter] = {}
    for ready in loaded.values():
        for option in ready.OPTIONS:
            own.setdefault(option.name, option)
    return click.Command(
        "all",
        params=[*own.values(), *(make() for make in _HTTP_OPTIONS)],
        callback=run,
        help="All ready servers on one port: /vault/mcp and so on. Port 8000 unless --http says.",
    )


def _build(ready: Any, given: dict[str, Any]) -> Server | None:
    try:
        built: Server | None = ready.build(**given)
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None
    return built


def _serve_stdio(server: Server) -> int:
    if sys.stdin is not None and sys.stdin.isatty():
        # Somebody runs it by hand; without a word it would look like a hang.
        sys.stderr.write(f"{server.name}: serving on stdio, waiting for a client; Ctrl-C ends it\n")
    try:
        asyncio.run(serve_stdio(server))
    except KeyboardInterrupt:
        return 130
    return 0


def _serve_http(servers: dict[str, Server], address: str, hosts: Any, origins: Any) -> int:
    from dovetail.cli.serving_several import HttpPlaces, run_several  # noqa: PLC0415 - uvicorn

    try:
        run_several(HttpPlaces.of(servers, address, hosts, origins))
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None
    except TransportError as error:
        raise Failure(str(error), _NO_LINE) from None
    except KeyboardInterrupt:
        return 130
    return 0

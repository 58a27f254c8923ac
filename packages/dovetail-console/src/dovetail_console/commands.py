"""`dovetail dev FILE` and `dovetail console TARGET`."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any

import click

from dovetail.commands import (
    COULD_NOT_START,
    REACH_OPTIONS,
    WRONG_USAGE,
    Failure,
    TargetOptions,
    find_target,
    or_fail,
    parse_address,
    run_command,
    with_options,
)
from dovetail.errors import TransportError

__all__ = ["console", "dev"]

_NO_OPEN = click.option("--no-open", is_flag=True, help="Print the address; open no browser.")
# The options of `dovetail run` that `dovetail dev` has too.
_AS_RUN = (
    *("watch", "path", "log_format"),
    *("keys", "key_header", "issuer", "resource", "read_only", "rate", "audit"),
)


@click.command()
@click.argument("file", metavar="FILE[:NAME]")
@click.option(
    "--http",
    "address",
    default="8000",
    show_default=True,
    metavar="[HOST:]PORT",
    help="Serve at this address; port 0 picks a free port.",
)
@with_options((_NO_OPEN,))
@click.pass_context
def dev(context: click.Context, /, no_open: bool, **given: Any) -> None:
    """Serve the Server in FILE over HTTP, restart it when a Python file changes, open the console.

    The same as `dovetail run FILE --http 8000 --reload --console`, with a browser.
    """
    context.invoke(run_command, console=True, reload=True, open_browser=not no_open, **given)


dev.params += [param for param in run_command.params if param.name in _AS_RUN]


@click.command()
@click.argument("target", required=False, metavar="TARGET | -- COMMAND")
@click.option(
    "--http",
    "address",
    default="127.0.0.1:0",
    metavar="[HOST:]PORT",
    help="Serve the page at this address. [default: a free port of 127.0.0.1]",
)
@with_options((_NO_OPEN,))
@click.option(
    "--config",
    type=click.Path(),
    metavar="FILE",
    help="TARGET is the name of a server in this mcp.json file.",
)
@with_options(REACH_OPTIONS)
@click.pass_context
def console(
    context: click.Context, /, target: str | None, address: str, no_open: bool, **given: Any
) -> None:
    """Open a page to try out a server: its tools, resources, prompts and messages.

    TARGET is FILE.py, a URL, or with --config the name of a server in a configuration file. To use
    any other server, omit TARGET and add the command that starts it after `--`.
    """
    command: list[str] = context.obj
    options = TargetOptions(**given)
    _refuse_public(or_fail(lambda: parse_address(address))[0])
    if not command and options.config is None and _is_file(target or ""):
        if options.header_lines or options.token_env or options.env or options.cwd:
            text = "--header, --token-env, --env and --cwd are for URLs and commands, not for "
            raise Failure(f"{text}FILE.py", WRONG_USAGE)
        context.invoke(
            run_command,
            file=target,
            address=address,
            console=True,
            watch=True,
            open_browser=not no_open,
        )
    from dovetail_console.targets import serve_target  # noqa: PLC0415 - it takes long to import

    found = find_target(target, command, options)
    try:
        or_fail(
            lambda: serve_target(
                found, target, command, options, address=address, open_browser=not no_open
            )
        )
    except TransportError as error:
        raise Failure(str(error), COULD_NOT_START) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _refuse_public(host: str) -> None:
    try:
        is_local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = host == "localhost"
    if not is_local:
        text = f"--http: the page uses your credentials, so it is for this machine only; got {host}"
        raise Failure(text, WRONG_USAGE)


def _is_file(text: str) -> bool:
    file, suffix, name = text.rpartition(".py")
    return bool(suffix) and name[:1] in ("", ":") and Path(f"{file}.py").is_file()

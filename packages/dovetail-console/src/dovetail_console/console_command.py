"""`dovetail console TARGET`: the console for any server, over stdio or at a URL."""

from __future__ import annotations

from typing import Any

import click

from dovetail.cli.failures import COULD_NOT_START, WRONG_USAGE, Failure, or_fail
from dovetail.cli.loading import split_spec
from dovetail.cli.options import REACH_OPTIONS, with_options
from dovetail.cli.settings import HttpSettings, parse_address
from dovetail.cli.targets import GivenTarget, TargetOptions, find_target
from dovetail.errors import TransportError
from dovetail.net.addresses import is_loopback

__all__ = ["console"]

_CONFIG = click.option(
    "--config",
    type=click.Path(),
    metavar="FILE",
    help="TARGET is the name of a server in this mcp.json file.",
)
_HTTP = click.option(
    "--http",
    "address",
    default="127.0.0.1:0",
    metavar="[HOST:]PORT",
    help="Serve the page at this address. [default: a free port of 127.0.0.1]",
)
NO_OPEN = click.option("--no-open", is_flag=True, help="Print the address; open no browser.")


@click.command()
@click.argument("target", required=False, metavar="TARGET | -- COMMAND")
@with_options((_HTTP, NO_OPEN, _CONFIG, *REACH_OPTIONS))
@click.pass_obj
def console(
    command: list[str],
    /,
    target: str | None,
    address: str,
    no_open: bool,
    **given: Any,
) -> None:
    """Open a page to try out a server: its tools, resources, prompts and messages.

    TARGET is FILE.py, a URL, or with --config the name of a server in a configuration file. To use
    any other server, omit TARGET and add the command that starts it after `--`.
    """
    from dovetail.cli.run_http import run_http  # noqa: PLC0415 - uvicorn

    options = TargetOptions(**given)
    host, port = or_fail(lambda: parse_address(address))
    if not is_loopback(host):
        text = f"--http: the page uses your credentials, so it is for this machine only; got {host}"
        raise Failure(text, WRONG_USAGE)
    run = HttpSettings(
        host=host,
        port=port,
        app={"health": True},
        console=True,
        watch=True,
        open_browser=not no_open,
    )
    if not command and target is not None and options.config is None and _is_file(target):
        _refuse_reach(options)
        raise SystemExit(run_http(target, run))
    from dovetail_console.target_console import serve_target  # noqa: PLC0415 - uvicorn

    given_as = GivenTarget(target, command, options)
    try:
        or_fail(lambda: serve_target(find_target(target, command, options), given_as, run))
    except TransportError as error:
        raise Failure(str(error), COULD_NOT_START) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _is_file(text: str) -> bool:
    parts = split_spec(text)
    return parts is not None and parts[0].is_file()


def _refuse_reach(options: TargetOptions) -> None:
    if options.header_lines or options.token_env or options.env or options.cwd:
        text = "--header, --token-env, --env and --cwd are for URLs and commands, not for FILE.py"
        raise Failure(text, WRONG_USAGE)

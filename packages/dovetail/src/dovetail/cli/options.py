"""Options that several commands share: how to reach a server, how to serve one, who may call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import click

__all__ = ["GUARD_OPTIONS", "HTTP_OPTIONS", "REACH_OPTIONS", "OptionMaker", "with_options"]

T = TypeVar("T")
OptionMaker: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


def with_options(options: Sequence[OptionMaker]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """A decorator that gives a command these options, in this order."""

    def decorate(command: Callable[..., T]) -> Callable[..., T]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _read_env(_context: click.Context, _option: click.Parameter, value: Any) -> dict[str, str]:
    pairs = [entry.partition("=") for entry in value]
    for name, sign, _ in pairs:
        if not name or not sign:
            raise click.BadParameter(f"expected NAME=VALUE, got {name!r}")
    return {name: text for name, _, text in pairs}


REACH_OPTIONS: Sequence[OptionMaker] = (
    click.option(
        "-H",
        "--header",
        "header_lines",
        multiple=True,
        metavar="'NAME: VALUE'",
        help="Send this with every request to a URL.",
    ),
    click.option(
        "--token-env",
        metavar="NAME",
        help="Send the token in this variable to a URL: Authorization: Bearer ...",
    ),
    click.option("--env", multiple=True, callback=_read_env, metavar="NAME=VALUE"),
    click.option("--cwd", type=click.Path(exists=True, file_okay=False), help="Its folder."),
)

HTTP_OPTIONS: Sequence[OptionMaker] = (
    click.option(
        "--http", "address", metavar="[HOST:]PORT", help="Serve over HTTP; 0: a free port."
    ),
    click.option("--allow-host", "allow_hosts", multiple=True, metavar="HOST", help="Name it has."),
    click.option(
        "--allow-origin",
        "allow_origins",
        multiple=True,
        metavar="ORIGIN",
        help="Pages that may call.",
    ),
    click.option(
        "--stateless", is_flag=True, help="Keep no sessions for clients of the legacy era."
    ),
    click.option(
        "--http-parser",
        "parser",
        type=click.Choice(["auto", "httptools", "h11"]),
        default="auto",
        show_default=True,
    ),
)

# Named as the fields of `guarding.GuardChoice`.
GUARD_OPTIONS: Sequence[OptionMaker] = (
    click.option(
        "--keys", type=click.Path(), metavar="FILE", help="Ask for one of these API keys."
    ),
    click.option("--key-header", metavar="NAME", help="A header for keys beside Authorization."),
    click.option("--issuer", metavar="URL", help="Take access tokens of this issuer."),
    click.option("--resource", metavar="URL", help="The URL of this server that tokens are for."),
    click.option("--read-only", is_flag=True, help="Only tools that change nothing."),
    click.option(
        "--rate", metavar="RATE", help="So often for each caller: 10/s, 100/min burst 20."
    ),
    click.option("--audit", metavar="FILE", help="A JSON line for each call; - is stderr."),
)

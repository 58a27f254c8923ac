"""Shared options of several commands: connecting to a server, answers, HTTP, and guards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias, TypeVar

import click
from click.core import ParameterSource

from dovetail.cli.guard_options import GuardOptions
from dovetail.cli.log_format import choose_log_format

__all__ = [
    "ANSWER_OPTIONS",
    "CLUSTER_OPTIONS",
    "CONSOLE_OPTIONS",
    "GUARD_OPTIONS",
    "HTTP_OPTIONS",
    "LOG_FORMAT_OPTION",
    "PATH_OPTION",
    "REACH_OPTIONS",
    "REQUEST_OPTIONS",
    "TARGET_OPTIONS",
    "WATCH_OPTION",
    "WORKER_OPTION",
    "OptionMaker",
    "find_given",
    "take_guard",
    "with_options",
]

T = TypeVar("T")
OptionMaker: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
"""A decorator that adds an option to a command, as `click.option` returns one."""


def with_options(options: Sequence[OptionMaker]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """A decorator that adds options to a command, in this order."""

    def decorate(command: Callable[..., T]) -> Callable[..., T]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def find_given(context: click.Context, names: Collection[str]) -> list[str]:
    """Return the options among `names` that are on the command line, as written there."""
    return [
        option.opts[0]
        for option in context.command.params
        if option.name in names
        and context.get_parameter_source(str(option.name)) is not ParameterSource.DEFAULT
    ]


def take_guard(given: dict[str, Any], base: Mapping[str, Any] | None = None) -> GuardOptions:
    """Remove the values of GUARD_OPTIONS and return them; raises UsageError.

    `base`: the values of options that are not on the command line.
    """
    taken = {option.name: given.pop(option.name) for option in fields(GuardOptions)}
    chosen = {name: value for name, value in taken.items() if value}
    return GuardOptions(**{**(base or {}), **chosen})


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
        help="Send this header with every request to a URL (repeatable).",
    ),
    click.option(
        "--token-env",
        metavar="NAME",
        help="Send the token in this environment variable as Authorization: Bearer.",
    ),
    click.option(
        "--env",
        multiple=True,
        callback=_read_env,
        metavar="NAME=VALUE",
        help="Set this environment variable for the server (repeatable).",
    ),
    click.option(
        "--cwd",
        type=click.Path(exists=True, file_okay=False),
        help="Start the server in this directory.",
    ),
)

# The names match the fields of `targets.TargetOptions`.
REQUEST_OPTIONS: Sequence[OptionMaker] = (
    click.option(
        "--mode",
        default="auto",
        show_default=True,
        help="Protocol to use: auto, modern, legacy, or the date of a revision.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0.0, min_open=True),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="Timeout for each request.",
    ),
    click.option(
        "--config",
        type=click.Path(),
        metavar="FILE",
        help="TARGET is the name of a server in this mcp.json file.",
    ),
    *REACH_OPTIONS,
    click.option(
        "--stdio", is_flag=True, help="Start FILE.py as a separate process and use stdio."
    ),
    click.option(
        "--as", "caller", metavar="NAME", help="Call the server in FILE.py as this principal."
    ),
    click.option(
        "--scope",
        "scopes",
        multiple=True,
        metavar="SCOPE",
        help="Give the principal of --as this scope (repeatable).",
    ),
)

TARGET_OPTIONS: Sequence[OptionMaker] = (
    click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text."),
    *REQUEST_OPTIONS,
)

# For requests during which a server may ask questions; the names match `targets.TargetOptions`.
ANSWER_OPTIONS: Sequence[OptionMaker] = (
    click.option(
        "--answer",
        "answers",
        multiple=True,
        metavar="KEY=VALUE",
        help="Answer this field if the server asks for it (repeatable).",
    ),
    click.option(
        "--yes", is_flag=True, help="Accept what the server asks, with default values; never ask."
    ),
    click.option(
        "--root",
        "roots",
        multiple=True,
        type=click.Path(exists=True, file_okay=False),
        metavar="FOLDER",
        help="Tell the server that it may work in this folder (repeatable).",
    ),
)

HTTP_OPTIONS: Sequence[OptionMaker] = (
    click.option(
        "--http",
        "address",
        metavar="[HOST:]PORT",
        help="Serve over HTTP at this address; port 0 picks a free port.",
    ),
    click.option(
        "--allow-host",
        "allow_hosts",
        multiple=True,
        metavar="HOST",
        help="Accept requests for this Host header (repeatable).",
    ),
    click.option(
        "--allow-origin",
        "allow_origins",
        multiple=True,
        metavar="ORIGIN",
        help="Accept requests from web pages of this origin (repeatable).",
    ),
    click.option(
        "--stateless", is_flag=True, help="Keep no sessions for clients of legacy revisions."
    ),
    click.option(
        "--access-log", is_flag=True, help="Log each request to stderr, without query strings."
    ),
    click.option(
        "--http-parser",
        "parser",
        type=click.Choice(["auto", "httptools", "h11"]),
        default="auto",
        show_default=True,
        help="HTTP parser; auto uses httptools if it is installed.",
    ),
)

WATCH_OPTION: OptionMaker = click.option(
    "--watch", is_flag=True, help="Show the messages of all clients in the console."
)

CONSOLE_OPTIONS: Sequence[OptionMaker] = (
    click.option(
        "--console/--no-console",
        default=None,
        help="Serve a page for browsers. [default: on 127.0.0.1; elsewhere it needs a guard]",
    ),
    WATCH_OPTION,
)

CLUSTER_OPTIONS: Sequence[OptionMaker] = (
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="N",
        help="Number of server processes.",
    ),
    click.option(
        "--cluster",
        metavar="URL",
        help="Share sessions, tasks and limits through this Redis; also DOVETAIL_CLUSTER.",
    ),
    click.option(
        "--state-keys",
        type=click.Path(),
        metavar="FILE",
        help="File with the keys that all processes share; `dovetail keys state` makes one.",
    ),
)


def _read_worker(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    if value is None:
        return None
    listener, report = value.split(",")
    return int(listener), int(report)


# For workers only.
WORKER_OPTION: OptionMaker = click.option("--worker", hidden=True, callback=_read_worker)

LOG_FORMAT_OPTION: OptionMaker = click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    expose_value=False,
    callback=lambda _context, _option, value: choose_log_format(value),
    help="Format of the lines on stderr; json adds the ids of the current trace.",
)

PATH_OPTION: OptionMaker = click.option(
    "--path",
    default="/mcp",
    show_default=True,
    metavar="PATH",
    help="URL path of the MCP endpoint.",
)

# The names match the fields of `guard_options.GuardOptions`.
GUARD_OPTIONS: Sequence[OptionMaker] = (
    click.option(
        "--keys", type=click.Path(), metavar="FILE", help="Require an API key from this key file."
    ),
    click.option("--key-header", metavar="NAME", help="Also accept API keys in this header."),
    click.option("--issuer", metavar="URL", help="Accept access tokens of this OAuth issuer."),
    click.option(
        "--resource", metavar="URL", help="Public URL of this server, the audience of tokens."
    ),
    click.option(
        "--read-only", is_flag=True, help="Offer only tools that are annotated as read-only."
    ),
    click.option(
        "--rate", metavar="RATE", help="Limit calls per caller: 10/s, or 100/min burst 20."
    ),
    click.option("--audit", metavar="FILE", help="Log each call as a JSON line; - logs to stderr."),
)

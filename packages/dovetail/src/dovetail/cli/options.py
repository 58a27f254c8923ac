"""Shared options of commands that connect to a server, and helpers for command lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias, TypeVar

import click
from click.core import ParameterSource

from dovetail.cli.failures import WRONG_USAGE, Failure
from dovetail.cli.sources import parse_source

__all__ = [
    "ANSWER_OPTIONS",
    "MODULE_OPTION",
    "REACH_OPTIONS",
    "REQUEST_OPTIONS",
    "TARGET_OPTIONS",
    "OptionMaker",
    "find_given",
    "require_module",
    "run_group",
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


def _read_env(_context: click.Context, _option: click.Parameter, value: Any) -> dict[str, str]:
    pairs = [entry.partition("=") for entry in value]
    for name, sign, _ in pairs:
        if not name or not sign:
            raise click.BadParameter(f"expected NAME=VALUE, got {name!r}")
    return {name: text for name, _, text in pairs}


MODULE_OPTION: OptionMaker = click.option(
    "-m",
    "as_module",
    is_flag=True,
    help="FILE or TARGET is a module: -m PACKAGE.MODULE[:NAME].",
)


def require_module(text: str | None, as_module: bool) -> None:
    """Refuse `-m` with something else than a module; raises Failure."""
    source = None if text is None else parse_source(text)
    if as_module and (source is None or source.file is not None):
        raise Failure(f"-m needs PACKAGE.MODULE[:NAME], got {text!r}", WRONG_USAGE)


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
        help="Timeout for each request; progress of a call starts it again.",
    ),
    click.option(
        "--config",
        type=click.Path(),
        metavar="FILE",
        help="TARGET is the name of a server in this mcp.json file.",
    ),
    *REACH_OPTIONS,
    MODULE_OPTION,
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


def run_group(group: click.Group, arguments: Sequence[str], prog_name: str) -> int:
    """Run a command line; click exits the process with the exit code.

    The arguments after `--` are a command that starts a server; they become `context.obj`.
    """
    words = list(arguments)
    cut = words.index("--") if "--" in words else len(words)
    group.main(args=words[:cut], prog_name=prog_name, obj=words[cut + 1 :])
    return 0

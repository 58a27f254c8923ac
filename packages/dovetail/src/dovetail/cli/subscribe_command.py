"""`dovetail subscribe`: prints the changes that a server reports, until Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TextIO

import click

from dovetail.cli.client_runs import run_with_client
from dovetail.cli.escaping import escape_control
from dovetail.cli.failures import FAILED_CALL, Failure
from dovetail.cli.options import TARGET_OPTIONS, with_options
from dovetail.cli.targets import TargetOptions, find_target, split_words
from dovetail.client import Change, Client
from dovetail.wire import codec

__all__ = ["subscribe"]

_LISTS = ("tools", "prompts", "resources")


@click.command()
@click.argument("words", nargs=-1, metavar="TARGET [URI]...")
@click.option(
    "--list",
    "lists",
    multiple=True,
    type=click.Choice(_LISTS),
    help="Report changes of this list (repeatable; default without URI: all lists).",
)
@click.option(
    "--count", type=click.IntRange(min=1), metavar="N", help="Stop after this many changes."
)
@with_options(TARGET_OPTIONS)
@click.pass_obj
def subscribe(
    command: list[str],
    /,
    words: tuple[str, ...],
    lists: tuple[str, ...],
    count: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Print changes of resources and of the lists of a server, until Ctrl-C."""
    options = TargetOptions(**given)
    target, uris = split_words(words, command, "subscribe TARGET [URI]...", count=0)
    chosen = lists or (() if uris else _LISTS)
    out = sys.stdout  # while the client is open, stdout is for the output of the server

    async def follow(client: Client) -> None:
        wanted = dict.fromkeys(chosen, True)
        async with client.subscribe(uris=uris, **wanted) as changes:
            _report_refused([*chosen, *uris], changes.refused)
            seen = 0
            async for change in changes:
                _print_change(change, out, as_json=as_json)
                seen += 1
                if seen == count:
                    return
        raise Failure("The server has ended the subscription", FAILED_CALL)

    run_with_client(find_target(target, command, options), options, follow)


def _report_refused(wanted: list[str], refused: Sequence[str]) -> None:
    kept = [name for name in wanted if name not in refused]
    if not kept:
        raise Failure(f"The server does not report changes of {', '.join(refused)}", FAILED_CALL)
    for name in refused:
        click.echo(f"The server does not report changes of {name}", err=True)
    click.echo(f"Waiting for changes of {', '.join(kept)}; press Ctrl-C to stop", err=True)


def _print_change(change: Change, out: TextIO, *, as_json: bool) -> None:
    if as_json:
        members = {"kind": change.kind, "uri": change.uri}
        line = codec.encode({key: text for key, text in members.items() if text}).decode()
    else:
        line = f"{change.uri or change.kind} changed"
        line = escape_control(line) if out.isatty() else line
    # Flushed, because a program that reads a pipe waits for each line.
    click.echo(line, file=out, color=True)
    out.flush()

"""`dovetail complete`: suggests values for an argument of a prompt or a resource template."""

from __future__ import annotations

from typing import Any

import click

from dovetail.cli.arguments import split_pair
from dovetail.cli.client_runs import run_with_client
from dovetail.cli.failures import FAILED_CALL, Failure, or_fail
from dovetail.cli.options import TARGET_OPTIONS, with_options
from dovetail.cli.output import print_json
from dovetail.cli.printing import print_text
from dovetail.cli.targets import TargetOptions, find_target, split_words
from dovetail.client import Client
from dovetail.spec.models import Completion

__all__ = ["complete"]

_WORDS = "TARGET PROMPT|TEMPLATE KEY=TEXT [KEY=VALUE]..."


@click.command()
@click.argument("words", nargs=-1, metavar=_WORDS)
@with_options(TARGET_OPTIONS)
@click.pass_obj
def complete(command: list[str], /, words: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Suggest values for an argument of a prompt or of a resource template, best first.

    KEY=TEXT is the argument with what has been typed so far. More KEY=VALUE are arguments that
    already have a value.
    """
    options = TargetOptions(**given)
    target, [ref, *pairs] = split_words(words, command, f"complete {_WORDS}", count=2)
    (argument, text), *known = or_fail(lambda: [split_pair(pair, "argument") for pair in pairs])

    async def ask(client: Client) -> Completion:
        if "completions" not in client.capabilities:
            raise Failure("The server does not offer completion", FAILED_CALL)
        return await client.complete(ref, argument, text, dict(known) if known else None)

    completion = run_with_client(find_target(target, command, options), options, ask)
    if as_json:
        print_json(completion)
        return
    for value in completion.values:
        print_text(value)
    shown = len(completion.values)
    if completion.has_more or (completion.total or 0) > shown:
        total = "" if completion.total is None else f" of {completion.total}"
        click.echo(f"({shown}{total}; the server has more)", err=True)

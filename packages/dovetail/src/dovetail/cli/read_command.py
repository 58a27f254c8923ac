"""`dovetail read`: reads a resource and prints it."""

from __future__ import annotations

import base64
import binascii
import sys
from functools import partial
from typing import Any

import click

from dovetail.cli.client_runs import run_with_client, start_conversation
from dovetail.cli.options import ANSWER_OPTIONS, TARGET_OPTIONS, with_options
from dovetail.cli.output import print_json
from dovetail.cli.printing import describe_contents, print_text
from dovetail.cli.targets import TargetOptions, find_target, split_words
from dovetail.client import Client, ReadResult
from dovetail.spec.models import BlobContents, ResourceContents

__all__ = ["read"]


@click.command()
@click.argument("words", nargs=-1, metavar="TARGET URI")
@with_options(ANSWER_OPTIONS)
@with_options(TARGET_OPTIONS)
@click.pass_obj
def read(command: list[str], /, words: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Read a resource and print it.

    If stdout is not a terminal, binary data is written unchanged: `dovetail read ... > a.png`.
    """
    options = TargetOptions(**given)
    conversation = start_conversation(options)
    target_text, [uri] = split_words(words, command, "read TARGET URI", most=1)

    async def read_resource(client: Client) -> ReadResult | Any:
        send = (
            partial(client.request, "resources/read", {"uri": uri})
            if as_json
            else partial(client.read, uri)
        )
        return await conversation.wait("resources/read", options.timeout, send)

    target = find_target(target_text, command, options)
    result = run_with_client(target, options, read_resource, conversation)
    if not isinstance(result, ReadResult):
        print_json(result)
    elif len(result.contents) == 1 and not sys.stdout.isatty():
        click.echo(_raw(result.contents[0]), nl=False, color=True)
    else:
        for contents in result.contents:
            print_text(describe_contents(contents))


def _raw(contents: ResourceContents) -> str | bytes:
    """The contents for a file: exactly what the server sent."""
    if not isinstance(contents, BlobContents):
        return contents.text
    try:
        return base64.b64decode(contents.blob, validate=True)
    except binascii.Error:
        return describe_contents(contents)

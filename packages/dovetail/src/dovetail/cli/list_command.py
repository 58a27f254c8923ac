"""`dovetail list`: what a server offers, or one tool or prompt with its arguments."""

from __future__ import annotations

from typing import Any

import click

from dovetail.cli.client_runs import run_with_client
from dovetail.cli.lookup import find_named
from dovetail.cli.options import TARGET_OPTIONS, with_options
from dovetail.cli.output import print_json
from dovetail.cli.printing import Listing, print_listing
from dovetail.cli.targets import TargetOptions, find_target, split_words
from dovetail.cli.tool_page import print_page
from dovetail.client import Client
from dovetail.spec.models import Prompt, Tool

__all__ = ["list_command", "read_listing"]


@click.command(name="list")
@click.argument("words", nargs=-1, metavar="TARGET [TOOL]")
@with_options(TARGET_OPTIONS)
@click.pass_obj
def list_command(
    command: list[str], /, words: tuple[str, ...], as_json: bool, **given: Any
) -> None:
    """List the tools, prompts, resources and templates of a server.

    With TOOL, show that tool or prompt with every argument.
    """
    options = TargetOptions(**given)
    target, names = split_words(words, command, "list TARGET [TOOL]", count=0, most=1)
    listing = run_with_client(find_target(target, command, options), options, read_listing)
    if names:
        entries: list[Tool | Prompt] = [*listing.tools, *listing.prompts]
        found = find_named(names[0], "tool or prompt", entries)
        print_json(found) if as_json else print_page(found)
    elif as_json:
        print_json(listing)
    else:
        print_listing(listing)


async def read_listing(client: Client) -> Listing:
    """Everything that a server offers."""
    return Listing(
        capabilities=client.capabilities,
        tools=await client.list_tools(),
        prompts=await client.list_prompts(),
        resources=await client.list_resources(),
        templates=await client.list_templates(),
    )

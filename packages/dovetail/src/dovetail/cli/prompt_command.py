"""`dovetail prompt`: gets a prompt with its arguments filled in and prints its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import click

from dovetail.cli.arguments import parse_arguments
from dovetail.cli.client_runs import run_with_client, start_conversation
from dovetail.cli.failures import WRONG_USAGE, Failure
from dovetail.cli.lookup import find_named
from dovetail.cli.options import ANSWER_OPTIONS, TARGET_OPTIONS, with_options
from dovetail.cli.output import print_json
from dovetail.cli.printing import describe_block, print_text
from dovetail.cli.targets import TargetOptions, find_target, split_words
from dovetail.client import Client
from dovetail.spec.models import GetPromptResult, Prompt

__all__ = ["prompt"]


@click.command()
@click.argument("words", nargs=-1, metavar="TARGET PROMPT [KEY=VALUE]...")
@with_options(ANSWER_OPTIONS)
@with_options(TARGET_OPTIONS)
@click.pass_obj
def prompt(command: list[str], /, words: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Get a prompt with its arguments filled in, and print its messages.

    KEY=VALUE passes an argument, KEY=@FILE the text of a file.
    """
    options = TargetOptions(**given)
    conversation = start_conversation(options)
    usage = "prompt TARGET PROMPT [KEY=VALUE]..."
    target_text, [name, *pairs] = split_words(words, command, usage)

    async def get_prompt(client: Client) -> GetPromptResult | Any:
        found = find_named(name, "prompt", await client.list_prompts())
        arguments = _parse(pairs, found)
        send = (
            partial(client.request, "prompts/get", {"name": name, "arguments": arguments})
            if as_json
            else partial(client.get_prompt, name, arguments)
        )
        return await conversation.wait("prompts/get", options.timeout, send)

    target = find_target(target_text, command, options)
    result = run_with_client(target, options, get_prompt, conversation)
    if not isinstance(result, GetPromptResult):
        print_json(result)
        return
    for message in result.messages:
        print_text(f"[{message.role}] {describe_block(message.content)}")


def _parse(pairs: Sequence[str], prompt: Prompt) -> Mapping[str, str]:
    arguments = prompt.arguments or []
    schema = {
        "properties": {argument.name: {"type": "string"} for argument in arguments},
        "additionalProperties": False,
    }
    parsed = parse_arguments(pairs, schema, "prompt")
    missing = [each.name for each in arguments if each.required and each.name not in parsed]
    if missing:
        given = " ".join(f"{name}=VALUE" for name in missing)
        raise Failure(
            f"The prompt {prompt.name!r} needs {', '.join(missing)}; add {given}", WRONG_USAGE
        )
    return parsed

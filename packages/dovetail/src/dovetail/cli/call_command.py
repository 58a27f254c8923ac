"""`dovetail call`: calls a tool and prints its result."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from dovetail.cli.arguments import parse_arguments, parse_object
from dovetail.cli.client_runs import run_with_client, start_conversation
from dovetail.cli.failures import FAILED_CALL
from dovetail.cli.lookup import find_named
from dovetail.cli.options import ANSWER_OPTIONS, TARGET_OPTIONS, with_options
from dovetail.cli.output import print_json
from dovetail.cli.printing import print_result
from dovetail.cli.targets import TargetOptions, find_target, hidden_hint, split_words
from dovetail.client import CallResult, Client

__all__ = ["call"]


@click.command()
@click.argument("words", nargs=-1, metavar="TARGET TOOL [KEY=VALUE]...")
@click.option("--args", "as_object", metavar="JSON", help="Pass all arguments as one JSON object.")
@with_options(ANSWER_OPTIONS)
@with_options(TARGET_OPTIONS)
@click.pass_obj
def call(
    command: list[str],
    /,
    words: tuple[str, ...],
    as_object: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Call a tool and print its result.

    KEY=VALUE passes an argument, converted to the type in the tool's schema. KEY:=JSON passes
    JSON. KEY=@FILE passes the text of a file. Repeat a KEY to pass a list. Omit TARGET if a
    command follows after `--`. If the tool asks a question, answer it in the terminal, or pass
    --answer or --yes.
    """
    options = TargetOptions(**given)
    conversation = start_conversation(options)
    usage = "call TARGET TOOL [KEY=VALUE]..."
    target_text, [tool_name, *pairs] = split_words(words, command, usage)
    target = find_target(target_text, command, options)

    async def call_tool(client: Client) -> CallResult | Any:
        hint = hidden_hint(target, tool_name)
        tool = find_named(tool_name, "tool", await client.list_tools(), hint)
        arguments = {} if as_object is None else parse_object(as_object)
        arguments.update(parse_arguments(pairs, tool.input_schema))
        params = {"name": tool.name, "arguments": arguments}
        show = conversation.display.show_progress
        send = (
            partial(client.request, "tools/call", params, progress=show)
            if as_json
            else partial(client.call, tool.name, arguments, progress=show)
        )
        return await conversation.wait("tools/call", options.timeout, send)

    result = run_with_client(target, options, call_tool, conversation)
    if isinstance(result, CallResult):
        print_result(result)
        is_error = result.is_error
    else:
        print_json(result)
        is_error = isinstance(result, dict) and result.get("isError") is True
    raise SystemExit(FAILED_CALL if is_error else 0)

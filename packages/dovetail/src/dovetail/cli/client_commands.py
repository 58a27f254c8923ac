"""`dovetail call`, `read`, `prompt`, `complete` and `subscribe`: one request, or its changes."""

from __future__ import annotations

import base64
import binascii
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import click

from dovetail.cli.arguments import find_named, parse_arguments, parse_object, split_pair
from dovetail.cli.client_runs import (
    describe_unavailable,
    find_unavailable,
    run_with_client,
    start_conversation,
)
from dovetail.cli.failures import FAILED_CALL, WRONG_USAGE, Failure, or_fail
from dovetail.cli.log_format import escape_control
from dovetail.cli.options import ANSWER_OPTIONS, TARGET_OPTIONS, with_options
from dovetail.cli.printing import (
    describe_block,
    describe_contents,
    print_json,
    print_result,
    print_text,
)
from dovetail.cli.targets import TargetOptions, find_target, hidden_hint, split_words
from dovetail.client import CallResult, Change, Client, ReadResult
from dovetail.spec.models import (
    AudioContent,
    BlobContents,
    Completion,
    ContentBlock,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    Prompt,
    ResourceContents,
)
from dovetail.wire import codec

__all__ = ["call", "complete", "prompt", "read", "subscribe"]


@click.command()
@click.argument("words", nargs=-1, metavar="TARGET TOOL [KEY=VALUE]...")
@click.option("--args", "as_object", metavar="JSON", help="Pass all arguments as one JSON object.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Save the image, audio or binary data of the result in FILE.",
)
@with_options(ANSWER_OPTIONS)
@with_options(TARGET_OPTIONS)
@click.pass_obj
def call(
    command: list[str],
    /,
    words: tuple[str, ...],
    as_object: str | None,
    output: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Call a tool and print its result.

    KEY=VALUE passes an argument, converted to the type in the tool's schema. KEY:=JSON passes
    JSON. KEY=@FILE passes a file: its text, or its bytes if the tool takes bytes. Repeat a
    KEY to pass a list. Omit TARGET if a command follows after `--`. If the tool asks a
    question, answer it in the terminal, or pass --answer or --yes.
    """
    if output is not None and as_json:
        raise Failure("-o and --json exclude each other; give one", WRONG_USAGE)
    options = TargetOptions(**given)
    conversation = start_conversation(options)
    usage = "call TARGET TOOL [KEY=VALUE]..."
    target_text, [tool_name, *pairs] = split_words(words, command, usage)
    target = find_target(target_text, command, options)

    async def call_tool(client: Client) -> CallResult | Any:
        hint = hidden_hint(target, tool_name)
        tools = await client.list_tools()
        if all(tool.name != tool_name for tool in tools):
            down = describe_unavailable(await find_unavailable(client))
            hint += "".join(f"; {text}" for text in down)
        tool = find_named(tool_name, "tool", tools, hint)
        arguments = {} if as_object is None else parse_object(as_object)
        arguments.update(parse_arguments(pairs, tool.input_schema))
        params = {"name": tool.name, "arguments": arguments}
        show = conversation.show_progress
        send = (
            partial(client.request, "tools/call", params, progress=show)
            if as_json
            else partial(client.call, tool.name, arguments, progress=show)
        )
        return await conversation.wait("tools/call", options.timeout, send)

    result = run_with_client(target, options, call_tool, conversation)
    if isinstance(result, CallResult):
        rest = result if output is None or result.is_error else _save_binary(result, output)
        print_result(rest)
        is_error = result.is_error
    else:
        print_json(result)
        is_error = isinstance(result, dict) and result.get("isError") is True
    raise SystemExit(FAILED_CALL if is_error else 0)


def _save_binary(result: CallResult, file: str) -> CallResult:
    """Write the binary content of a result to a file; returns the result without it."""
    found = [(block, data) for block in result.content if (data := _find_binary(block))]
    if len(found) != 1:
        raise Failure(
            f"-o: the result has {len(found)} images, sounds and binary resources; expected one",
            FAILED_CALL,
        )
    [(saved, text)] = found
    try:
        content = base64.b64decode(text, validate=True)
        Path(file).write_bytes(content)
    except binascii.Error:
        raise Failure("-o: the result has invalid base64", FAILED_CALL) from None
    except OSError as error:
        raise Failure(f"-o: cannot write {file!r}: {error.strerror}", WRONG_USAGE) from None
    click.echo(f"Saved {len(content)} bytes in {file}", err=True)
    return replace(result, content=[block for block in result.content if block is not saved])


def _find_binary(block: ContentBlock) -> str | None:
    """The base64 text of a block with binary data."""
    match block:
        case ImageContent() | AudioContent():
            return block.data
        case EmbeddedResource(resource=BlobContents(blob=blob)):
            return blob
        case _:
            return None


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
    reported = [name for name in wanted if name not in refused]
    if not reported:
        raise Failure(f"The server does not report changes of {', '.join(refused)}", FAILED_CALL)
    for name in refused:
        click.echo(f"The server does not report changes of {name}", err=True)
    click.echo(f"Waiting for changes of {', '.join(reported)}; press Ctrl-C to stop", err=True)


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

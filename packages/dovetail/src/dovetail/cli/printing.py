"""Readable output: tables, plain text, and sizes instead of binary data.

Output of a server is untrusted: on a terminal its control characters are escaped, so that a tool
cannot rewrite the screen or hide text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click
import msgspec
from rich import box
from rich.table import Table
from rich.text import Text

from dovetail.cli.output import escape_control, format_json, make_console, print_pairs
from dovetail.cli.signatures import describe_prompt, describe_tool
from dovetail.client import CallResult
from dovetail.spec.models import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    Prompt,
    Resource,
    ResourceContents,
    ResourceLink,
    ResourceTemplate,
    TextContent,
    TextContents,
    Tool,
)
from dovetail.wire import codec

__all__ = ["Listing", "describe_block", "describe_capabilities", "print_listing", "print_result"]


class Listing(msgspec.Struct, kw_only=True):
    """Everything a server offers."""

    capabilities: Mapping[str, Any]
    tools: list[Tool]
    prompts: list[Prompt]
    resources: list[Resource]
    templates: list[ResourceTemplate]


def print_listing(listing: Listing) -> None:
    """Print one table each for tools, prompts, resources and templates."""
    _print_table("Tools", ((describe_tool(t), t.description or t.title) for t in listing.tools))
    _print_table(
        "Prompts", ((describe_prompt(p), p.description or p.title) for p in listing.prompts)
    )
    _print_table("Resources", ((r.uri, r.description or r.name) for r in listing.resources))
    _print_table(
        "Templates", ((t.uri_template, t.description or t.name) for t in listing.templates)
    )
    print_pairs([("Capabilities", describe_capabilities(listing.capabilities))])


def describe_capabilities(capabilities: Mapping[str, Any]) -> str:
    """The names of the capabilities, with their enabled options."""
    parts = []
    for name, options in capabilities.items():
        chosen = [key for key, value in options.items() if value is not False] if options else []
        parts.append(f"{name} ({', '.join(chosen)})" if chosen else name)
    return ", ".join(parts) or "none"


def _print_table(title: str, rows: Iterable[tuple[str, str | None]]) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    count = 0
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for left, right in rows:
        first_line = (right or "").strip().partition("\n")[0]
        table.add_row(Text(escape_control(left)), Text(escape_control(first_line)))
        count += 1
    if count:
        table.columns[0].header = f"{title} ({count})"
        make_console().print(table)
        click.echo()


def print_result(result: CallResult) -> None:
    """Print the result of a tool; structured content is not repeated as text."""
    lines = list(_describe_result(result))
    for line in lines:
        # color=True: click would strip escape sequences, which a pipe should get unchanged.
        click.echo(escape_control(line) if sys.stdout.isatty() else line, color=True)


def _describe_result(result: CallResult) -> Iterator[str]:
    wrapped = result.has_structured and _is_wrapped(result.structured)
    repeated = result.structured["result"] if wrapped else result.structured
    was_shown = False
    for block in result.content:
        repeats = result.has_structured and _repeats(block, repeated)
        was_shown = was_shown or repeats
        yield format_json(result.structured) if repeats and not wrapped else describe_block(block)
    if result.has_structured and not was_shown:
        yield format_json(result.structured)


def _is_wrapped(structured: Any) -> bool:
    return isinstance(structured, dict) and list(structured) == ["result"]


def _repeats(block: ContentBlock, value: Any) -> bool:
    """Whether a text block repeats the structured content."""
    if not isinstance(block, TextContent):
        return False
    if block.text == value:
        return True
    try:
        return bool(codec.decode_json(block.text.encode()) == value)
    except msgspec.ValidationError:
        return False


def describe_block(block: ContentBlock) -> str:
    """Text unchanged; other content as its type and size."""
    match block:
        case TextContent(text=text):
            return text
        case ImageContent() | AudioContent():
            return f"[{block.mime_type}, {_describe_size(block.data)}]"
        case ResourceLink():
            return f"[link {block.uri} {block.title or block.name}]"
        case EmbeddedResource(resource=contents):
            return _describe_contents(contents)


def _describe_contents(contents: ResourceContents) -> str:
    if isinstance(contents, TextContents):
        return contents.text
    kind = contents.mime_type or "bytes"
    return f"[{kind}, {_describe_size(contents.blob)}, {contents.uri}]"


def _describe_size(base64_text: str) -> str:
    size = len(base64_text) * 3 // 4 - base64_text.count("=", -2)
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"

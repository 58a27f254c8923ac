"""Readable output: lists, plain text, and sizes instead of binary data.

Output of a server is untrusted: on a terminal its control characters are escaped, so that a tool
cannot rewrite the screen or hide text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click
import msgspec

from dovetail.cli.escaping import escape_control
from dovetail.cli.output import (
    format_json,
    make_console,
    print_heading,
    print_pairs,
    print_wrapped,
)
from dovetail.cli.signatures import describe_prompt, describe_tool, shorten_tool
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

__all__ = [
    "Listing",
    "describe_block",
    "describe_capabilities",
    "describe_contents",
    "print_listing",
    "print_result",
    "print_text",
]

_INDENT = 2


class Listing(msgspec.Struct, kw_only=True):
    """Everything a server offers."""

    capabilities: Mapping[str, Any]
    tools: list[Tool]
    prompts: list[Prompt]
    resources: list[Resource]
    templates: list[ResourceTemplate]


def print_listing(listing: Listing) -> None:
    """Print one section each for tools, prompts, resources and templates."""
    width = make_console().width - _INDENT
    _print_section(
        "Tools", ((_fit_tool(t, width), t.description or t.title) for t in listing.tools)
    )
    _print_section(
        "Prompts", ((describe_prompt(p), p.description or p.title) for p in listing.prompts)
    )
    _print_section("Resources", ((r.uri, r.description or r.name) for r in listing.resources))
    _print_section(
        "Templates", ((t.uri_template, t.description or t.name) for t in listing.templates)
    )
    print_pairs([("Capabilities", describe_capabilities(listing.capabilities))])


def _fit_tool(tool: Tool, width: int) -> str:
    """The signature if it fits in one line, otherwise only the names of the arguments."""
    full = describe_tool(tool)
    return full if len(full) <= width else shorten_tool(tool)


def _print_section(title: str, rows: Iterable[tuple[str, str | None]]) -> None:
    entries = list(rows)
    if not entries:
        return
    print_heading(f"{title} ({len(entries)})")
    for name, description in entries:
        print_wrapped(name, indent=_INDENT, hanging=_INDENT)
        first_line = (description or "").strip().partition("\n")[0]
        if first_line:
            print_wrapped(first_line, indent=3 * _INDENT)
    click.echo()


def describe_capabilities(capabilities: Mapping[str, Any]) -> str:
    """The names of the capabilities, with their enabled options."""
    parts = []
    for name, options in capabilities.items():
        chosen = [key for key, value in options.items() if value is not False] if options else []
        parts.append(f"{name} ({', '.join(chosen)})" if chosen else name)
    return ", ".join(parts) or "none"


def print_result(result: CallResult) -> None:
    """Print the result of a tool; structured content is not repeated as text."""
    for text in list(_describe_result(result)):
        print_text(text)


def print_text(text: str) -> None:
    """Print text of a server; its control characters are escaped on a terminal."""
    # color=True: click would strip escape sequences, which a pipe should get unchanged.
    click.echo(escape_control(text) if sys.stdout.isatty() else text, color=True)


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
            return describe_contents(contents)


def describe_contents(contents: ResourceContents) -> str:
    """Text unchanged; binary data as its type, size and URI."""
    if isinstance(contents, TextContents):
        return contents.text
    kind = contents.mime_type or "bytes"
    return f"[{kind}, {_describe_size(contents.blob)}, {contents.uri}]"


def _describe_size(base64_text: str) -> str:
    size = len(base64_text) * 3 // 4 - base64_text.count("=", -2)
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"

"""Prints what a server offers and returns: signatures, lists, results, JSON and columns.

Output of a server is untrusted: on a terminal its control characters are escaped, so that a tool
cannot rewrite the screen or hide text. Binary data is shown as its size.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dovetail.cli.failures import FAILED_CALL, Failure
from dovetail.cli.log_format import escape_control
from dovetail.schema import choices, kind, resolve, variants
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

if TYPE_CHECKING:
    from dovetail.client import CallResult

__all__ = [
    "Listing",
    "check_schemas",
    "describe_block",
    "describe_capabilities",
    "describe_contents",
    "describe_prompt",
    "describe_result",
    "describe_schema",
    "describe_tool",
    "format_literal",
    "make_console",
    "print_heading",
    "print_json",
    "print_listing",
    "print_pairs",
    "print_result",
    "print_text",
    "print_wrapped",
    "unwrap_output",
]

# Used if stdout is not a terminal; 80 columns would wrap signatures.
_PIPE_WIDTH = 120
_MIN_WIDTH = 40


def _format_json(value: Any) -> str:
    """Any value as JSON, indented by two spaces."""
    return msgspec.json.format(codec.encode(value), indent=2).decode()


def print_json(value: Any) -> None:
    """Print any value as JSON, indented by two spaces."""
    click.echo(_format_json(value))


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names in one column and values in the other."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(name, Text(escape_control(value)))
    make_console().print(table)


def print_heading(text: str) -> None:
    """Print a line in bold."""
    click.secho(text, bold=True)


def print_wrapped(text: str, *, indent: int = 0, hanging: int = 0) -> None:
    """Print text within the width of the terminal; keeps its lines and their indentation.

    The lines are indented, and continued lines more than that by `hanging`.
    """
    width = max(make_console().width, _MIN_WIDTH)
    for line in escape_control(text).split("\n"):
        own = indent + len(line) - len(line.lstrip())
        wrapped = textwrap.fill(
            line.strip(),
            width,
            initial_indent=" " * own,
            subsequent_indent=" " * (own + hanging),
            break_on_hyphens=False,
        )
        click.echo(wrapped)


def make_console() -> Console:
    """A console as wide as the terminal, or 120 columns if stdout is not a terminal."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, markup=False)


# The library would fetch any other dialect from the network.
_DIALECTS = frozenset(
    {
        "http://json-schema.org/draft-04/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    }
)


def check_schemas(tool: Tool) -> None:
    """Raise Failure if a schema of the tool is invalid; references are not followed."""
    from jsonschema_rs import meta  # noqa: PLC0415 - only some commands need it

    for name, schema in (("input", tool.input_schema), ("output", tool.output_schema)):
        if schema is None:
            continue
        dialect = str(schema.get("$schema")).rstrip("#")
        known = {"$schema": dialect} if dialect in _DIALECTS else {}
        try:
            meta.validate({**{key: schema[key] for key in schema if key != "$schema"}, **known})
        except ValueError as error:
            place = ".".join(map(str, getattr(error, "instance_path", ())))
            problem = f"{place}: {getattr(error, 'message', error)}"
            raise Failure(
                f"The {name} schema of the tool {tool.name!r} is not valid: {problem}", FAILED_CALL
            ) from None


_NAMES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "array": "list",
    "object": "dict",
}
# Deeper types are shortened; the schema has the details.
_MAX_DEPTH = 2
# Lists and unions in each other; a schema may contain itself.
_MAX_NESTED = 5


def describe_tool(tool: Tool, *, with_result: bool = True) -> str:
    """Name, arguments and result."""
    schema = tool.input_schema
    properties = schema.get("properties") or {}
    required = schema.get("required") or []
    parts = [
        _describe_member(name, value, schema, is_required=name in required)
        for name, value in properties.items()
    ]
    text = f"{tool.name}({', '.join(parts)})"
    if tool.output_schema is None or not with_result:
        return text
    return f"{text} -> {describe_result(tool.output_schema)}"


def _shorten_tool(tool: Tool) -> str:
    """Name and names of the arguments; optional arguments have a question mark."""
    properties = tool.input_schema.get("properties") or {}
    required = tool.input_schema.get("required") or []
    names = [name if name in required else f"{name}?" for name in properties]
    return f"{tool.name}({', '.join(names)})"


def describe_prompt(prompt: Prompt) -> str:
    """Name and arguments; optional arguments have a question mark."""
    arguments = prompt.arguments or []
    names = [a.name if a.required else f"{a.name}?" for a in arguments]
    return f"{prompt.name}({', '.join(names)})"


def describe_result(output_schema: Mapping[str, Any]) -> str:
    """The type of the result of a tool."""
    return describe_schema(unwrap_output(output_schema), output_schema)


def unwrap_output(schema: Mapping[str, Any]) -> Any:
    """The schema of the value that a tool returns.

    Servers wrap values other than objects in an object with the single member `result`.
    """
    properties = schema.get("properties") or {}
    return properties["result"] if list(properties) == ["result"] else schema


def _describe_member(name: str, value: Any, root: Mapping[str, Any], *, is_required: bool) -> str:
    kind = describe_schema(value, root, depth=1)
    if is_required:
        return f"{name}: {kind}"
    if isinstance(value, Mapping) and "default" in value:
        return f"{name}: {kind} = {format_literal(value['default'])}"
    return f"{name}?: {kind}"


def describe_schema(schema: Any, root: Mapping[str, Any], depth: int = 0, nested: int = 0) -> str:
    """A schema as a Python type."""
    if not isinstance(schema, Mapping) or nested > _MAX_NESTED:
        return "any"
    schema = resolve(schema, root)
    if listed := choices(schema, root):
        return " | ".join(format_literal(choice.value) for choice in listed)
    if branches := variants(schema, root):
        each = (describe_schema(branch, root, depth, nested + 1) for _, branch in branches)
        return " | ".join(dict.fromkeys(each))
    found = kind(schema, root)
    if found == "array" and "items" in schema:
        return f"list[{describe_schema(schema['items'], root, depth + 1, nested + 1)}]"
    if found == "object":
        return _describe_object(schema, root, depth, nested)
    return _NAMES.get(found, "any")


def _describe_object(
    schema: Mapping[str, Any], root: Mapping[str, Any], depth: int, nested: int
) -> str:
    properties = schema.get("properties")
    if not properties:
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping) and values:
            return f"dict[str, {describe_schema(values, root, depth + 1, nested + 1)}]"
        return "dict"
    if depth >= _MAX_DEPTH:
        return str(schema.get("title", "dict"))
    required = schema.get("required") or []
    inner = {
        name: describe_schema(value, root, depth + 1, nested) for name, value in properties.items()
    }
    members = (
        f"{name if name in required else f'{name}?'}: {text}" for name, text in inner.items()
    )
    return f"{{{', '.join(members)}}}"


def format_literal(value: Any) -> str:
    """A JSON value, as in a signature."""
    # None and booleans as in Python, like the types; strings with JSON's double quotes.
    return repr(value) if isinstance(value, bool | None) else codec.encode(value).decode()


_INDENT = 2


class Listing(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Everything a server offers."""

    capabilities: Mapping[str, Any]
    tools: list[Tool]
    prompts: list[Prompt]
    resources: list[Resource]
    templates: list[ResourceTemplate]
    # The upstream servers of a gateway that it cannot reach, with the reason.
    unavailable: Mapping[str, str] = {}


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
    return full if len(full) <= width else _shorten_tool(tool)


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
        yield _format_json(result.structured) if repeats and not wrapped else describe_block(block)
    if result.has_structured and not was_shown:
        yield _format_json(result.structured)


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

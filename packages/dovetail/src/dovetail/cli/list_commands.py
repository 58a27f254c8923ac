"""`dovetail list`: what a server offers, or one entry with its arguments; `dovetail inspect`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
import msgspec

from dovetail.cli.arguments import find_named
from dovetail.cli.client_runs import (
    close_server,
    describe_unavailable,
    find_unavailable,
    make_client,
    run_with_client,
)
from dovetail.cli.log_format import escape_control
from dovetail.cli.options import TARGET_OPTIONS, with_options
from dovetail.cli.printing import (
    Listing,
    check_schemas,
    describe_capabilities,
    describe_prompt,
    describe_result,
    describe_schema,
    describe_tool,
    format_literal,
    print_heading,
    print_json,
    print_listing,
    print_pairs,
    print_wrapped,
    unwrap_output,
)
from dovetail.cli.targets import TargetOptions, find_target, split_words
from dovetail.client import Client
from dovetail.client.targets import Target
from dovetail.errors import DovetailError
from dovetail.schema import resolve, variants
from dovetail.spec.models import Implementation, Prompt, Tool, ToolAnnotations
from dovetail.spec.revisions import REVISIONS

__all__ = [
    "inspect",
    "list_command",
]

# Keywords of JSON Schema for the least and the most, and of what.
_RANGES = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
)
# Other keywords -> how they are shown.
_CONSTRAINTS = {
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "pattern": "matches {}",
    "format": "format {}",
}
_HINTS = {
    "read_only_hint": ("read-only", "changes something"),
    "destructive_hint": ("may destroy something", "destroys nothing"),
    "idempotent_hint": ("repeating it changes nothing more", None),
    "open_world_hint": ("uses other systems", None),
}
# Members of members are shown down to this depth; a schema may contain itself.
_MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class _Member:
    """An argument, or a member of one."""

    path: str
    type: str
    facts: Sequence[str]
    description: str
    depth: int


def _print_page(entry: Tool | Prompt) -> None:
    """Print everything that a server says about a tool or a prompt; raises Failure."""
    if isinstance(entry, Tool):
        check_schemas(entry)
    if isinstance(entry, Prompt):
        print_wrapped(describe_prompt(entry), hanging=4)
    else:
        print_wrapped(describe_tool(entry, with_result=False), hanging=4)
    for text in (entry.title, entry.description):
        if text:
            print_wrapped(f"\n{text.strip()}")
    members = _prompt_members(entry) if isinstance(entry, Prompt) else _tool_members(entry)
    _print_members("Arguments", list(members))
    if isinstance(entry, Prompt):
        return
    if entry.output_schema is not None:
        result = unwrap_output(entry.output_schema)
        members = _members(result, entry.output_schema, "")
        _print_members("Result", list(members), describe_result(entry.output_schema))
    hints = list(_describe_hints(entry.annotations))
    if hints:
        click.echo()
        print_heading("Hints of the server")
        print_wrapped(", ".join(hints), indent=2)


def _print_members(title: str, members: Sequence[_Member], if_empty: str = "none") -> None:
    click.echo()
    print_heading(title)
    for member in members:
        indent = 2 + 2 * member.depth
        facts = f"  ({', '.join(member.facts)})" if member.facts else ""
        print_wrapped(f"{member.path}: {member.type}{facts}", indent=indent, hanging=4)
        if member.description:
            print_wrapped(member.description.strip(), indent=indent + 4)
    if not members:
        print_wrapped(if_empty, indent=2)


def _tool_members(tool: Tool) -> Iterator[_Member]:
    return _members(tool.input_schema, tool.input_schema, "")


def _prompt_members(prompt: Prompt) -> Iterator[_Member]:
    for argument in prompt.arguments or ():
        facts = ["required"] if argument.required else []
        yield _Member(argument.name, "str", facts, argument.description or "", 0)


def _members(
    schema: Any, root: Mapping[str, Any], prefix: str, depth: int = 0
) -> Iterator[_Member]:
    """The members of all objects in a schema; those of alternatives below a line for each."""
    objects = list(_find_objects(schema, root)) if depth < _MAX_DEPTH else []
    for number, (owner, suffix) in enumerate(objects, 1):
        path = f"{prefix}{suffix}"
        if len(objects) > 1:
            kind = f"alternative {number} of {len(objects)}"
            yield _Member(path, kind, [], str(owner.get("description", "")), depth)
        inner_depth = depth + 1 if len(objects) > 1 else depth
        required = owner.get("required") or ()
        for name, value in owner["properties"].items():
            inner = f"{path}.{name}" if path else name
            yield _describe_member(inner, value, root, inner_depth, name in required)
            yield from _members(value, root, inner, inner_depth + 1)


def _describe_member(
    path: str, schema: Any, root: Mapping[str, Any], depth: int, is_required: bool
) -> _Member:
    # A keyword beside $ref is about this use of the schema.
    own = resolve(schema, root)
    kind = describe_schema(schema, root, depth=2)
    facts = list(_describe_facts(own, is_required=is_required))
    return _Member(path, kind, facts, str(own.get("description", "")), depth)


def _find_objects(
    schema: Any, root: Mapping[str, Any], nested: int = 0
) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The objects with members in a schema, each with `[]` for every list around it."""
    if nested > _MAX_DEPTH:
        return
    schema = resolve(schema, root)
    if isinstance(schema.get("properties"), Mapping) and schema["properties"]:
        yield schema, ""
        return
    for _, branch in variants(schema, root):
        yield from _find_objects(branch, root, nested + 1)
    items = schema.get("items")
    for inner, suffix in _find_objects(items, root, nested + 1) if items is not None else ():
        yield inner, f"[]{suffix}"


def _describe_facts(schema: Mapping[str, Any], *, is_required: bool) -> Iterator[str]:
    if is_required:
        yield "required"
    if "default" in schema:
        yield f"default {format_literal(schema['default'])}"
    for low, high, noun in _RANGES:
        least, most = schema.get(low), schema.get(high)
        if least is not None and most is not None:
            yield f"{least} to {most}{noun}"
        elif least is not None or most is not None:
            yield f"at least {least}{noun}" if most is None else f"at most {most}{noun}"
    for keyword, text in _CONSTRAINTS.items():
        if keyword in schema:
            yield text.format(schema[keyword])


def _describe_hints(annotations: ToolAnnotations | None) -> Iterator[str]:
    for name, (if_true, if_false) in _HINTS.items():
        value = getattr(annotations, name, None)
        text = None if value is None else if_true if value else if_false
        if text is not None:
            yield text


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
    listing = run_with_client(find_target(target, command, options), options, _read_listing)
    if names:
        entries: list[Tool | Prompt] = [*listing.tools, *listing.prompts]
        found = find_named(names[0], "tool or prompt", entries)
        print_json(found) if as_json else _print_page(found)
    elif as_json:
        print_json(listing)
    else:
        print_listing(listing)
        for text in describe_unavailable(listing.unavailable):
            click.echo(escape_control(text), err=True)


async def _read_listing(client: Client) -> Listing:
    """Everything that a server offers."""
    return Listing(
        capabilities=client.capabilities,
        tools=await client.list_tools(),
        prompts=await client.list_prompts(),
        resources=await client.list_resources(),
        templates=await client.list_templates(),
        unavailable=await find_unavailable(client),
    )


@click.command()
@click.argument("target", required=False)
@with_options(TARGET_OPTIONS)
@click.pass_obj
def inspect(command: list[str], /, target: str | None, as_json: bool, **given: Any) -> None:
    """Show the name, capabilities and supported revisions of a server."""
    options = TargetOptions(**given)
    found = find_target(target, command, options)
    facts = run_with_client(found, options, _read_facts)
    facts["revisions"] = _find_revisions(found, options)
    if as_json:
        print_json(facts)
    else:
        _print_facts(facts)


async def _read_facts(client: Client) -> dict[str, Any]:
    listing = await _read_listing(client)
    return {
        "server": client.server_info,
        "revision": client.revision,
        "instructions": client.instructions,
        **msgspec.structs.asdict(listing),
    }


def _find_revisions(target: Target, options: TargetOptions) -> list[str]:
    """Try each revision on a separate connection, because legacy servers name only one."""

    async def supports(date: str) -> bool:
        try:
            async with make_client(target, options, mode=date):
                return True
        except (DovetailError, TimeoutError):
            return False

    async def try_all() -> list[bool]:
        try:
            return await asyncio.gather(*(supports(revision.date) for revision in REVISIONS))
        finally:
            await close_server(target)

    supported = asyncio.run(try_all())
    return [
        revision.date
        for revision, is_supported in zip(REVISIONS, supported, strict=True)
        if is_supported
    ]


def _print_facts(facts: dict[str, Any]) -> None:
    server: Implementation | None = facts["server"]
    kinds = ("tool", "prompt", "resource", "template")
    pairs = [
        ("Server", "(no name given)" if server is None else f"{server.name} {server.version}"),
        ("Title", (server.title if server is not None else None) or ""),
        ("Negotiated", facts["revision"]),
        ("Revisions", ", ".join(facts["revisions"])),
        ("Capabilities", describe_capabilities(facts["capabilities"])),
        ("Offers", ", ".join(_count(kind, len(facts[f"{kind}s"])) for kind in kinds)),
        ("Instructions", facts["instructions"] or ""),
        *(("Tool", describe_tool(tool)) for tool in facts["tools"]),
    ]
    print_pairs([(name, value) for name, value in pairs if value])


def _count(kind: str, number: int) -> str:
    return f"{number} {kind}" if number == 1 else f"{number} {kind}s"

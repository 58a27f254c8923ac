"""Writes the source of a module with one typed function per tool of a server.

All text of the server is untrusted: it only appears in string literals and comments, where it
cannot end them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence

from dovetail.cli.python_names import RESERVED, class_name, identifier, literal, make_unique
from dovetail.cli.schema_types import ClassType, SchemaTypes
from dovetail.cli.signatures import unwrap_output
from dovetail.spec.models import Tool

__all__ = ["write_client_module"]

_WIDTH = 100
# Module -> the names to import from it, if they are used.
_IMPORTS = {
    "dataclasses": ("dataclass", "field"),
    "typing": ("Any", "Literal"),
    "dovetail.client": ("CallResult", "Client"),
    "dovetail.generated": ("UNSET", "UnsetType", "call_tool"),
}


def write_client_module(server: str, tools: Iterable[Tool]) -> str:
    """The source of the module; the same tools give the same text."""
    types = SchemaTypes()
    # Sorted, because a server may list its tools in any order.
    ordered = sorted(tools, key=lambda tool: tool.name)
    functions = []
    for tool in ordered:
        name = make_unique(identifier(tool.name, "tool"), types.names)
        types.names.add(name)
        functions.append((name, tool))
    bodies = [_write_function(name, tool, types) for name, tool in functions]
    names = {each.name for each in types.classes}
    classes = [_write_class(each, names) for each in types.classes]
    code = "\n\n\n".join([*classes, *bodies])
    head = _quote(f"Typed calls of the tools of the MCP server {server}.", 0)
    note = "# Written by `dovetail generate client`; changes are lost when it is written again."
    return f"{head}\n{note}\n\n{_write_imports(code)}\n\n\n{code}\n"


def _write_imports(code: str) -> str:
    groups = [["from __future__ import annotations"], [], []]
    for module, names in _IMPORTS.items():
        used = [name for name in names if re.search(rf"\b{name}\b", code)]
        if used:
            groups[2 if module.startswith("dovetail") else 1].append(
                f"from {module} import {', '.join(used)}"
            )
    return "\n\n".join("\n".join(lines) for lines in groups if lines)


def _write_class(made: ClassType, names: Collection[str]) -> str:
    lines = ["@dataclass(frozen=True, slots=True, kw_only=True)", f"class {made.name}:"]
    if made.description:
        lines += [_quote(made.description, 4), ""]
    # In the body of a class, a field would hide a class of the same name from later fields.
    taken = set(RESERVED | set(names))
    for member in made.members:
        python_name = make_unique(identifier(member.name, "field"), taken)
        taken.add(python_name)
        lines.extend(_comment(member.description))
        options = [] if member.default is None else [f"default={member.default}"]
        if python_name != member.name:
            options.append(f'metadata={{"name": {literal(member.name)}}}')
            default = f" = field({', '.join(options)})"
        else:
            default = "" if member.default is None else f" = {member.default}"
        lines.append(f"    {python_name}: {member.type}{default}")
    return "\n".join(lines)


def _write_function(name: str, tool: Tool, types: SchemaTypes) -> str:
    prefix = class_name(tool.name)
    parameters, arguments = ["client: Client"], "None"
    if tool.input_schema.get("properties"):
        schema = tool.input_schema
        made = types.add_class(_describe_arguments(tool), schema, f"{prefix}Arguments")
        is_required = bool(schema.get("required"))
        parameters.append(
            f"arguments: {made}" if is_required else f"arguments: {made} | None = None"
        )
        arguments = "arguments"
    result = "CallResult"
    if tool.output_schema is not None:
        inner = unwrap_output(tool.output_schema)
        result = types.describe(inner, tool.output_schema, f"{prefix}Result")
    words = ["client", literal(tool.name), arguments, result]
    return "\n".join(
        [
            _fold(f"async def {name}(", parameters, f") -> {result}:", 0),
            _quote(tool.description or tool.title or f"Call the tool {tool.name}.", 4),
            _fold(f"result: {result} = await call_tool(", words, ")", 4),
            "    return result",
        ]
    )


def _fold(start: str, words: Sequence[str], end: str, indent: int) -> str:
    """A line with words in brackets; one word per line if it would be too long."""
    margin = " " * indent
    line = f"{margin}{start}{', '.join(words)}{end}"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([margin + start, *(f"{margin}    {word}," for word in words), margin + end])


def _describe_arguments(tool: Tool) -> dict[str, object]:
    return {**tool.input_schema, "description": f"The arguments of the tool {tool.name}."}


def _quote(text: str, indent: int) -> str:
    """A docstring."""
    margin = " " * indent
    lines = [f"{margin}{line}".rstrip() for line in _clean(text).split("\n")]
    lines = [line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') for line in lines]
    body = "\n".join(lines).strip()
    if len(lines) == 1 and not body.endswith('"'):
        return f'{margin}"""{body}"""'
    return f'{margin}"""{body}\n{margin}"""'


def _comment(text: str) -> Iterator[str]:
    for line in _clean(text).split("\n") if text else ():
        yield from (f"    # {part}" for part in textwrap.wrap(line, _WIDTH - 6))


def _clean(text: str) -> str:
    """Text without characters that could end a line or change its order on the screen."""
    lines: Sequence[str] = text.strip().split("\n")
    return "\n".join(
        "".join(each if each.isprintable() else " " for each in line).rstrip() for line in lines
    )

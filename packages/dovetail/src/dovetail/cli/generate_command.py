"""`dovetail generate client`: writes a Python module with typed calls of a server's tools."""

from __future__ import annotations

import difflib
import json
import keyword
import re
import textwrap
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import click

from dovetail.cli.client_runs import run_with_client
from dovetail.cli.failures import FAILED_CALL, WRONG_USAGE, Failure
from dovetail.cli.options import REQUEST_OPTIONS, with_options
from dovetail.cli.printing import check_schemas, unwrap_output
from dovetail.cli.targets import TargetOptions, find_target
from dovetail.client import Client
from dovetail.schema import choices, find, inner_schemas, resolve, variants
from dovetail.spec.models import Tool

__all__ = [
    "generate",
    "literal",
    "write_client_module",
]

# What generated modules import and use; a tool `list` must not replace the builtin.
_RESERVED = frozenset(
    {"Any", "CallResult", "Client", "Literal", "UNSET", "UnsetType", "annotations", "call_tool"}
    | {"bool", "dataclass", "dict", "field", "float", "int", "list", "str"}
)


def _identifier(text: str, fallback: str) -> str:
    """An identifier similar to a name: `get-sum` becomes `get_sum`, `class` becomes `class_`."""
    plain = unicodedata.normalize("NFKC", text)
    # Names with two leading underscores would be changed inside a class.
    name = re.sub(r"\W", "_", plain).lstrip("_") or fallback
    if not name.isidentifier():
        name = f"{fallback}_{re.sub(r'[^A-Za-z0-9_]', '_', name)}"
    return f"{name}_" if keyword.iskeyword(name) or name in _RESERVED else name


def _class_name(text: str) -> str:
    """A class name similar to a name: `get-sum` becomes `GetSum`."""
    words = re.split(r"[\W_]+", unicodedata.normalize("NFKC", text))
    return _identifier("".join(word[:1].upper() + word[1:] for word in words), "Type")


def _make_unique(name: str, taken: Collection[str]) -> str:
    """The name, with a number if it is taken."""
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    return unique


def literal(value: str | int | bool) -> str:
    """A value as source text, in double quotes if that needs no escapes."""
    text = repr(value)
    if isinstance(value, str) and not set("'\"") & set(value):
        return f'"{text[1:-1]}"'
    return text


# The members of a union, as source text.
Alternatives: TypeAlias = tuple[str, ...]

_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_ANY = ("Any",)


@dataclass(slots=True)
class Member:
    """A field of a class: its JSON name, its type, and its default as source text, if any."""

    name: str
    type: str
    default: str | None
    description: str


@dataclass(slots=True)
class ClassType:
    """A dataclass for an object schema."""

    name: str
    description: str
    members: list[Member] = field(default_factory=list)


class SchemaTypes:
    """Collects the classes of many schemas; equal schemas with equal names share a class."""

    def __init__(self) -> None:
        # All names of the module.
        self.names: set[str] = set(_RESERVED)
        self._classes: dict[str, ClassType] = {}
        self._open_refs: list[Mapping[str, Any]] = []

    @property
    def classes(self) -> list[ClassType]:
        """All classes, by their names."""
        return sorted(self._classes.values(), key=lambda each: each.name)

    def describe(self, schema: Any, root: Mapping[str, Any], hint: str) -> str:
        """The type of a schema as source text; `hint` names its class unless it has a title."""
        return " | ".join(self._alternatives(schema, root, hint))

    def add_class(self, schema: Mapping[str, Any], root: Mapping[str, Any], name: str) -> str:
        """The name of the class for an object schema with members, whatever its title."""
        return self._class_of({**schema, "title": name}, root, name)

    def _alternatives(self, schema: Any, root: Mapping[str, Any], hint: str) -> Alternatives:
        if not isinstance(schema, Mapping):
            return _ANY
        if "$ref" in schema:
            return self._referred(schema, root)
        if "const" in schema or "enum" in schema:
            values = [choice.value for choice in choices(schema, root)]
            return _literals(values) or self._plain(schema, root, hint)
        branches = [branch for branch, _ in variants(schema, root) if not isinstance(branch, str)]
        if branches:
            return self._union(branches, root, hint)
        if schema.get("allOf"):
            return self._merged(schema, root, hint)
        return self._plain(schema, root, hint)

    def _referred(self, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Alternatives:
        target = resolve({"$ref": schema["$ref"]}, root)
        # Only a class can contain itself.
        if target in self._open_refs and not target.get("properties"):
            return _ANY
        self._open_refs.append(target)
        try:
            return self._alternatives(target, root, _class_name(schema["$ref"].rpartition("/")[2]))
        finally:
            self._open_refs.pop()

    def _union(self, branches: list[Any], root: Mapping[str, Any], hint: str) -> Alternatives:
        has_choice = sum(branch != {"type": "null"} for branch in branches) > 1
        return _unite(
            self._alternatives(branch, root, f"{hint}{number}" if has_choice else hint)
            for number, branch in enumerate(branches, 1)
        )

    def _merged(
        self, schema: Mapping[str, Any], root: Mapping[str, Any], hint: str
    ) -> Alternatives:
        if len(schema["allOf"]) == 1 and "properties" not in schema:
            return self._alternatives(schema["allOf"][0], root, hint)
        return self._alternatives(resolve(schema, root), root, hint)

    def _plain(self, schema: Mapping[str, Any], root: Mapping[str, Any], hint: str) -> Alternatives:
        kind = schema.get("type", "object" if "properties" in schema else None)
        if isinstance(kind, list):
            return _unite(self._plain({**schema, "type": one}, root, hint) for one in kind)
        if kind == "array":
            return (f"list[{self.describe(schema.get('items'), root, f'{hint}Item')}]",)
        if kind != "object":
            return (_SCALARS.get(str(kind), "Any"),)
        if schema.get("properties"):
            return (self._class_of(schema, root, hint),)
        values = schema.get("additionalProperties")
        return (f"dict[str, {self.describe(values, root, f'{hint}Value')}]",)

    def _class_of(self, schema: Mapping[str, Any], root: Mapping[str, Any], hint: str) -> str:
        title = schema.get("title")
        wanted = _class_name(title) if isinstance(title, str) and title else hint
        key = json.dumps([wanted, schema, _find_definitions(schema, root)], sort_keys=True)
        if key in self._classes:
            return self._classes[key].name
        name = _make_unique(hint if wanted in self.names else wanted, self.names)
        self.names.add(name)
        # Before its members, which may refer to it.
        made = self._classes[key] = ClassType(name, str(schema.get("description", "")))
        required = schema.get("required") or ()
        # A class may contain everything that contains it.
        open_refs, self._open_refs = self._open_refs, []
        for member, value in schema["properties"].items():
            types = self._alternatives(value, root, f"{name}{_class_name(member)}")
            own = resolve(value, root)
            made.members.append(_make_member(member, types, own, is_required=member in required))
        self._open_refs = open_refs
        return name


def _make_member(
    name: str, types: Alternatives, schema: Mapping[str, Any], *, is_required: bool
) -> Member:
    description, default = str(schema.get("description", "")), schema.get("default")
    if is_required:
        return Member(name, " | ".join(types), None, description)
    if default is not None:
        description = f"{description}\nDefault: {json.dumps(default)}".lstrip()
    if types == _ANY:
        return Member(name, "Any", "UNSET", description)
    # None is a value of its own if it is allowed and not the default.
    if "None" in types and not ("default" in schema and default is None):
        return Member(name, " | ".join([*types, "UnsetType"]), "UNSET", description)
    return Member(name, " | ".join(_unite([types, ("None",)])), "None", description)


def _literals(values: list[Any]) -> Alternatives | None:
    """The type of these values; None if one of them cannot be in a Literal."""
    if not values or not all(isinstance(value, str | int | bool | None) for value in values):
        return None
    shown = [literal(value) for value in values if value is not None]
    types = (f"Literal[{', '.join(shown)}]",) if shown else ()
    return _unite([types, ("None",)]) if None in values else types


def _unite(types: Iterable[Alternatives]) -> Alternatives:
    """All alternatives once, None last; Any alone, because it allows everything."""
    parts = dict.fromkeys(part for each in types for part in each)
    if "Any" in parts or not parts:
        return _ANY
    return tuple(sorted(parts, key=lambda part: part == "None"))


def _find_definitions(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas that a schema refers to, directly and indirectly, by reference."""
    found: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if not isinstance(value, Mapping):
            continue
        ref = value.get("$ref")
        if isinstance(ref, str) and ref not in found:
            found[ref] = find(ref, root)
            waiting.append(found[ref])
        waiting += [part for _, part in inner_schemas(value)]
    return found


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
        name = _make_unique(_identifier(tool.name, "tool"), types.names)
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
    taken = set(_RESERVED | set(names))
    for member in made.members:
        python_name = _make_unique(_identifier(member.name, "field"), taken)
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
    prefix = _class_name(tool.name)
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


@click.group()
def generate() -> None:
    """Write code for the tools of a server."""


@generate.command()
@click.argument("target", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the module to this file instead of stdout.",
)
@click.option("--check", is_flag=True, help="Write nothing; fail if FILE is not up to date.")
@with_options(REQUEST_OPTIONS)
@click.pass_obj
def client(
    command: list[str], /, target: str | None, output: Path | None, check: bool, **given: Any
) -> None:
    """Write a Python module with a typed function for each tool.

    Arguments and structured results are dataclasses.
    """
    if check and output is None:
        raise Failure("--check needs -o FILE, the module to compare", WRONG_USAGE)
    options = TargetOptions(**given)
    source = run_with_client(find_target(target, command, options), options, _write_module)
    if output is None:
        click.echo(source, nl=False)
    elif check:
        _check(output, source)
    else:
        try:
            output.write_text(source, "utf-8")
        except OSError as error:
            raise Failure(f"Cannot write {str(output)!r}: {error.strerror}", WRONG_USAGE) from None


async def _write_module(client: Client) -> str:
    name = client.server_info.name if client.server_info is not None else "without a name"
    tools = await client.list_tools()
    for tool in tools:
        check_schemas(tool)
    return write_client_module(name, tools)


def _check(file: Path, source: str) -> None:
    """Print the differences and fail if the file does not have this source."""
    try:
        found = file.read_text("utf-8")
    except FileNotFoundError:
        found = ""
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"Cannot read {str(file)!r}: {error}", WRONG_USAGE) from None
    if found == source:
        return
    lines = difflib.unified_diff(
        found.splitlines(), source.splitlines(), str(file), "the server now", lineterm=""
    )
    for line in lines:
        click.echo(line)
    raise Failure(f"{str(file)!r} is not up to date; run the command without --check", FAILED_CALL)

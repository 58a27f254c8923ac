"""Formats tool schemas as one-line signatures: `add(a: int, b: int = 1) -> int`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dovetail.schema import choices, kind, resolve, variants
from dovetail.spec.models import Prompt, Tool
from dovetail.wire import codec

__all__ = [
    "describe_prompt",
    "describe_result",
    "describe_schema",
    "describe_tool",
    "format_literal",
    "shorten_tool",
    "unwrap_output",
]

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


def shorten_tool(tool: Tool) -> str:
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

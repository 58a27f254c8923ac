"""Formats tool schemas as one-line signatures: `add(a: int, b: int = 1) -> int`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dovetail.cli.arguments import resolve_ref
from dovetail.spec.models import Prompt, Tool
from dovetail.wire import codec

__all__ = ["describe_prompt", "describe_schema", "describe_tool"]

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


def describe_tool(tool: Tool) -> str:
    """Name, arguments and result."""
    schema = tool.input_schema
    properties = schema.get("properties") or {}
    required = schema.get("required") or []
    parts = [
        _describe_member(name, value, schema, is_required=name in required)
        for name, value in properties.items()
    ]
    text = f"{tool.name}({', '.join(parts)})"
    if tool.output_schema is None:
        return text
    return f"{text} -> {_describe_output(tool.output_schema)}"


def describe_prompt(prompt: Prompt) -> str:
    """Name and arguments; optional arguments have a question mark."""
    arguments = prompt.arguments or []
    names = [a.name if a.required else f"{a.name}?" for a in arguments]
    return f"{prompt.name}({', '.join(names)})"


def _describe_output(schema: Mapping[str, Any]) -> str:
    properties = schema.get("properties") or {}
    # Servers wrap other values in an object with the single member `result`.
    if list(properties) == ["result"]:
        return describe_schema(properties["result"], schema)
    return describe_schema(schema, schema)


def _describe_member(name: str, value: Any, root: Mapping[str, Any], *, is_required: bool) -> str:
    kind = describe_schema(value, root, depth=1)
    if is_required:
        return f"{name}: {kind}"
    if isinstance(value, Mapping) and "default" in value:
        return f"{name}: {kind} = {_literal(value['default'])}"
    return f"{name}?: {kind}"


def describe_schema(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """A schema as a Python type."""
    if not isinstance(schema, Mapping):
        return "any"
    schema = resolve_ref(schema, root)
    if "const" in schema:
        return _literal(schema["const"])
    if "enum" in schema:
        return " | ".join(map(_literal, schema["enum"]))
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if branches:
        return " | ".join(dict.fromkeys(describe_schema(b, root, depth) for b in branches))
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return " | ".join(describe_schema({**schema, "type": k}, root, depth) for k in kinds)
    if kinds == "array" and "items" in schema:
        return f"list[{describe_schema(schema['items'], root, depth + 1)}]"
    if kinds == "object":
        return _describe_object(schema, root, depth)
    return _NAMES.get(str(kinds), "any")


def _describe_object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    properties = schema.get("properties")
    if not properties:
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping) and values:
            return f"dict[str, {describe_schema(values, root, depth + 1)}]"
        return "dict"
    if depth >= _MAX_DEPTH:
        return str(schema.get("title", "dict"))
    required = schema.get("required") or []
    members = (
        f"{name if name in required else f'{name}?'}: {describe_schema(value, root, depth + 1)}"
        for name, value in properties.items()
    )
    return f"{{{', '.join(members)}}}"


def _literal(value: Any) -> str:
    # None and booleans as in Python, like the types; strings with JSON's double quotes.
    return repr(value) if isinstance(value, bool | None) else codec.encode(value).decode()

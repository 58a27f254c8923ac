"""`$ref` and `$defs`: bringing a definition to the root, copying definitions in place.

Clients read the root of a schema (MCP wants `type: object` there), and some do not follow
references at all. A recursive type cannot be copied into itself: it keeps its `$ref` and its
entry in `$defs` even when references are to be inlined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Definitions", "assemble", "map_schemas", "reference_to", "rename_references"]

PREFIX = "#/$defs/"
# Where a schema holds schemas. Anything else (`default`, `enum`, `examples`) is data and must
# not be rewritten, whatever it looks like.
MAPS_OF_SCHEMAS = {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
LISTS_OF_SCHEMAS = {"allOf", "anyOf", "oneOf", "prefixItems"}
SCHEMAS = {
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
}

Schema = dict[str, Any]
Definitions = dict[str, Schema]


def reference_to(name: str) -> Schema:
    """A schema that refers to a definition."""
    return {"$ref": PREFIX + name}


def map_schemas(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """A copy in which every schema was changed, the inner ones first."""
    if not isinstance(schema, dict):
        return schema  # true and false are schemas too
    copy: Schema = {}
    for keyword, item in schema.items():
        if keyword in MAPS_OF_SCHEMAS:
            copy[keyword] = {name: map_schemas(part, change) for name, part in item.items()}
        elif keyword in LISTS_OF_SCHEMAS:
            copy[keyword] = [map_schemas(part, change) for part in item]
        elif keyword in SCHEMAS:
            copy[keyword] = map_schemas(item, change)
        else:
            copy[keyword] = item
    return change(copy)


def assemble(schema: Schema, definitions: Definitions, *, inline_refs: bool) -> Schema:
    """One self-contained schema: the root spelled out, `$defs` with what is still referred to."""
    if "$ref" in schema:
        schema = _spelled_out(schema, definitions[_target(schema)])
    if inline_refs:
        recursive = {
            name for name in definitions if name in _used_by(definitions[name], definitions)
        }
        schema = _inline(schema, definitions, recursive)
        definitions = {
            name: _inline(definitions[name], definitions, recursive) for name in recursive
        }
    used = _used_by(schema, definitions)
    if used:
        schema = {**schema, "$defs": {name: definitions[name] for name in sorted(used)}}
    return schema


def rename_references(schema: Schema, names: dict[str, str]) -> Schema:
    """A copy of a schema in which references to a key of `names` point to its value."""

    def rename(part: Schema) -> Schema:
        if "$ref" not in part:
            return part
        return {**part, **reference_to(names.get(_target(part), _target(part)))}

    renamed: Schema = map_schemas(schema, rename)
    return renamed


def _target(schema: Schema) -> str:
    name: str = schema["$ref"].removeprefix(PREFIX)
    return name


def _spelled_out(schema: Schema, definition: Schema) -> Schema:
    """What stands beside a reference (a description, a default) wins over the definition's own."""
    return {**definition, **{key: item for key, item in schema.items() if key != "$ref"}}


def _used_by(schema: Schema, definitions: Definitions) -> set[str]:
    found: set[str] = set()

    def note(part: Schema) -> Schema:
        if "$ref" in part and _target(part) not in found:
            found.add(_target(part))
            map_schemas(definitions[_target(part)], note)
        return part

    map_schemas(schema, note)
    return found


def _inline(schema: Schema, definitions: Definitions, recursive: set[str]) -> Schema:
    def inline(part: Schema) -> Schema:
        if "$ref" not in part or _target(part) in recursive:
            return part
        return _spelled_out(part, map_schemas(definitions[_target(part)], inline))

    inlined: Schema = map_schemas(schema, inline)
    return inlined

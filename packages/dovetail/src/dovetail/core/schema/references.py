"""`$ref` and `$defs`: move a definition to the root, or inline definitions.

Clients read the root of a schema (MCP requires `type: object` there), and some do not resolve
references at all. A recursive type cannot be inlined: it keeps its `$ref` and its entry in `$defs`.
"""

from __future__ import annotations

from typing import Any

from dovetail.schema import map_schemas

__all__ = ["Definitions", "assemble", "map_schemas", "reference_to", "rename_references"]

PREFIX = "#/$defs/"
Schema = dict[str, Any]
Definitions = dict[str, Schema]


def reference_to(name: str) -> Schema:
    """Return a schema that refers to a definition."""
    return {"$ref": PREFIX + name}


def assemble(schema: Schema, definitions: Definitions, *, inline_refs: bool) -> Schema:
    """Return a self-contained schema: no `$ref` at the root, `$defs` with what is still used."""
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
    """Return a copy of a schema with references renamed: keys of `names` to their values."""

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
    """Return the definition; keywords next to the reference (description, default) override it."""
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

"""Schemas of a document as JSON Schema 2020-12, with the references they use in `$defs`.

Annotations that only people read are dropped, and so are constraints with values of the wrong
type: the API checks its input itself. `oneOf` becomes `anyOf`, because schemas without their
read-only properties may match twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import jsonschema_rs
import msgspec

from dovetail_openapi.document import DocumentNode
from dovetail_openapi.naming import argument_name, shorten, unique

__all__ = ["Schema", "SchemaConverter", "is_binary", "map_schemas"]

Schema: TypeAlias = dict[str, Any]

_MAX_DEPTH = 100
# Aliases and nested references can stand for far more schemas than the document has bytes.
MAX_SCHEMAS = 1_000_000
# What stays outside when a schema is wrapped.
_NOTES = {"default", "description"}
_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}
_TEXTUAL = ("text/", "application/json")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_step(value: Any) -> bool:
    return _is_number(value) and value > 0


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


# Keyword -> whether a value is valid for it.
_CONSTRAINTS: dict[str, Callable[[Any], bool]] = {
    "format": _is_text,
    "multipleOf": _is_step,
    "maximum": _is_number,
    "minimum": _is_number,
    "exclusiveMaximum": _is_number,
    "exclusiveMinimum": _is_number,
    "maxLength": _is_count,
    "minLength": _is_count,
    "maxItems": _is_count,
    "minItems": _is_count,
    "maxProperties": _is_count,
    "minProperties": _is_count,
    "uniqueItems": lambda value: isinstance(value, bool),
    "required": _are_names,
    "contentEncoding": _is_text,
    "contentMediaType": _is_text,
}
_MAPS = ("properties", "patternProperties", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = (
    "additionalProperties",
    "items",
    "not",
    "contains",
    "propertyNames",
    "if",
    "then",
    "else",
)
# The bounds that OpenAPI 3.0 marks as exclusive with a boolean.
_BOUNDS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


def is_binary(schema: DocumentNode) -> bool:
    """Whether a property of a form is a file."""
    value = schema.value
    if value.get("format") == "binary":
        return True
    media_type = value.get("contentMediaType")
    return (
        isinstance(media_type, str)
        and "contentEncoding" not in value
        and not media_type.startswith(_TEXTUAL)
    )


class Measured(NamedTuple):
    """A definition: its size in bytes and the definitions that it refers to."""

    size: int
    targets: set[str]


class SchemaConverter:
    """Converts schemas for requests or for responses; definitions are converted once."""

    def __init__(self, direction: Literal["request", "response"]) -> None:
        # The properties that are only in messages of the other direction.
        self._hidden = "readOnly" if direction == "request" else "writeOnly"
        self._names: dict[tuple[str, str], str] = {}
        self._definitions: dict[str, Schema] = {}
        self._measured: dict[str, Measured] = {}
        self._pending: list[tuple[str, DocumentNode]] = []
        self._patterns: dict[str, bool] = {}
        self._count = 0

    def convert(self, node: DocumentNode) -> Schema:
        """Return a schema whose references lead to definitions of this converter."""
        schema = self._convert(node, 0)
        while self._pending:
            name, target = self._pending.pop()
            self._definitions[name] = self._convert(target, 0)
        return schema if isinstance(schema, dict) else {}

    def root(self, node: DocumentNode) -> Schema:
        """Return a schema without a `$ref` at its root."""
        return self.convert(node.resolve())

    def complete(self, schema: Schema, max_bytes: int) -> Schema:
        """Return the schema with its `$defs`, without those that would make it too large.

        Definitions are added level by level; references below are replaced by their type.
        """
        kept: dict[str, Schema] = {}
        size = _size(schema)
        level = _find_targets(schema)
        while level:
            size += sum(self._measure(name).size for name in level)
            if size > max_bytes:
                break
            kept.update({name: self._definitions[name] for name in sorted(level)})
            level = set().union(*(self._measure(name).targets for name in level)) - kept.keys()

        def cut(part: Schema) -> Schema:
            if "$ref" not in part or _target(part) in kept:
                return part
            rest = {key: value for key, value in part.items() if key != "$ref"}
            return {**_outline(self._definitions[_target(part)]), **rest}

        if level:
            schema = map_schemas(schema, cut)
            kept = {name: map_schemas(each, cut) for name, each in kept.items()}
        return {**schema, "$defs": kept} if kept else schema

    def is_object(self, schema: Schema) -> bool:
        """Whether a schema allows objects only."""
        if "$ref" in schema:
            return self.is_object(self._definitions[_target(schema)])
        if "type" in schema:
            return bool(schema["type"] == "object")
        return "properties" in schema or any(map(self.is_object, schema.get("allOf", ())))

    def _measure(self, name: str) -> Measured:
        if name not in self._measured:
            definition = self._definitions[name]
            self._measured[name] = Measured(_size(definition), _find_targets(definition))
        return self._measured[name]

    def _convert(self, node: DocumentNode, depth: int) -> Any:
        value = node.value
        if isinstance(value, bool):
            return value
        self._count += 1
        if depth > _MAX_DEPTH or self._count > MAX_SCHEMAS:
            raise node.error(
                f"the schema is nested more than {_MAX_DEPTH} levels"
                if depth > _MAX_DEPTH
                else f"the document stands for more than {MAX_SCHEMAS:,} schemas"
            )
        node.expect_object()
        if isinstance(value.get("$ref"), str):
            return self._refer(node)
        schema: Schema = self._scalars(node)
        schema |= self._inner(node, depth)
        self._drop_hidden(node, schema)
        if node.document.is_30:
            schema = _without_30(value, schema)
        if "oneOf" in schema:
            schema = _one_as_any(schema)
        return schema

    def _refer(self, node: DocumentNode) -> Schema:
        target = node.resolve()
        name = self._names.get(target.key)
        if name is None:
            wanted = argument_name(target.pointer.rpartition("/")[2])
            name = self._names[target.key] = unique(wanted, self._names.values())
            self._pending.append((name, target))
        schema: Schema = {"$ref": f"#/$defs/{name}"}
        text = node.value.get("description")
        if isinstance(text, str):
            schema["description"] = shorten(text)
        return schema

    def _scalars(self, node: DocumentNode) -> Schema:
        value: Mapping[str, Any] = node.value
        schema: Schema = {}
        kind = value.get("type")
        kinds = [each for each in (kind if isinstance(kind, list) else [kind]) if each in _TYPES]
        if kinds:
            schema["type"] = kinds[0] if len(kinds) == 1 else kinds
        elif kind == "file":
            schema["type"] = "string"
        text = value.get("description")
        if isinstance(text, str) and text:
            schema["description"] = shorten(text)
        for keyword, is_valid in _CONSTRAINTS.items():
            if keyword in value and is_valid(value[keyword]):
                schema[keyword] = value[keyword]
        if isinstance(value.get("enum"), list) and value["enum"]:
            schema["enum"] = _distinct(value["enum"])
        for keyword in ("const", "default"):
            if keyword in value:
                schema[keyword] = _to_json(value[keyword])
        pattern = value.get("pattern")
        if isinstance(pattern, str) and self._is_pattern(pattern):
            schema["pattern"] = pattern
        if value.get("format") == "binary":
            del schema["format"]
            schema["contentEncoding"] = "base64"
        return schema

    def _inner(self, node: DocumentNode, depth: int) -> Schema:
        value: Mapping[str, Any] = node.value
        schema: Schema = {}
        for keyword in _MAPS:
            if keyword in value:
                schema[keyword] = {
                    name: self._convert(part, depth + 1) for name, part in node.members(keyword)
                }
        for keyword in _LISTS:
            parts = [self._convert(part, depth + 1) for part in node.items(keyword)]
            if parts:
                schema[keyword] = parts
        for keyword in _SINGLE:
            if isinstance(value.get(keyword), dict | bool):
                part = node.find(keyword)
                assert part is not None
                schema[keyword] = self._convert(part, depth + 1)
        if schema.get("items") is False or schema.get("items") is True:
            schema["items"] = {}
        return schema

    def _drop_hidden(self, node: DocumentNode, schema: Schema) -> None:
        hidden = {
            name
            for name, part in node.members("properties")
            if isinstance(part.value, dict) and self._is_hidden(part.resolve())
        }
        if hidden:
            for name in hidden:
                del schema["properties"][name]
            if "required" in schema:
                schema["required"] = [name for name in schema["required"] if name not in hidden]

    def _is_hidden(self, node: DocumentNode) -> bool:
        # In 3.0 nothing may stand next to a $ref, so the flag is often in a part of its own.
        parts = (part.value for part in node.items("allOf"))
        return any(
            isinstance(value, dict) and value.get(self._hidden) is True
            for value in (node.value, *parts)
        )

    def _is_pattern(self, pattern: str) -> bool:
        """Whether the validator can compile it; expressions of other engines are dropped."""
        if pattern not in self._patterns:
            try:
                jsonschema_rs.validator_for({"pattern": pattern})
                self._patterns[pattern] = True
            except ValueError:
                self._patterns[pattern] = False
        return self._patterns[pattern]


def map_schemas(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """Return a copy of a schema with `change` applied to all of it, inner ones first."""
    if not isinstance(schema, dict):
        return schema
    copy: Schema = {}
    for keyword, value in schema.items():
        if keyword in (*_MAPS, "$defs", "definitions"):
            copy[keyword] = {name: map_schemas(part, change) for name, part in value.items()}
        elif keyword in _LISTS:
            copy[keyword] = [map_schemas(part, change) for part in value]
        else:
            is_schema = keyword in _SINGLE or keyword.startswith("unevaluated")
            copy[keyword] = map_schemas(value, change) if is_schema else value
    return change(copy)


def _target(schema: Schema) -> str:
    name: str = schema["$ref"].rpartition("/")[2]
    return name


def _size(schema: Schema) -> int:
    return len(msgspec.json.encode(schema))


def _find_targets(schema: Schema) -> set[str]:
    found: set[str] = set()

    def note(part: Schema) -> Schema:
        if "$ref" in part:
            found.add(_target(part))
        return part

    map_schemas(schema, note)
    return found


def _outline(schema: Schema) -> Schema:
    """Return the type and description of a definition that is left out."""
    outline: Schema = {key: schema[key] for key in ("type", "description") if key in schema}
    return outline or ({"type": "object"} if "properties" in schema else {})


def _one_as_any(schema: Schema) -> Schema:
    alternatives = schema.pop("oneOf")
    if "anyOf" not in schema:
        return {**schema, "anyOf": alternatives}
    return {**schema, "allOf": [*schema.get("allOf", ()), {"anyOf": alternatives}]}


def _without_30(value: Mapping[str, Any], schema: Schema) -> Schema:
    """Replace what means something else, or nothing, in JSON Schema 2020-12."""
    for flag, bound in _BOUNDS:
        if value.get(flag) is True and bound in schema:
            schema[flag] = schema.pop(bound)
    if value.get("nullable") is not True:
        return schema
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    if {"allOf", "anyOf", "oneOf"} & schema.keys():
        notes: Schema = {key: schema.pop(key) for key in _NOTES & schema.keys()}
        return {**notes, "anyOf": [schema, {"type": "null"}]}
    return schema


def _distinct(values: list[Any]) -> list[Any]:
    # By their text: lists and objects cannot be hashed, and 1 is neither true nor 1.0.
    found: dict[str, Any] = {}
    for each in map(_to_json, values):
        found.setdefault(repr(each), each)
    return list(found.values())


def _to_json(value: Any) -> Any:
    """Return dates of YAML as text."""
    try:
        return msgspec.to_builtins(value, str_keys=True)
    except (TypeError, ValueError):
        return str(value)

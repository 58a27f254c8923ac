"""Resolves `$ref` and merges parts of a JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias
from urllib.parse import unquote

__all__ = ["NoSampleError", "Schema", "merge", "resolve"]

Schema: TypeAlias = Mapping[str, Any]

_MAX_HOPS = 16


class NoSampleError(Exception):
    """No value can be generated for the schema."""


def resolve(schema: Schema, root: Any) -> Schema:
    """Return the target of `$ref`, merged with the sibling keywords."""
    for _ in range(_MAX_HOPS):
        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return schema
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        schema = merge(beside, find(ref, root))
    raise NoSampleError("the references are circular")


def find(ref: str, root: Any) -> Any:
    """Return the target of a reference within the same schema."""
    if not ref.startswith("#") or (len(ref) > 1 and ref[1] != "/"):
        raise NoSampleError(f"{ref!r} refers to another document")
    found: Any = root
    for step in ref[2:].split("/") if len(ref) > 1 else ():
        step = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and step.isdigit() and int(step) < len(found):
            found = found[int(step)]
        elif isinstance(found, Mapping) and step in found:
            found = found[step]
        else:
            raise NoSampleError(f"{ref!r} does not exist")
    return found


def merge(*parts: Any) -> Schema:
    """Merge schemas into one that requires what all of them require, as far as possible."""
    merged: dict[str, Any] = {}
    for part in parts:
        if part is True:
            continue
        if not isinstance(part, Mapping):
            raise NoSampleError(f"nothing matches {part!r}")
        for name, value in part.items():
            merged[name] = _join(name, merged[name], value) if name in merged else value
    return merged


def _join(name: str, one: Any, other: Any) -> Any:
    join = _JOINS.get(name)
    return other if join is None else join(one, other)


def _both(one: Any, other: Any) -> Any:
    """Combine two subschemas for the same value."""
    return other if one == other else {"allOf": [one, other]}


def _by_name(one: Any, other: Any) -> Any:
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return other
    return {
        name: _both(one[name], other[name])
        if name in one and name in other
        else {**one, **other}[name]
        for name in {**one, **other}
    }


def _types(one: Any, other: Any) -> Any:
    ones = one if isinstance(one, list) else [one]
    others = other if isinstance(other, list) else [other]
    # Every integer is a number.
    ones = [*ones, "integer"] if "number" in ones else ones
    others = [*others, "integer"] if "number" in others else others
    return [kind for kind in ones if kind in others]


_JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "properties": _by_name,
    "patternProperties": _by_name,
    "items": _both,
    "required": lambda one, other: list(dict.fromkeys([*one, *other])),
    "enum": lambda one, other: [value for value in one if value in other],
    "allOf": lambda one, other: [*one, *other],
    "anyOf": lambda one, other: [{"allOf": [a, b]} for a in one for b in other],
    "oneOf": lambda one, other: [{"allOf": [a, b]} for a in one for b in other],
    "type": _types,
    "minimum": max,
    "exclusiveMinimum": max,
    "minLength": max,
    "minItems": max,
    "minProperties": max,
    "maximum": min,
    "exclusiveMaximum": min,
    "maxLength": min,
    "maxItems": min,
    "maxProperties": min,
    "uniqueItems": lambda one, other: bool(one or other),
}

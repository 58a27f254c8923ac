"""Read JSON Schemas that others wrote: references, merged parts, choices and variants.

Everything that describes a tool's schema or makes values for one reads it here: the command line,
the console, OpenAPI and the checker. A part that is malformed, or a reference that leads nowhere,
is read as a schema that accepts everything; validating is the job of jsonschema-rs. Nothing is
fetched, and no function follows references into the parts of a schema, so the work is bounded by
the size of what is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

__all__ = [
    "NEVER",
    "Choice",
    "Schema",
    "choices",
    "find",
    "inner_schemas",
    "kind",
    "map_schemas",
    "references",
    "resolve",
    "variants",
]

Schema: TypeAlias = Mapping[str, Any]

# Accepts nothing, as a schema with keywords.
NEVER: Schema = {"not": {}}
# Parts of one schema that are merged: what its references lead to, and what `allOf` lists.
_MAX_PARTS = 64
# Two unions become the union of all pairs, unless there are too many to choose from.
_MAX_PAIRS = 64

# The keywords whose values are schemas. Other values (`default`, `enum`, `examples`) are data.
_MAPS = {
    *("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"),
    "properties",
}
_LISTS = {"allOf", "anyOf", "items", "oneOf", "prefixItems"}
_SINGLE = {
    *("additionalItems", "additionalProperties", "contains", "else", "if", "items", "not"),
    *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
}
# What a union says about the value as a whole, and not about each of its variants.
_OF_UNION = {"default", "description", "example", "examples", "title"}
# A union of these only restricts the schema beside it.
_RULES = {"not", "required", *_OF_UNION}
_TYPE_OF = {
    **dict.fromkeys(("properties", "required", "additionalProperties", "minProperties"), "object"),
    **dict.fromkeys(("maxProperties", "patternProperties", "propertyNames"), "object"),
    **dict.fromkeys(("items", "prefixItems", "minItems", "maxItems", "contains"), "array"),
    **dict.fromkeys(("uniqueItems",), "array"),
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), "string"),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), "number"),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), "number"),
}


class Choice(NamedTuple):
    """A value that a schema lists, and its title if it has one."""

    value: Any
    title: str


# -- walking -----------------------------------------------------------------------------------


def inner_schemas(schema: Schema) -> Iterator[tuple[str, Any]]:
    """The schemas directly in a schema, each with its keyword."""
    for keyword, part in schema.items():
        if keyword in _MAPS and isinstance(part, Mapping):
            yield from ((keyword, inner) for inner in part.values())
        elif keyword in _LISTS and isinstance(part, list):
            yield from ((keyword, inner) for inner in part)
        elif keyword in _SINGLE:
            yield keyword, part


def map_schemas(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """A copy with `change` applied to every schema, inner ones first."""
    if not isinstance(schema, dict):
        return schema  # true and false are schemas too
    copy: dict[str, Any] = {}
    for keyword, part in schema.items():
        if keyword in _MAPS and isinstance(part, dict):
            copy[keyword] = {name: map_schemas(inner, change) for name, inner in part.items()}
        elif keyword in _LISTS and isinstance(part, list):
            copy[keyword] = [map_schemas(inner, change) for inner in part]
        elif keyword in _SINGLE:
            copy[keyword] = map_schemas(part, change)
        else:
            copy[keyword] = part
    return change(copy)


# -- references and merging ---------------------------------------------------------------------


def find(reference: str, root: Any) -> Any:
    """What a reference within a document leads to; None if there is nothing."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    found: Any = root
    for step in reference[2:].split("/") if reference != "#" else ():
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            found = found.get(name) if isinstance(found, Mapping) else None
    return found


def references(schema: Any, root: Any) -> set[str]:
    """The references that `resolve` follows from a schema."""
    return _collect(schema, root)[1]


def resolve(schema: Any, root: Any) -> Schema:
    """One schema without `$ref` and `allOf`; keywords beside a reference come first."""
    parts, _ = _collect(schema, root)
    return parts[0] if len(parts) == 1 else _merge(parts)


def _collect(schema: Any, root: Any) -> tuple[list[Schema], set[str]]:
    """The parts of a schema that apply to the same value, and the references among them."""
    parts: list[Schema] = []
    seen: set[str] = set()
    waiting = [schema]
    while waiting and len(parts) < _MAX_PARTS:
        part = waiting.pop()
        if part is False:
            parts.append(NEVER)
        if not isinstance(part, Mapping):
            continue
        beside = part.get("allOf")
        if isinstance(beside, list):
            waiting += reversed(beside)
        reference = part.get("$ref")
        if isinstance(reference, str) and reference not in seen:
            seen.add(reference)
            waiting.append(find(reference, root))
        if "$ref" in part or isinstance(beside, list):
            part = {key: part[key] for key in part if key not in ("$ref", "allOf")}
        parts.append(part)
    return parts or [{}], seen


def _merge(parts: list[Schema]) -> Schema:
    merged: dict[str, Any] = {}
    for part in parts:
        for keyword, given in part.items():
            join = _JOINS.get(keyword)
            if keyword not in merged:
                merged[keyword] = given
            elif join is not None:
                merged[keyword] = join(merged[keyword], given)
    if merged.get("type") == []:
        del merged["type"]
        merged.update(NEVER)
    return merged


def _both(one: Any, other: Any) -> Any:
    return one if one == other else {"allOf": [one, other]}


def _by_name(one: Any, other: Any) -> Any:
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return one
    shared = {name: _both(one[name], other[name]) for name in one if name in other}
    return {**one, **other, **shared}


def _types(one: Any, other: Any) -> Any:
    ones, others = (given if isinstance(given, list) else [given] for given in (one, other))
    found = [name for name in ones if _has_type(others, name)]
    found += [name for name in others if _has_type(ones, name) and name not in found]
    return found[0] if len(found) == 1 else found


def _has_type(names: list[Any], name: Any) -> bool:
    # Every integer is a number.
    return name in names or (name == "integer" and "number" in names)


def _lists(join: Callable[[list[Any], list[Any]], list[Any]]) -> Callable[[Any, Any], Any]:
    def joined(one: Any, other: Any) -> Any:
        return join(one, other) if isinstance(one, list) and isinstance(other, list) else one

    return joined


def _pairs(one: list[Any], other: list[Any]) -> list[Any]:
    if len(one) * len(other) > _MAX_PAIRS:
        return one
    return [{"allOf": [x, y]} for x in one for y in other]


def _numbers(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def chosen(one: Any, other: Any) -> Any:
        are_numbers = isinstance(one, int | float) and isinstance(other, int | float)
        return choose(one, other) if are_numbers else one

    return chosen


_JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "type": _types,
    **dict.fromkeys(("properties", "patternProperties"), _by_name),
    **dict.fromkeys(("items", "additionalProperties", "propertyNames"), _both),
    "required": _lists(lambda one, other: list(dict.fromkeys([*one, *other]))),
    "enum": _lists(lambda one, other: [value for value in one if value in other]),
    **dict.fromkeys(("anyOf", "oneOf"), _lists(_pairs)),
    "uniqueItems": lambda one, other: bool(one or other),
    # What accepts nothing stays.
    "not": lambda one, other: other if other == {} else one,
    # Of two limits, the tighter one.
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength"), _numbers(max)),
    **dict.fromkeys(("minItems", "minProperties"), _numbers(max)),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength"), _numbers(min)),
    **dict.fromkeys(("maxItems", "maxProperties"), _numbers(min)),
}


# -- what a resolved schema is ------------------------------------------------------------------


def kind(schema: Schema, root: Any) -> str:
    """What a resolved schema describes: a type, or "choice", "union" or "any"."""
    if choices(schema, root):
        return "choice"
    if variants(schema, root):
        return "union"
    given = schema.get("type")
    given = given[0] if isinstance(given, list) and len(given) == 1 else given
    if isinstance(given, str):
        return given
    return next((_TYPE_OF[keyword] for keyword in schema if keyword in _TYPE_OF), "any")


def choices(schema: Schema, root: Any) -> list[Choice]:
    """The values that a resolved schema lists; none if it does not."""
    title = str(schema.get("title") or "")
    if "const" in schema:
        return [Choice(schema["const"], title)]
    if isinstance(schema.get("enum"), list):
        values, names = schema["enum"], schema.get("enumNames")
        titles = [str(name) for name in names] if isinstance(names, list) else []
        titles += [""] * (len(values) - len(titles))
        return [Choice(value, name) for value, name in zip(values, titles, strict=False)]
    if schema.get("type") == "null":
        return [Choice(None, title)]
    found: list[Choice] = []
    for branch in _branches(schema):
        inner = resolve(branch, root)
        more = [] if _branches(inner) else choices(inner, root)
        if not more:
            return []
        found += more
    return found


def variants(schema: Schema, root: Any) -> list[tuple[Any, Schema]]:
    """The variants of a resolved schema: the branch as it is written, and together with the rest.

    A branch of a list of types is the name of the type.
    """
    key = next((key for key in ("anyOf", "oneOf") if _branches(schema, key)), None)
    types = schema.get("type")
    rest = {name: schema[name] for name in schema if name != key and name not in _OF_UNION}
    if key is None:
        names = types if isinstance(types, list) and len(types) > 1 else ()
        return [(name, {**rest, "type": name}) for name in names if isinstance(name, str)]
    return [(branch, {"allOf": [branch, rest]}) for branch in schema[key]]


def _branches(schema: Schema, *keys: str) -> list[Any]:
    """The branches of a union that are more than rules for the schema beside them."""
    for key in keys or ("anyOf", "oneOf"):
        found = schema.get(key)
        if isinstance(found, list) and any(
            not isinstance(branch, Mapping) or branch.keys() - _RULES for branch in found
        ):
            return found
    return []

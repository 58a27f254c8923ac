"""Merge the schemas that describe one value: `$ref`, `allOf` and the conditions that it meets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import UNSET

from dovetail.console.forms.form_schema import FormSchema
from dovetail.console.forms.json_text import key_of
from dovetail.console.forms.simple_schema import NEVER, Schema

__all__ = ["both", "parts_of", "resolve"]

# Two unions become the union of all pairs, unless there are too many to choose from.
_MAX_PAIRS = 24
_PARTS = {"$ref", "refName", "allOf", "if", "then", "else", "dependentSchemas"}

Fits = Callable[[Schema | bool], bool]


def parts_of(
    form: FormSchema, schema: Schema, value: Any = UNSET, fits: Fits | None = None
) -> Iterator[Schema | bool]:
    """The schemas for the same value, directly in a schema; with a value, those of conditions."""
    yield from schema.get("allOf", ())
    if "$ref" in schema:
        yield form.target(schema)
    if "if" in schema and fits is not None:
        yield schema.get("then" if fits(schema["if"]) else "else", True)
    if isinstance(value, dict):
        needs = schema.get("dependentSchemas", {})
        yield from (needs[name] for name in needs if name in value)


def resolve(
    form: FormSchema, schema: Schema | bool, value: Any = UNSET, fits: Fits | None = None
) -> Schema:
    """One schema without references, `allOf` and conditions, for drawing.

    The same parts give the same object again.
    """
    parts: dict[int, Schema] = {}
    waiting: list[Schema | bool] = [schema]
    while waiting:
        part = waiting.pop()
        part = NEVER if part is False else part
        if isinstance(part, dict) and id(part) not in parts:
            parts[id(part)] = part
            waiting += reversed(list(parts_of(form, part, value, fits)))
    key = tuple(parts)
    if key not in form.results:
        form.results[key] = (list(parts.values()), _merge(list(parts.values())))
    merged: Schema = form.results[key][1]
    return merged


def both(one: Schema | bool, other: Schema | bool) -> Schema | bool:
    """A schema for what fits both."""
    if one is False or other is False:
        return False
    if one is True or other is True:
        return other if one is True else one
    return {"allOf": [one, other]}


def _merge(parts: list[Schema]) -> Schema:
    merged: Schema = {}
    for part in parts:
        for keyword in (name for name in part if name not in _PARTS):
            combine = _COMBINE.get(keyword, _first)
            known = keyword in merged
            merged[keyword] = combine(merged[keyword], part[keyword]) if known else part[keyword]
    if merged.get("type") == []:
        del merged["type"]
        merged.update(NEVER)
    return merged


def _first(one: Any, other: Any) -> Any:
    return one


def _types(one: Any, other: Any) -> Any:
    ours, theirs = ([names] if isinstance(names, str) else names for names in (one, other))
    found = [name for name in ours if _has_type(theirs, name)]
    found += [name for name in theirs if _has_type(ours, name) and name not in found]
    return found[0] if len(found) == 1 else found


def _has_type(names: list[str], name: str) -> bool:
    return name in names or (name == "integer" and "number" in names)


def _maps(one: Schema, other: Schema) -> Schema:
    names = dict.fromkeys([*one, *other])
    return {name: both(one.get(name, True), other.get(name, True)) for name in names}


def _names(one: list[str], other: list[str]) -> list[str]:
    return list(dict.fromkeys([*one, *other]))


def _values(one: list[Any], other: list[Any]) -> list[Any]:
    known = {key_of(value) for value in other}
    return [value for value in one if key_of(value) in known]


def _pairs(one: list[Any], other: list[Any]) -> list[Any]:
    if len(one) * len(other) > _MAX_PAIRS:
        return one
    return [both(x, y) for x in one for y in other]


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "type": _types,
    **dict.fromkeys(("properties", "patternProperties"), _maps),
    "required": _names,
    "enum": _values,
    **dict.fromkeys(("items", "additionalProperties", "propertyNames"), both),
    **dict.fromkeys(("anyOf", "oneOf"), _pairs),
    # Of two limits, the tighter one.
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}

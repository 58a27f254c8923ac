"""What a schema is drawn as: a type, a choice of values, or a union of variants."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

from msgspec import Struct

from dovetail.console.forms.form_schema import FormSchema, per_schema, rules_of
from dovetail.console.forms.json_text import text_of
from dovetail.console.forms.merging import both, resolve
from dovetail.console.forms.simple_schema import OF_TYPE, Schema

__all__ = [
    "UNIONS",
    "Choice",
    "Variant",
    "branches_of",
    "choices_of",
    "item_schema",
    "kind_of",
    "property_schema",
    "union_key",
    "variant_schemas",
]

UNIONS = ("anyOf", "oneOf")
_TYPE_OF = {keyword: name for name, keywords in OF_TYPE.items() for keyword in keywords}
# A union is about these as a whole, not each of its variants.
_OF_UNION = {"default", "title", "description", "examples", "example"}


class Choice(Struct):
    """A value that can be chosen."""

    value: Any
    label: str


class Variant(NamedTuple):
    """A branch of a union: as it is written, and together with what all branches share."""

    branch: Any
    schema: Schema


@per_schema
def kind_of(form: FormSchema, schema: Schema) -> str:
    """What a resolved schema is drawn as: a type, or "choice", "union", "any", "never"."""
    if choices_of(form, schema):
        return "choice"
    if union_key(schema):
        return "union"
    if "type" in schema:
        return str(schema["type"])
    if schema.get("not") in ({}, True):
        return "never"
    return next((_TYPE_OF[key] for key in schema if key in _TYPE_OF), "any")


def union_key(schema: Schema) -> str | None:
    """The keyword with the variants of a resolved schema."""
    found = next((key for key in UNIONS if key in schema), None)
    return found or ("type" if isinstance(schema.get("type"), list) else None)


@per_schema
def choices_of(form: FormSchema, schema: Schema) -> list[Choice]:
    """The values that a resolved schema lists, none if it does not."""
    if schema.get("type") == "null":
        return [Choice(None, schema.get("title", "null"))]
    if "const" in schema:
        return [Choice(schema["const"], schema.get("title", text_of(schema["const"])))]
    if "enum" in schema:
        names = schema.get("enumNames", [])
        labels = [*map(str, names), *map(text_of, schema["enum"][len(names) :])]
        listed = [Choice(*pair) for pair in zip(schema["enum"], labels, strict=False)]
        rules = rules_of(form, schema)
        return [each for each in listed if rules and rules.is_valid(each.value)] or listed
    found: list[Choice] = []
    for branch in branches_of(schema):
        inner = resolve(form, branch)
        more = [] if inner.keys() & set(UNIONS) else choices_of(form, inner)
        if not more:
            return []
        found += more
    return found


def branches_of(schema: Schema) -> list[Any]:
    """The branches of the union that is drawn, as they are written."""
    found: list[Any] = schema.get("anyOf") or schema.get("oneOf") or []
    return found


@per_schema
def variant_schemas(form: FormSchema, schema: Schema) -> list[Variant]:
    """The variants of a resolved schema of kind "union"."""
    key = union_key(schema)
    assert key is not None
    rest = {name: part for name, part in schema.items() if name != key and name not in _OF_UNION}
    if key == "type":
        return [Variant(name, {**rest, "type": name}) for name in schema["type"]]
    return [Variant(branch, {"allOf": [branch, rest]}) for branch in schema[key]]


def property_schema(form: FormSchema, schema: Schema, name: str) -> Schema | bool:
    """The schema of a property, listed or not; False if it is not allowed."""
    patterns = _patterns_of(form, schema)
    found = [part for matches, part in patterns if matches.is_valid(name)]
    listed = schema.get("properties", {})
    if name in listed:
        found.append(listed[name])
    if len(found) < 2:
        part: Schema | bool = found[0] if found else schema.get("additionalProperties", True)
        return part
    key = ("property", *map(id, found))
    if key not in form.results:
        form.results[key] = (found, reduce(both, found))
    joined: Schema | bool = form.results[key][1]
    return joined


@per_schema
def _patterns_of(form: FormSchema, schema: Schema) -> list[tuple[Any, Any]]:
    patterns = schema.get("patternProperties", {})
    return [(rules_of(form, {"pattern": text}), part) for text, part in patterns.items()]


def item_schema(schema: Schema, index: int) -> Schema | bool:
    """The schema of an array's item; False if there can be none at this position."""
    first = schema.get("prefixItems", ())
    part: Schema | bool = first[index] if index < len(first) else schema.get("items", True)
    return part

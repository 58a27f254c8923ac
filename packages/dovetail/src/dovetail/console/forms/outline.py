"""`POST api/outline`: a schema for people, level by level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta, Struct

from dovetail.console.forms.form_schema import FormSchema
from dovetail.console.forms.json_text import json_of
from dovetail.console.forms.kinds import branches_of
from dovetail.console.forms.merging import resolve
from dovetail.console.forms.simple_schema import Schema
from dovetail.console.forms.words import describe_type

__all__ = ["OutlinePart", "OutlineRequest", "outline"]

_LIMITS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength"),
    *("maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems", "default"),
    *("const", "enum"),
)


class OutlineRequest(Struct):
    """`path`: the number of a part, then of a part in it, and so on."""

    schema: Any
    path: list[Annotated[int, Meta(ge=0)]] = []


class OutlinePart(Struct, rename="camel"):
    """A property, an item or an alternative."""

    name: str
    type: str
    description: str
    is_required: bool
    has_parts: bool
    # Keyword and value as JSON.
    limits: list[tuple[str, str]]


def outline(form: FormSchema, path: list[int]) -> list[OutlinePart]:
    """The parts of the schema at a path; none if there is no such part."""
    schema = resolve(form, form.root)
    for number in path:
        parts = list(_parts(schema))
        if number >= len(parts):
            return []
        schema = resolve(form, parts[number][1])
    required = schema.get("required", ())
    return [_describe(form, name, part, name in required) for name, part in _parts(schema)]


def _parts(schema: Schema) -> Iterator[tuple[str, Schema | bool]]:
    yield from schema.get("properties", {}).items()
    yield from (
        (f"item {number}", part) for number, part in enumerate(schema.get("prefixItems", ()), 1)
    )
    if "items" in schema:
        yield "each item", schema["items"]
    for number, part in enumerate(branches_of(schema), 1):
        yield f"option {number}", part


def _describe(form: FormSchema, name: str, part: Schema | bool, is_required: bool) -> OutlinePart:
    found = resolve(form, part)
    limits = [(keyword, json_of(found[keyword])) for keyword in _LIMITS if keyword in found]
    has_parts = next(_parts(found), None) is not None
    about = found.get("description", "")
    return OutlinePart(name, describe_type(form, part), about, is_required, has_parts, limits)

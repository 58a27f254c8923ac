"""The description of a form as a tree of nodes, ready to draw.

There is a node for everything that is in the value and for the properties that can be added to it,
so that recursive schemas end where the value ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from dovetail.console.forms.checking import Checker, Fault, Path, closest
from dovetail.console.forms.form_schema import rules_of
from dovetail.console.forms.initial_values import first_variant
from dovetail.console.forms.json_text import key_of, text_of
from dovetail.console.forms.kinds import (
    Choice,
    choices_of,
    item_schema,
    kind_of,
    property_schema,
    variant_schemas,
)
from dovetail.console.forms.merging import resolve
from dovetail.console.forms.simple_schema import Schema
from dovetail.console.forms.words import describe_limits, describe_type, labels_of

__all__ = ["Drawing", "FormNode", "FormPlace", "State", "Variants"]

# A part of a value that is larger or deeper is drawn as JSON.
_MAX_MEMBERS = 2000
_MAX_NODES = 5000
_MAX_DEPTH = 100
_MAX_TICKS = 12
_MAX_VARIANTS = 8
_PAGE = 100
_INPUTS = {"email": "email", "uri": "url", "date": "date", "password": "password"}
_LONG = re.compile(
    r"(^|[_\W])(content|body|text|code|markdown|message|prompt|script|thought|html|css|sql)s?$",
    re.IGNORECASE,
)
_BOOLEANS = [Choice(True, "true"), Choice(False, "false")]
_CONTAINERS = {"object": dict, "array": list}


class State(Struct, frozen=True, omit_defaults=True):
    """What a person chose in a node: the variants, and how many items are shown."""

    picked: list[Annotated[int, Meta(ge=0)]] = []
    shown: int = _PAGE


class Variants(Struct):
    """A union: the labels of its variants, and which one is drawn."""

    labels: list[str]
    index: int


class FormNode(Struct, omit_defaults=True, rename="camel"):
    """One place of the value. Names are those of the page: what it draws and which buttons."""

    kind: str
    type: str
    title: str = ""
    about: str = ""
    placeholder: str = ""
    example: Any = UNSET
    input: str = ""
    is_tall: bool = False
    is_required: bool = False
    # A property that the schema lists is left out; an extra one is removed.
    is_listed: bool = False
    is_extra: bool = False
    can_be_empty: bool = False
    can_add: bool = False
    choices: list[Choice] | UnsetType = UNSET
    ticks: list[Choice] | UnsetType = UNSET
    variants: list[Variants] = []
    state: State = State()
    # The items that stay at their place.
    fixed: int = 0
    children: dict[str, FormNode] | list[FormNode] | UnsetType = UNSET
    errors: list[str] = []


class FormPlace(Struct):
    """A place of the value with its schema, before and after the choice of variants."""

    path: Path
    # UNSET if it is not filled in.
    value: Any
    outer: Schema
    schema: Schema
    variants: list[tuple[Schema, int]]
    is_listed: bool = False
    is_extra: bool = False
    is_required: bool = False


class Drawing:
    """Makes the nodes of one value. `states` are by place."""

    def __init__(self, checker: Checker, states: Mapping[Path, State]) -> None:
        self._form = checker.form
        self._checker = checker
        self._states = states
        self._count = 0

    def draw(self, faults: list[Fault]) -> FormNode:
        """The tree; `faults` are the errors of the value."""
        by_place: dict[Path, list[Fault]] = {}
        for fault in faults:
            for length in range(len(fault.path) + 1):
                by_place.setdefault(fault.path[:length], []).append(fault)
        value = UNSET if () in self._checker.holes else self._checker.value
        return self._draw(self.open(self._form.root, value, ()), by_place)

    def open(self, source: Schema | bool, value: Any, path: Path, **flags: bool) -> FormPlace:
        """Choose the variants at a place: those that were picked, else the closest ones."""
        picked = self._states[path].picked if path in self._states else []
        schema = outer = self._resolve(source, value, path)
        variants: list[tuple[Schema, int]] = []
        # A union in a union gives a selector each.
        while kind_of(self._form, schema) == "union" and len(variants) < _MAX_VARIANTS:
            options = variant_schemas(self._form, schema)
            level = len(variants)
            if level < len(picked) and picked[level] < len(options):
                index = picked[level]
            else:
                index = self._choose(schema, value, path)
            variants.append((schema, index))
            schema = self._resolve(options[index].schema, value, path)
        return FormPlace(path, value, outer, schema, variants, **flags)

    def child(self, place: FormPlace, key: str | int) -> FormPlace:
        """A place inside of a container, also if nothing is there yet."""
        path, schema = (*place.path, key), place.schema
        value = UNSET if path in self._checker.holes else _member(place.value, key)
        if isinstance(key, int):
            return self.open(item_schema(schema, key), value, path)
        is_required = key in schema.get("required", ())
        is_listed = is_required or key in schema.get("properties", ())
        return self.open(
            property_schema(self._form, schema, key),
            value,
            path,
            is_listed=is_listed,
            is_extra=not is_listed,
            is_required=is_required,
        )

    def _resolve(self, schema: Schema | bool, value: Any, path: Path) -> Schema:
        if value is UNSET:
            return resolve(self._form, schema)
        return self._checker.resolve(schema, value, path)

    def _choose(self, schema: Schema, value: Any, path: Path) -> int:
        if value is UNSET:
            return first_variant(self._form, schema)
        options = variant_schemas(self._form, schema)
        return closest([self._checker.find(each.schema, value, path) for each in options], path)

    def _draw(self, place: FormPlace, faults: dict[Path, list[Fault]]) -> FormNode:
        self._count += 1
        path, value, outer, schema = place.path, place.value, place.outer, place.schema
        if place.variants and path in faults and value is not UNSET:
            faults = self._of_variant(place, faults)
        kind = kind_of(self._form, schema)
        example = _example(outer, schema)
        node = FormNode(
            kind,
            describe_type(self._form, outer) + (", deprecated" if outer.get("deprecated") else ""),
            title=outer.get("title", ""),
            about=_about(outer, schema),
            placeholder=_placeholder(outer, schema, example),
            example=example,
            is_required=place.is_required,
            is_listed=place.is_listed,
            is_extra=place.is_extra,
            variants=[
                Variants(labels_of(self._form, each), index) for each, index in place.variants
            ],
            errors=_own(faults, path),
        )
        state = self._states.get(path)
        if state:
            node.state = State(state.picked[: len(place.variants)], state.shown)
        if kind in _CONTAINERS and isinstance(value, _CONTAINERS[kind]):
            self._draw_inside(node, place, faults)
        elif kind == "choice":
            node.choices = choices_of(self._form, schema)
        elif kind == "boolean":
            node.choices = _BOOLEANS
        elif kind == "string":
            self._draw_text(node, place)
        return node

    def _of_variant(
        self, place: FormPlace, faults: dict[Path, list[Fault]]
    ) -> dict[Path, list[Fault]]:
        """The errors of the chosen variants, which help more than those of the closest one."""
        for union, index in place.variants:
            variant = variant_schemas(self._form, union)[index]
            better = self._checker.find(variant.schema, place.value, place.path)
            if better:
                faults = {}
                for fault in better:
                    for length in range(len(place.path), len(fault.path) + 1):
                        faults.setdefault(fault.path[:length], []).append(fault)
        return faults

    def _draw_text(self, node: FormNode, place: FormPlace) -> None:
        schema, value = place.schema, place.value
        rules = rules_of(self._form, schema)
        node.can_be_empty = rules is None or rules.is_valid("")
        name = place.path[-1] if place.path else ""
        wants_lines = "contentMediaType" in schema or (isinstance(name, str) and _LONG.search(name))
        node.is_tall = "format" not in schema and bool(wants_lines)
        # A date field cannot show what is not a date.
        is_odd = value is not UNSET and "format" in schema and not _has_format(rules, value)
        node.input = "" if is_odd else _INPUTS.get(schema.get("format", ""), "")

    def _draw_inside(
        self, node: FormNode, place: FormPlace, faults: dict[Path, list[Fault]]
    ) -> None:
        schema, value = place.schema, place.value
        listed = dict.fromkeys([*schema.get("properties", ()), *schema.get("required", ())])
        is_large = len(value) + len(listed) > _MAX_MEMBERS and isinstance(value, dict)
        if is_large or self._count > _MAX_NODES or len(place.path) > _MAX_DEPTH:
            node.kind = "any"
            return
        if isinstance(value, list):
            node.ticks = self._ticks(schema, value)
            node.fixed = len(schema.get("prefixItems", ()))
            is_open = item_schema(schema, len(value)) is not False
            node.can_add = is_open and len(value) < schema.get("maxItems", len(value) + 1)
            shown = 0 if node.ticks is not UNSET else min(len(value), node.state.shown)
            node.children = [self._draw(self.child(place, index), faults) for index in range(shown)]
            return
        names = [
            name
            for name in listed
            if name in value or property_schema(self._form, schema, name) is not False
        ]
        names += [name for name in value if name not in listed]
        node.children = {name: self._draw(self.child(place, name), faults) for name in names}
        more = schema.get("additionalProperties")
        if more is None:
            is_bounded = "properties" in schema and "propertyNames" not in schema
            more = not is_bounded or schema.get("minProperties", 0) > len(listed)
        node.can_add = bool(schema.get("patternProperties")) or more is not False

    def _ticks(self, schema: Schema, value: list[Any]) -> list[Choice] | UnsetType:
        """Several values out of a short list, unless order or repetition matters in the value."""
        if "items" not in schema or "prefixItems" in schema:
            return UNSET
        choices = choices_of(self._form, resolve(self._form, schema["items"]))
        if not 0 < len(choices) <= _MAX_TICKS or schema.get("minItems", 0) > len(choices):
            return UNSET
        keys = [key_of(choice.value) for choice in choices]
        places = [keys.index(key) if (key := key_of(item)) in keys else -1 for item in value]
        pairs = zip([-1, *places], places, strict=False)
        return choices if all(before < place for before, place in pairs) else UNSET


def _member(value: Any, key: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(key, UNSET)
    is_there = isinstance(value, list) and isinstance(key, int) and key < len(value)
    return value[key] if is_there else UNSET


def _own(faults: dict[Path, list[Fault]], path: Path) -> list[str]:
    messages = (fault.message for fault in faults.get(path, ()) if fault.path == path)
    return list(dict.fromkeys(messages))


def _example(*schemas: Schema) -> Any:
    listed = [[*part.get("examples", ())[:1], part.get("example", UNSET)] for part in schemas]
    return next((value for values in listed for value in values if value is not UNSET), UNSET)


def _about(outer: Schema, schema: Schema) -> str:
    texts = [outer.get("description"), schema.get("description"), describe_limits(schema)]
    return "\n".join(dict.fromkeys(text for text in texts if text))


def _placeholder(outer: Schema, schema: Schema, example: Any) -> str:
    for part in (outer, schema):
        if part.get("default") is not None:
            return f"default: {text_of(part['default'])}"
    return "" if example is UNSET else f"e.g. {text_of(example)}"


def _has_format(rules: Any, value: Any) -> bool:
    return all(error.kind.name != "format" for error in rules.iter_errors(value))

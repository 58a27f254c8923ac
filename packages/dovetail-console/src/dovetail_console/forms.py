"""`api/form`: the fields for a JSON Schema, and what is wrong with a value; `api/outline`.

Scalars, choices, arrays, objects and unions of these get fields. Everything else (conditions,
tuples, patterns of names, recursion) is kind "any", which the page shows as an editor for JSON.
What is too large to check is not checked here: the server checks what it is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

import jsonschema_rs
from msgspec import UNSET, Meta, Struct, UnsetType

from dovetail import schema as reading
from dovetail.client import find_problems
from dovetail.wire import codec
from dovetail_console.workers import Answer, Job, measure

__all__ = [
    "DrawnField",
    "FormAnswer",
    "FormRequest",
    "answer_form",
    "outline",
    "serve_form",
    "serve_outline",
]

# What is larger or deeper is an editor for JSON.
_MAX_FIELDS = 2000
_MAX_DEPTH = 30
# What takes more work to check is left to the server. jsonschema-rs follows every branch of a union
# again for every branch above, so the work is counted before it is done.
_MAX_NODES = 200_000
_MAX_VALUE_DEPTH = 100
_MAX_PATHS = 10_000
_MAX_WORK = 5_000_000
_MAX_ERRORS = 1000
# Characters of the reason why a schema cannot be used; it may quote the schema.
_MAX_REASON = 300
_UNREADABLE = (ValueError, OverflowError, RecursionError, jsonschema_rs.ReferencingError)

_MAX_TICKS = 12
_CHOICES_SHOWN = 6
# Fields cannot show what these describe.
_NOT_DRAWN = {
    *("$dynamicRef", "additionalItems", "dependencies", "dependentSchemas", "if"),
    *("patternProperties", "prefixItems"),
}
_INPUTS = {"email": "email", "uri": "url", "date": "date", "password": "password"}
_LONG = re.compile(
    r"(^|[_\W])(content|body|text|code|markdown|message|prompt|script|thought|html|css|sql)s?$",
    re.IGNORECASE,
)
# keyword: (words, what is counted)
_LIMITS = {
    "minimum": ("at least", ""),
    "exclusiveMinimum": ("more than", ""),
    "maximum": ("at most", ""),
    "exclusiveMaximum": ("less than", ""),
    "multipleOf": ("a multiple of", ""),
    "minLength": ("at least", "character"),
    "maxLength": ("at most", "character"),
    "minItems": ("at least", "item"),
    "maxItems": ("at most", "item"),
    "minProperties": ("at least", "member"),
    "maxProperties": ("at most", "member"),
}
# Generated schemas state the bounds of 64-bit numbers, which tell a person nothing.
_HUGE = re.compile(r"\d{16}")


class FormRequest(Struct):
    """A schema and, to check it, a value."""

    schema: Any
    value: Any = UNSET
    # Whether optional properties start with their defaults too.
    defaults: bool = False


class FormChoice(Struct):
    """A value that can be chosen."""

    value: Any
    label: str


class DrawnField(Struct, omit_defaults=True, rename="camel"):
    """What the page draws for a value. The names are those of the page."""

    kind: str
    type: str
    # As a variant of a union.
    label: str = ""
    title: str = ""
    about: str = ""
    default: Any = UNSET
    # The value to start with: constants, defaults of required properties and empty containers.
    start: Any = UNSET
    example: Any = UNSET
    # Of a text.
    input: str = ""
    is_tall: bool = False
    # Whether it is the content of a file as base64.
    is_file: bool = False
    can_be_empty: bool = False
    choices: list[FormChoice] = []
    variants: list[DrawnField] = []
    # The variant to start with, the first that is not null.
    first: int = 0
    # Of an array.
    item: DrawnField | UnsetType = UNSET
    has_ticks: bool = False
    max_items: int | UnsetType = UNSET
    # Of an object; `extra` is for properties with names of the person's choice.
    fields: dict[str, DrawnField] = {}
    required: list[str] = []
    extra: DrawnField | UnsetType = UNSET


class FormError(Struct):
    """An error of the value."""

    path: list[str | int]
    message: str


class FormAnswer(Struct, omit_defaults=True):
    """The field for a schema, or the errors of a value."""

    field: DrawnField | UnsetType = UNSET
    errors: list[FormError] | UnsetType = UNSET
    # Why the value was not checked.
    unchecked: str = ""


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


def serve_form(job: Job) -> Answer:
    """Describe a form, or check its value."""
    return Answer(codec.encode(answer_form(job.read(FormRequest, "a schema and its value"))))


def answer_form(asked: FormRequest) -> FormAnswer:
    """The field of the schema; with a value, the errors of the value."""
    if asked.value is UNSET:
        field = _Drawing(asked.schema).draw(asked.schema)
        if asked.defaults and isinstance(field.start, dict):
            presets = {name: each.default for name, each in field.fields.items()}
            presets = {name: value for name, value in presets.items() if value is not UNSET}
            field.start = {**presets, **field.start}
        return FormAnswer(field)
    schema = asked.schema if isinstance(asked.schema, dict) else {"allOf": [asked.schema]}
    try:
        if reason := _why_not_checked(schema, asked.value):
            return FormAnswer(errors=[], unchecked=reason)
        found = find_problems(schema, asked.value)
    except _UNREADABLE as error:
        return FormAnswer(errors=[], unchecked=str(error).partition("\n")[0][:_MAX_REASON])
    errors = [FormError(path, _sentence(expected)) for path, expected in found]
    return FormAnswer(errors=errors[:_MAX_ERRORS])


def _sentence(expected: str) -> str:
    if expected in _SENTENCES:
        return _SENTENCES[expected]
    if expected.startswith("text matching ") and _BASE64 in expected:
        return "must be base64"
    counts = re.search(r"\d (character|item|key)s?$", expected)
    return f"must {'have' if counts else 'be'} {expected}"


# In the patterns that are generated for base64, which tell a person nothing.
_BASE64 = "[A-Za-z0-9+/]"
_SENTENCES = {
    "a value (required)": "is required",
    "no value here": "is not allowed",
    "no such key": "is not allowed",
}


# -- drawing -----------------------------------------------------------------------------------


class _Drawing:
    """Makes the fields of one schema."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._count = 0

    def draw(
        self, given: Any, name: str = "", above: frozenset[str] = frozenset("#"), depth: int = 0
    ) -> DrawnField:
        """The field of a schema; `above` are the references that lead to it."""
        self._count += 1
        schema = reading.resolve(given, self._root)
        passed = reading.references(given, self._root)
        kind = reading.kind(schema, self._root)
        if not above.isdisjoint(passed) or not self._can_draw(schema, depth):
            kind = "any"
        field = DrawnField(kind, "")
        draw = _KINDS.get(kind)
        if draw is not None:
            draw(self, field, schema, above.union(passed), depth + 1)
        if kind == "string":
            _describe_text(field, schema, name)
        _describe(field, schema)
        if kind == "any" and (items := _items(schema)):
            # In words only, which go a few levels deep.
            deep = max(depth + 1, _MAX_DEPTH - 3)
            words = [self.draw(each, "", above, deep).type for each in items[:_CHOICES_SHOWN]]
            field.type = f"[{', '.join(words)}{', …' if len(items) > len(words) else ''}]"
        return field

    def _can_draw(self, schema: reading.Schema, depth: int) -> bool:
        is_tuple = bool(_items(schema))
        is_small = depth < _MAX_DEPTH and self._count < _MAX_FIELDS
        return is_small and not is_tuple and not _NOT_DRAWN & schema.keys()

    def draw_choice(
        self, field: DrawnField, schema: reading.Schema, above: frozenset[str], depth: int
    ) -> None:
        found = reading.choices(schema, self._root)
        field.choices = [FormChoice(value, title or _text(value)) for value, title in found]

    def draw_union(
        self, field: DrawnField, schema: reading.Schema, above: frozenset[str], depth: int
    ) -> None:
        variants = reading.variants(schema, self._root)
        field.variants = [self.draw(each, "", above, depth) for _, each in variants]
        labels = [
            self._label(branch, variant)
            for (branch, _), variant in zip(variants, field.variants, strict=True)
        ]
        is_null = (each.type == "null" and len(each.choices) == 1 for each in field.variants)
        field.first = next((index for index, null in enumerate(is_null) if not null), 0)
        for number, (label, variant) in enumerate(zip(labels, field.variants, strict=True), 1):
            variant.label = label if labels.count(label) == 1 else f"{label} ({number})"

    def _label(self, branch: Any, variant: DrawnField) -> str:
        """The name of a branch: its title, a property that only it has, or its type."""
        if isinstance(branch, str):
            return branch
        resolved = reading.resolve(branch, self._root)
        if isinstance(resolved.get("title"), str):
            return str(resolved["title"])
        for name, inner in variant.fields.items():
            if len(inner.choices) == 1:
                return f"{name}: {inner.choices[0].label}"
        if isinstance(branch, dict) and isinstance(branch.get("$ref"), str):
            return str(branch["$ref"]).rpartition("/")[2]
        names = resolved.get("required")
        if "type" not in resolved and isinstance(names, list):
            return f"with {', '.join(map(str, names))}"
        return variant.type

    def draw_array(
        self, field: DrawnField, schema: reading.Schema, above: frozenset[str], depth: int
    ) -> None:
        item = field.item = self.draw(schema.get("items", True), "", above, depth)
        least = _count(schema, "minItems", 0)
        if "maxItems" in schema:
            field.max_items = _count(schema, "maxItems", _MAX_NODES)
        field.has_ticks = least <= len(item.choices) <= _MAX_TICKS and bool(item.choices)

    def draw_object(
        self, field: DrawnField, schema: reading.Schema, above: frozenset[str], depth: int
    ) -> None:
        given = schema.get("properties")
        listed = given if isinstance(given, dict) else {}
        required = [name for name in _list(schema, "required") if isinstance(name, str)]
        names = [
            name
            for name in dict.fromkeys([*listed, *required])
            if listed.get(name, {}) is not False
        ]
        if len(names) > _MAX_FIELDS:
            field.kind = "any"
            return
        field.required = list(dict.fromkeys(required))
        field.fields = {
            name: self.draw(listed.get(name, True), name, above, depth) for name in names
        }
        more = schema.get("additionalProperties")
        # Of an object with known properties, others are not expected.
        is_open = "properties" not in schema or "propertyNames" in schema
        is_open |= _count(schema, "minProperties", 0) > len(listed)
        if more is not False and (more is not None or is_open):
            field.extra = self.draw(more, "", above, depth)


_KINDS = {
    "choice": _Drawing.draw_choice,
    "union": _Drawing.draw_union,
    "array": _Drawing.draw_array,
    "object": _Drawing.draw_object,
}
_DRAWN = {*_KINDS, "any", "boolean", "integer", "number", "string"}


def _describe(field: DrawnField, schema: reading.Schema) -> DrawnField:
    field.kind = field.kind if field.kind in _DRAWN else "any"
    field.type = _words(field)
    form = "base64" if _is_base64(schema) else schema.get("format")
    if field.kind == "string" and isinstance(form, str):
        field.type = f"string, {form}"
    if schema.get("deprecated") is True:
        field.type += ", deprecated"
    if field.kind == "boolean":
        field.choices = [FormChoice(True, "true"), FormChoice(False, "false")]
    field.title = str(schema.get("title") or "")
    about = [str(schema.get("description") or ""), ", ".join(_limits(schema))]
    field.about = "\n".join(text for text in about if text)
    field.default = schema.get("default", UNSET)
    field.start = _start(field) if field.default is UNSET else field.default
    field.example = next(iter(_list(schema, "examples")), schema.get("example", UNSET))
    return field


def _start(field: DrawnField) -> Any:
    if field.kind == "choice":
        return field.choices[0].value if len(field.choices) == 1 else UNSET
    if field.kind == "union":
        return field.variants[field.first].start
    if field.kind == "object":
        parts = (
            (name, field.fields[name].start) for name in field.required if name in field.fields
        )
        return {name: value for name, value in parts if value is not UNSET}
    return [] if field.kind == "array" else UNSET


def _describe_text(field: DrawnField, schema: reading.Schema, name: str) -> None:
    form = schema.get("format")
    field.can_be_empty = not (form or "pattern" in schema or _count(schema, "minLength", 0))
    wants_lines = "contentMediaType" in schema or _LONG.search(name)
    field.is_tall = form is None and bool(wants_lines)
    field.input = _INPUTS.get(str(form), "")
    field.is_file = _is_base64(schema)


def _words(field: DrawnField, depth: int = 0) -> str:
    """The type in words: "array of integer", "one of a, b"."""
    if depth > 2:
        return "…"
    if field.kind == "choice":
        labels = [choice.label for choice in field.choices]
        more = f", … ({len(labels)})" if len(labels) > _CHOICES_SHOWN else ""
        shown = ", ".join(labels[:_CHOICES_SHOWN]) + more
        return (shown or '""') if len(labels) == 1 else f"one of {shown}"
    if field.kind == "union":
        return " or ".join(dict.fromkeys(_words(each, depth + 1) for each in field.variants))
    inner = field.item if field.kind == "array" else UNSET if field.fields else field.extra
    if isinstance(inner, DrawnField) and inner.type != "any JSON":
        of = _words(inner, depth + 1)
        return f"{field.kind} of ({of})" if " or " in of else f"{field.kind} of {of}"
    return field.type or ("any JSON" if field.kind == "any" else field.kind)


def _limits(schema: reading.Schema) -> Iterator[str]:
    """The limits in words, such as "at least 1"."""
    count = len(_items(schema)) or None
    for keyword, (words, unit) in _LIMITS.items():
        limit = schema.get(keyword)
        # The type of a tuple has its length, and no length is below 0.
        is_said = keyword in ("minItems", "maxItems") and limit == count
        is_said |= keyword.startswith("min") and bool(unit) and limit == 0
        # In draft-04, some limits are true.
        if limit is not None and not isinstance(limit, bool) and not is_said:
            counted = f" {unit}{'' if limit == 1 else 's'}" if unit else ""
            text = f"{words} {_text(limit)}{counted}"
            yield from () if _HUGE.search(text) else (text,)
    if "pattern" in schema and not _is_base64(schema):
        yield f"matches {schema['pattern']}"


def _items(schema: reading.Schema) -> list[Any]:
    """The schemas of the items of a tuple."""
    return _list(schema, "prefixItems") or _list(schema, "items")


def _is_base64(schema: reading.Schema) -> bool:
    return schema.get("contentEncoding") == "base64"


def _list(schema: reading.Schema, keyword: str) -> list[Any]:
    found = schema.get(keyword)
    return found if isinstance(found, list) else []


def _count(schema: reading.Schema, keyword: str, otherwise: int) -> int:
    found = schema.get(keyword)
    return found if isinstance(found, int) and not isinstance(found, bool) else otherwise


def _text(value: Any) -> str:
    """Strings as they are, everything else as JSON; 1.0 is written as 1, as on the page."""
    if isinstance(value, str):
        return value
    is_whole = isinstance(value, float) and value.is_integer()
    return codec.encode(int(value) if is_whole else value).decode()


# -- the outline, for people --------------------------------------------------------------------


def serve_outline(job: Job) -> Answer:
    """Describe one level of a schema."""
    asked = job.read(OutlineRequest, "a schema and a path")
    return Answer(codec.encode({"parts": outline(asked.schema, asked.path)}))


def outline(root: Any, path: list[int]) -> list[OutlinePart]:
    """The parts of the part that `path` leads to; none if there is no such part."""
    schema = reading.resolve(root, root)
    for number in path:
        inside = list(_parts(schema))[number : number + 1]
        if not inside:
            return []
        schema = reading.resolve(inside[0][1], root)
    required = _list(schema, "required")
    return [_outlined(root, name, part, name in required) for name, part in _parts(schema)]


def _parts(schema: reading.Schema) -> Iterator[tuple[str, Any]]:
    listed = schema.get("properties")
    yield from listed.items() if isinstance(listed, dict) else ()
    yield from ((f"item {i}", part) for i, part in enumerate(_list(schema, "prefixItems"), 1))
    if "items" in schema:
        yield "each item", schema["items"]
    branches = _list(schema, "anyOf") or _list(schema, "oneOf")
    yield from ((f"option {i}", part) for i, part in enumerate(branches, 1))


def _outlined(root: Any, name: str, part: Any, is_required: bool) -> OutlinePart:
    schema = reading.resolve(part, root)
    # The words for a type go two levels deep.
    field = _Drawing(root).draw(part, depth=_MAX_DEPTH - 3)
    limits = [
        (keyword, codec.encode(schema[keyword]).decode())
        for keyword in _OUTLINED
        if keyword in schema
    ]
    has_parts = next(_parts(schema), None) is not None
    about = str(schema.get("description") or "")
    return OutlinePart(name, field.type, about, is_required, has_parts, limits)


_OUTLINED = (*_LIMITS, "pattern", "format", "uniqueItems", "default", "const", "enum")


# -- how much work checking is ------------------------------------------------------------------


def _why_not_checked(schema: dict[str, Any], value: Any) -> str:
    """Why a value cannot be checked here in bounded time; empty if it can."""
    nodes, depth = measure(value, _MAX_NODES)
    if nodes > _MAX_NODES or depth > _MAX_VALUE_DEPTH:
        return "it is too large or nested too deeply"
    size, _ = measure(schema, _MAX_NODES)
    if size > _MAX_NODES:
        return "its schema is too large"
    paths = _Paths(schema).count(schema, depth)
    if paths == 0:
        return "its schema has references that only the server follows"
    is_large = paths > _MAX_PATHS or paths * nodes > _MAX_WORK
    return "its schema is too large" if is_large else ""


class _Paths:
    """Counts the ways through a schema on which a value of some depth is checked."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._known: dict[tuple[int, int], int] = {}
        self._is_open = False

    def count(self, schema: Any, depth: int) -> int:
        """The number of ways; 0 if a reference cannot be followed."""
        found = self._count(schema, depth)
        return 0 if self._is_open else found

    def _count(self, schema: Any, depth: int) -> int:
        if not isinstance(schema, dict) or depth < 0:
            return 1
        key = (id(schema), depth)
        if key not in self._known and len(self._known) < _MAX_NODES:
            # A reference that leads to itself at the same place adds nothing.
            self._known[key] = 1
            found = 1 + sum(
                self._count(part, depth if keyword in _IN_PLACE else depth - 1)
                for keyword, part in reading.inner_schemas(schema)
                if keyword not in ("$defs", "definitions")
            )
            for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                if keyword in schema:
                    target = reading.find(str(schema[keyword]), self._root)
                    self._is_open |= target is None or keyword != "$ref"
                    found += self._count(target, depth)
            self._is_open |= "$id" in schema and schema is not self._root
            self._known[key] = min(found, _MAX_WORK)
        return self._known.get(key, _MAX_WORK)


_IN_PLACE = {
    *("allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then"),
}

"""Generates simple values that match a JSON Schema, as arguments for tool calls.

Candidates are generated from the keywords, and the first one that the schema accepts is used. An
unsupported keyword may leave no sample, but it never gives an invalid one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice, product
from typing import Any

from dovetail.schema import Schema, resolve
from dovetail_check.json_schemas import validation_errors
from dovetail_check.sample_scalars import NoSampleError, numbers, texts

__all__ = ["NoSampleError", "sample", "samples"]

_DEPTH = 12
# The number of candidates for the whole schema, and for each part of it.
_MAX_CANDIDATES = 200
_FEW = 4
# Longer arrays and objects are not generated.
_LONGEST = 1000


def sample(schema: Any) -> Any:
    """Return a matching value; raises NoSampleError if none is found."""
    for value in samples(schema):
        return value
    raise NoSampleError(f"no value found that matches {str(schema)[:200]}")


def samples(schema: Any) -> Iterator[Any]:
    """Yield matching values, simple ones first."""
    try:
        for value in islice(_candidates(schema, schema, _DEPTH), _MAX_CANDIDATES):
            if validation_errors(schema, value) == []:
                yield value
    except (NoSampleError, TypeError, ValueError, ArithmeticError, RecursionError):
        # The schema is malformed; stop with the values found so far.
        return


def _candidates(schema: Any, root: Any, depth: int) -> Iterator[Any]:
    if schema is True or schema == {}:
        yield from ("sample", "sample 2", 1)
        return
    if not isinstance(schema, Mapping) or depth == 0:
        return
    schema = resolve(schema, root)
    if "const" in schema:
        yield schema["const"]
        return
    yield from _suggested(schema)
    if isinstance(schema.get("enum"), list):
        yield from schema["enum"]
        return
    branches = list(_branches(schema))
    if branches:
        each = [_candidates(branch, root, depth - 1) for branch in branches]
    else:
        each = [_MAKERS[kind](schema, root, depth) for kind in _types(schema)]
    # The first few candidates of every branch, then the rest.
    yield from chain(*[list(islice(way, _FEW)) for way in each], *each)


def _suggested(schema: Schema) -> Iterator[Any]:
    """Yield the default and the examples."""
    if "default" in schema:
        yield schema["default"]
    if isinstance(schema.get("examples"), list):
        yield from schema["examples"]


def _branches(schema: Schema) -> Iterator[Schema]:
    """Yield what each branch of a union or of a condition requires, together with the rest."""
    for key in ("anyOf", "oneOf"):
        parts = schema.get(key)
        if isinstance(parts, list) and parts:
            rest = {name: value for name, value in schema.items() if name != key}
            yield from ({"allOf": [rest, part]} for part in parts)
            return
    if "if" in schema:
        rest = {name: v for name, v in schema.items() if name not in ("if", "then", "else")}
        yield {"allOf": [rest, schema["if"], schema.get("then", True)]}
        yield {"allOf": [rest, schema.get("else", True)]}


def _types(schema: Schema) -> list[str]:
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind] if kind is not None else _guess(schema)
    known = [one for one in kinds if one in _MAKERS]
    # null tests the least, so it comes last.
    return sorted(known, key=lambda one: one == "null")


_HINTS = {
    "object": ("properties", "required", "minProperties", "patternProperties"),
    "array": ("items", "prefixItems", "minItems", "uniqueItems", "contains"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def _guess(schema: Schema) -> list[str]:
    hinted = [kind for kind, hints in _HINTS.items() if any(hint in schema for hint in hints)]
    return [*hinted, "string", "integer", "object"]


def _arrays(schema: Schema, root: Any, depth: int) -> Iterator[Any]:
    least = _count(schema, "minItems")
    tuple_key = "prefixItems" if "prefixItems" in schema else "items"
    prefix = schema.get(tuple_key)
    prefix = prefix if isinstance(prefix, list) else []
    rest = schema.get("additionalItems" if tuple_key == "items" and prefix else "items", True)
    head = [next(_candidates(part, root, depth - 1), None) for part in prefix]
    if "contains" in schema:
        wanted = max(1, _count(schema, "minContains", 1))
        head += list(islice(_candidates(schema["contains"], root, depth - 1), wanted))
    is_unique = schema.get("uniqueItems") is True
    for length in dict.fromkeys((least, max(least, 1))):
        starts = [head, head[:length], []] if head else [[]]
        for start in starts:
            yield _fill(start, rest, root, depth, length, is_unique)


def _fill(head: list[Any], items: Any, root: Any, depth: int, length: int, unique: bool) -> Any:
    """Append items to the head up to the length."""
    if length > _LONGEST:
        raise NoSampleError(f"an array of {length} items is too long to generate")
    if len(head) >= length:
        return list(head)
    candidates = _candidates(items, root, depth - 1)
    if not unique:
        return [*head, *(list(islice(candidates, 1)) * (length - len(head)))]
    filled = list(head)
    for value in islice(candidates, _LONGEST):
        if len(filled) >= length:
            break
        if not any(_is_same(value, known) for known in filled):
            filled.append(value)
    return filled


def _is_same(one: Any, other: Any) -> bool:
    """JSON equality: True is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _objects(schema: Schema, root: Any, depth: int) -> Iterator[Any]:
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    required = [name for name in schema.get("required") or () if isinstance(name, str)]
    least = _count(schema, "minProperties")
    enough = list(dict.fromkeys([*required, *properties]))[: max(least, len(required))]
    for names in dict.fromkeys((tuple(enough), tuple(dict.fromkeys([*required, *properties])))):
        values = [
            list(islice(_candidates(_schema_of(name, schema), root, depth - 1), _FEW))
            for name in names
        ]
        for chosen in islice(product(*values), _FEW**3):
            made = dict(zip(names, chosen, strict=True))
            yield _padded(made, schema, root, depth, least)


def _schema_of(name: str, schema: Schema) -> Any:
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and name in properties:
        return properties[name]
    extra = schema.get("additionalProperties", True)
    return extra if isinstance(extra, Mapping) else True


def _padded(made: dict[str, Any], schema: Schema, root: Any, depth: int, least: int) -> Any:
    """Add generated members up to `minProperties`."""
    if least > _LONGEST:
        raise NoSampleError(f"an object of {least} members is too large to generate")
    names: Any = schema.get("propertyNames")
    members = schema.get("patternProperties")
    inside: Any = schema.get("additionalProperties", True)
    if isinstance(members, Mapping) and members:
        pattern, inside = next(iter(members.items()))
        names = {"pattern": pattern}
    names_left = texts(names if isinstance(names, Mapping) else {})
    while len(made) < least:
        name = next(names_left, None)
        if name is None:
            break
        made.setdefault(name, next(_candidates(inside, root, depth - 1), None))
    return made


def _count(schema: Schema, key: str, default: int = 0) -> int:
    value = schema.get(key, default)
    return int(value) if isinstance(value, int | float) else default


Maker = Callable[[Schema, Any, int], Iterator[Any]]
_MAKERS: dict[str, Maker] = {
    "string": lambda schema, *_: texts(schema),
    "integer": lambda schema, *_: numbers(schema, whole=True),
    "number": lambda schema, *_: numbers(schema, whole=False),
    "boolean": lambda *_: iter((True, False)),
    "null": lambda *_: iter((None,)),
    "array": _arrays,
    "object": _objects,
}

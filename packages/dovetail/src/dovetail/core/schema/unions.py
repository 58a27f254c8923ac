"""Unions that msgspec does not decode: `str | datetime`, `Path | int`, two dataclasses.

Such a union becomes a class that msgspec does not look into, a *slot*. The JSON Schemas of its
members decide which of them a value is. If several fit, the narrower one is meant: a `Literal` or
`Enum` before a format such as a date, a format before any text, a class before a `dict`, and of two
classes the one that has more of the keys. It is an error at registration if
the members of a union cannot be distinguished this way.
"""

from __future__ import annotations

import functools
import operator
import types
import typing
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, ClassVar

from msgspec import inspect as mi

from dovetail.core.schema import text_formats
from dovetail.core.schema.pydantic_types import TakesAnything
from dovetail.core.schema.references import Schema
from dovetail.errors import InvalidValueError, UsageError

__all__ = ["UnionSlot", "replace_unions"]

_FINITE, _NARROW, _FREE = range(3)
_NUMBERS = {"integer", "number"}
_ALL_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}


class _Member:
    """One type of a union and what its schema says about its values."""

    def __init__(self, name: str, annotation: Any, typed: Any) -> None:
        self.name = name
        self.annotation = annotation
        # The `TypeSchema` of this type alone.
        self.typed = typed
        self.shape: Schema = typed.json_schema
        self.properties: dict[str, Schema] = self.shape.get("properties", {})
        self.required = frozenset(self.shape.get("required", ()))
        self.rank = _rank(self.shape)

    def fits(self, value: Any) -> bool:
        return bool(self.typed.validator.is_valid(value))

    def preference(self, value: Any) -> tuple[int, int]:
        """A key to sort by: the narrowest member first."""
        known = len(self.properties.keys() & value.keys()) if isinstance(value, dict) else 0
        return self.rank, -known

    def is_distinct_from(self, other: _Member) -> bool:
        """Whether the rules above always select one of the two."""
        if self.rank != other.rank or _is_disjoint(self.shape, other.shape):
            return True
        if self.properties and other.properties:
            return self._is_shaped_unlike(other)
        kinds = text_formats.kind_of(self.shape), text_formats.kind_of(other.shape)
        return None not in kinds and kinds[0] != kinds[1]

    def _is_shaped_unlike(self, other: _Member) -> bool:
        if self.required - other.properties.keys() or other.required - self.properties.keys():
            return True
        return any(
            _is_disjoint(
                _resolve(self.properties[key], self.shape),
                _resolve(other.properties[key], other.shape),
            )
            for key in self.required | other.required
        )


class UnionSlot(metaclass=TakesAnything):
    """The class that msgspec decodes in place of a union."""

    members: ClassVar[tuple[_Member, ...]]

    @classmethod
    def fill(cls, value: Any) -> Any:
        """Return a JSON value as the member that it fits; raises ValueError."""
        fitting = [member for member in cls.members if member.fits(value)]
        if not fitting:
            raise ValueError("it fits no type of the union")
        chosen = min(fitting, key=lambda member: member.preference(value))
        try:
            return chosen.typed.convert(value)
        except InvalidValueError as error:
            raise ValueError(str(error)) from None


def replace_unions(annotation: Any, type_schema: Callable[[Any], Any], where: str | None) -> Any:
    """Return the annotation with a slot for each union that msgspec does not decode.

    Raises UsageError, which begins with `where`, if the members of a union cannot be distinguished.
    None for results, which are not decoded.
    """
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        inner = replace_unions(args[0], type_schema, where)
        return annotation if inner is args[0] else typing.Annotated[(inner, *args[1:])]
    if not args or origin is typing.Literal:
        return annotation
    replaced = tuple(replace_unions(arg, type_schema, where) for arg in args)
    if origin in (typing.Union, types.UnionType):
        union = functools.reduce(operator.or_, replaced)
        return union if _is_decodable(union) else _slot(args, replaced, type_schema, where)
    return annotation if replaced == args else origin[replaced]


def _slot(
    written: tuple[Any, ...],
    replaced: tuple[Any, ...],
    type_schema: Callable[[Any], Any],
    where: str | None,
) -> type[UnionSlot]:
    found = tuple(
        _Member(_name_of(name), each, type_schema(each))
        for name, each in zip(written, replaced, strict=True)
    )
    for first, second in combinations(found, 2):
        if where is not None and not first.is_distinct_from(second):
            raise UsageError(
                f"{where}: JSON cannot show whether {first.name} or {second.name} is meant; "
                + _remedy(first, second)
            )

    class Slot(UnionSlot):
        members = found

    Slot.__name__ = "_or_".join(member.name for member in found)
    return Slot


def _remedy(first: _Member, second: _Member) -> str:
    if first.properties and second.properties:
        return (
            "give one of them a required field that the other does not have, or both a required "
            'field with different values (kind: Literal["a"], without a default)'
        )
    return "keep one of them, or make two parameters"


def _is_decodable(annotation: Any) -> bool:
    try:
        mi.type_info(annotation)
    except TypeError:
        return False
    return True


def _name_of(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _resolve(schema: Schema, root: Schema) -> Schema:
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema


def _rank(schema: Schema) -> int:
    if _values(schema) is not None:
        return _FINITE
    if schema.get("type") == "object":
        return _NARROW if "properties" in schema else _FREE
    is_text = schema.get("type") == "string"
    return _FREE if is_text and text_formats.kind_of(schema) is None else _NARROW


def _values(schema: Schema) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _is_disjoint(first: Schema, second: Schema) -> bool:
    values = _values(first), _values(second)
    if values[0] is not None and values[1] is not None:
        return not any(value in values[1] for value in values[0])
    return not set(_types(first)) & set(_types(second))


def _types(schema: Schema) -> Iterator[str]:
    given = schema.get("type", _ALL_TYPES)
    for name in [given] if isinstance(given, str) else given:
        yield "number" if name in _NUMBERS else name

"""The schema of a Python type, and a decoder that accepts exactly the same values.

The typed decoder is the fast path for valid input. The compiled JSON Schema decides in two cases:
the decoder rejects the value, or the type accepts more than its schema. Values that the schema
rejects raise an error with every problem; values that it accepts are converted to the form that
the decoder expects (3.0 becomes 3) and decoded again.
"""

from __future__ import annotations

import collections.abc
import functools
import operator
import types
import typing
from collections.abc import Callable
from typing import Any

import msgspec

from dovetail.core.schema.defaults import decoded_with_defaults
from dovetail.core.schema.json_schema import SchemaWriter, UnionSlot, replace_unions
from dovetail.core.schema.json_values import (
    encode_json,
    integral_floats_to_ints,
    read_json,
    too_deep,
)
from dovetail.core.schema.pydantic_types import encode_model, fill_slot, is_path_type, slot_for
from dovetail.core.schema.references import Schema, assemble
from dovetail.core.schema.validator import SchemaValidator, problems_of_refusal
from dovetail.errors import InvalidValueError, UsageError

__all__ = ["REFUSALS", "TypeSchema", "type_schema", "write_type"]

# What a typed decoder raises for bytes that it rejects.
REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
Repair = Callable[[Any, SchemaValidator], Any]


class TypeSchema:
    """The JSON Schema of a type and the decoder that enforces it."""

    def __init__(
        self,
        decoded_type: Any,
        json_schema: Schema,
        *,
        differs: bool,
        lacks_defaults: bool = False,
        takes_names: bool = False,
        noun: str = "key",
        repair: Repair | None = None,
    ) -> None:
        self.json_schema = json_schema
        self.validator: SchemaValidator = SchemaValidator(json_schema, asserts_formats=True)
        decode = msgspec.json.Decoder(decoded_type, dec_hook=_decode_custom).decode
        self._decode: Callable[[bytes], Any] = (
            decoded_with_defaults(decode) if lacks_defaults else decode
        )
        self._differs = differs
        self._takes_names = takes_names
        self._noun = noun
        self._repair = repair

    def decode(self, raw: bytes) -> Any:
        """Return JSON bytes as a typed value; raises InvalidValueError."""
        try:
            value = self._decode(raw)
        except REFUSALS:
            return self._decide(read_json(raw))
        if self._differs:
            plain = read_json(raw)
            if not self.validator.is_valid(plain) and not self._has_names(value, plain):
                return self._decide(plain)
        return value

    def _has_names(self, value: Any, plain: Any) -> bool:
        """Whether a decoded value is valid with aliases instead of the names of its fields."""
        if not self._takes_names:
            return False
        aliased = read_json(msgspec.json.encode(value, enc_hook=encode_model))
        if isinstance(value, msgspec.Struct) and isinstance(plain, dict):
            # Defaults that were not sent need not match the schema: `x: int = None`.
            aliased = {name: aliased[name] for name in plain if name in aliased}
        return self.validator.is_valid(aliased)

    def convert(self, value: Any) -> Any:
        """Return a JSON value (dicts, lists, scalars) as a typed value."""
        return self.decode(encode_json(value))

    def _decide(self, plain: Any) -> Any:
        problems = self.validator.problems(plain, self._noun)
        if problems and self._repair is not None:
            plain = self._repair(plain, self.validator)
            problems = self.validator.problems(plain, self._noun)
        if problems:
            raise InvalidValueError(problems)
        try:
            return self._decode(msgspec.json.encode(integral_floats_to_ints(plain)))
        except RecursionError:
            raise too_deep() from None
        except msgspec.ValidationError as error:
            raise InvalidValueError(problems_of_refusal(error, plain)) from None


def _decode_custom(cls: Any, value: Any) -> Any:
    """Convert a JSON value to a type that msgspec does not know: its decode hook."""
    if issubclass(cls, UnionSlot):
        return cls.fill(value)
    if is_path_type(cls):
        return cls(value)
    return fill_slot(cls, value)


def type_schema(
    annotation: Any, *, inline_refs: bool = False, where: str | None = None
) -> TypeSchema:
    """Return the schema and the decoder of a type; raises UsageError if there is none."""
    writer = SchemaWriter(is_result=False)
    where = where or f"the type {type_text(annotation)}"
    decoded_type, schema = write_type(annotation, writer, where)
    schema = assemble(schema, writer.definitions, inline_refs=inline_refs)
    typed = TypeSchema(
        decoded_type,
        schema,
        differs=writer.differs,
        lacks_defaults=writer.lacks_defaults,
        takes_names=writer.takes_names,
    )
    if writer.has_foreign_parts:
        typed.validator.compile(where)
    return typed


def write_type(annotation: Any, writer: SchemaWriter, where: str) -> tuple[Any, Schema]:
    """Return the type that msgspec decodes for an annotation, and its schema."""
    try:
        annotation = _without_iterables(annotation)
        decoded_type = slot_for(annotation) or annotation
        try:
            return decoded_type, writer.write(decoded_type)
        except TypeError:
            # msgspec refuses some unions that the JSON Schema can tell apart.
            members = functools.partial(type_schema, where=where)
            decoded_type = replace_unions(annotation, members, None if writer.is_result else where)
            if decoded_type == annotation:
                raise
            return decoded_type, writer.write(decoded_type)
    except (TypeError, NameError) as error:
        raise UsageError(
            f"{where} has no JSON Schema: {type_text(annotation)}: {error}. Use JSON types, a "
            "dataclass, TypedDict, msgspec.Struct, attrs class or pydantic model (in unions inside "
            "a class tagged Structs or models), or write the schema by hand (input_schema=, "
            "output_schema=)"
        ) from None


def _without_iterables(annotation: Any) -> Any:
    """Return the annotation with `list` for `Iterable`, which JSON arrays are read as."""
    if annotation is collections.abc.Iterable or annotation is typing.Iterable:
        return list
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        inner = _without_iterables(args[0])
        return annotation if inner is args[0] else typing.Annotated[(inner, *args[1:])]
    if not args or origin is typing.Literal:
        return annotation
    replaced = tuple(map(_without_iterables, args))
    if origin is collections.abc.Iterable:
        return list[replaced]  # type: ignore[valid-type]
    if replaced == args:
        return annotation
    if origin in (typing.Union, types.UnionType):
        return functools.reduce(operator.or_, replaced)
    return origin[replaced]


def type_text(annotation: Any) -> str:
    """Return an annotation as it is in the source."""
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation)

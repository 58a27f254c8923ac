"""Results of handlers as JSON that matches the advertised output schema.

A result is encoded once and validated by the typed decoder of its annotation. The compiled JSON
Schema validates it instead if the type accepts more than its schema, if decoding would run the
author's code again, and for pydantic types and schemas written by hand. Text, bytes, `None`, `Any`
and content classes have no schema.
"""

from __future__ import annotations

import collections.abc
import copy
import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

import msgspec

from dovetail.core.schema.defaults import store_defaults
from dovetail.core.schema.json_schema import SchemaWriter
from dovetail.core.schema.json_values import encode_json, read_json
from dovetail.core.schema.pydantic_types import PydanticSlot, dump, encode_model
from dovetail.core.schema.references import Schema, assemble
from dovetail.core.schema.typed import TypeSchema, write_type
from dovetail.core.schema.validator import SchemaValidator

__all__ = ["ResultSchema", "result_schema"]

TEXT_LIKE: set[Any] = {
    str,
    bytes,
    bytearray,
    memoryview,
    type(None),
    None,
    Any,
    inspect.Signature.empty,
}
SEQUENCES: set[Any] = {list, tuple, collections.abc.Sequence, collections.abc.Iterable}

# The schema of these types allows every value of exactly this type.
EXACT = (int, bool)

encode_scalar: Callable[[Any], bytes] = msgspec.json.Encoder().encode
encode_plainly: Callable[[Any], bytes] = functools.partial(
    encode_json, encode=msgspec.json.Encoder(enc_hook=encode_model).encode
)


class ResultSchema:
    """The schema of a result, None if it has no structure, and its encoder."""

    def __init__(self, json_schema: Schema | None, encode: Callable[[Any], bytes]) -> None:
        self.json_schema = json_schema
        self.is_object = json_schema is not None and json_schema.get("type") == "object"
        # Returns the JSON of a value; raises InvalidValueError if it does not match the schema.
        self.encode = encode


def result_schema(
    annotation: Any,
    *,
    json_schema: dict[str, Any] | None = None,
    unstructured: tuple[type, ...] = (),
    inline_refs: bool = False,
    where: str = "the result",
) -> ResultSchema:
    """Return the schema of a result; `unstructured` classes are content, also in lists."""
    if json_schema is not None:
        return _by_hand(json_schema, where)
    if _has_no_structure(annotation, unstructured):
        return ResultSchema(None, encode_plainly)
    writer = SchemaWriter(is_result=True)
    decoded_type, schema = write_type(annotation, writer, where)
    schema = assemble(schema, writer.definitions, inline_refs=inline_refs)
    if writer.runs_own_code:
        validator = SchemaValidator(schema, asserts_formats=True)
        if writer.has_foreign_parts:
            validator.compile(where)
        encode = encode_plainly
        if isinstance(decoded_type, type) and issubclass(decoded_type, PydanticSlot):
            encode = functools.partial(
                encode_json, encode=functools.partial(dump, decoded_type.adapter)
            )
        encode = _checked_by(validator.check, encode)
        return ResultSchema(schema, _with_defaults(encode) if writer.lacks_defaults else encode)
    typed = TypeSchema(decoded_type, schema, differs=writer.differs)
    if writer.has_foreign_parts:
        typed.validator.compile(where)

    exact = annotation if annotation in EXACT else None

    def encode_typed(value: Any) -> bytes:
        if type(value) is exact:
            return encode_scalar(value)
        raw = encode_plainly(value)
        typed.decode(raw)
        return raw

    return ResultSchema(
        schema, _with_defaults(encode_typed) if writer.lacks_defaults else encode_typed
    )


def _with_defaults(encode: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    def encode_all(value: Any) -> bytes:
        store_defaults(value)
        return encode(value)

    return encode_all


def _checked_by(
    check: Callable[[Any], None], encode: Callable[[Any], bytes]
) -> Callable[[Any], bytes]:
    def encode_checked(value: Any) -> bytes:
        raw = encode(value)
        check(read_json(raw))
        return raw

    return encode_checked


def _by_hand(json_schema: dict[str, Any], where: str) -> ResultSchema:
    schema = copy.deepcopy(json_schema)
    validator = SchemaValidator(schema, asserts_formats=False)
    validator.compile(where)
    return ResultSchema(schema, _with_defaults(_checked_by(validator.check, encode_plainly)))


def _has_no_structure(annotation: Any, content: tuple[type, ...]) -> bool:
    """Whether it is text or content, or a union of them; a list only with content in it."""
    origin = typing.get_origin(annotation)
    args = typing.get_args(annotation)
    if origin is typing.Annotated:
        return _has_no_structure(args[0], content)
    if origin in (typing.Union, types.UnionType):
        return all(_has_no_structure(arg, content) for arg in args)
    if origin in SEQUENCES:
        items = [arg for arg in args if arg is not ...]
        return all(_has_no_structure(arg, content) for arg in items) and any(
            _mentions(arg, content) for arg in items
        )
    if isinstance(annotation, type) and issubclass(annotation, content):
        return True
    return _is_text_like(annotation)


def _is_text_like(annotation: Any) -> bool:
    try:
        return annotation in TEXT_LIKE
    except TypeError:
        return False  # the annotation is not hashable


def _mentions(annotation: Any, content: tuple[type, ...]) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, content):
        return True
    return any(_mentions(arg, content) for arg in typing.get_args(annotation))

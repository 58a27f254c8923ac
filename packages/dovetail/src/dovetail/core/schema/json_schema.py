"""Generate JSON Schema 2020-12 from the type tree that msgspec decodes with.

The schemas that msgspec generates are not used, because they differ from what its decoders accept
(a naive `datetime`, the digits of a `Decimal`, the keys of `dict[int, ...]`). If a decoder accepts
more than the schema, the writer sets `differs` and values are validated against the schema too.
If it accepts less (3.0 for an integer), the slow path of `typed.py` converts the value.

Some unions are not decoded by msgspec: `str | datetime`, `Path | int`, two dataclasses. Such a
union becomes a class that msgspec does not look into, a *slot*. The JSON Schemas of its members
decide which of them a value is. If several fit, the narrower one is meant: a `Literal` or `Enum`
before a format such as a date, a format before any text, a class before a `dict`, and of two
classes the one that has more of the keys. It is an error at registration if the members of a union
cannot be distinguished this way.
"""

from __future__ import annotations

import enum
import functools
import inspect
import operator
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Any, ClassVar

import msgspec
from msgspec import inspect as mi

from dovetail.core.schema import text_formats
from dovetail.core.schema.defaults import needs_defaults, refuse_shared_defaults
from dovetail.core.schema.docstrings import parse_docstring
from dovetail.core.schema.pydantic_types import (
    TakesAnything,
    encode_model,
    is_path_type,
    model_schema,
    text_in,
)
from dovetail.core.schema.references import Definitions, Schema, reference_to, rename_references
from dovetail.errors import InvalidValueError, UsageError

__all__ = ["SchemaWriter", "UnionSlot", "default_json", "replace_unions"]

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
        _Member(_type_name(name), each, type_schema(each))
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


def _type_name(annotation: Any) -> str:
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


# Keywords of Meta(extra_json_schema=...) that do not restrict values.
NOTES = {"$comment", "default", "deprecated", "description", "examples", "title"}
FieldsType = mi.StructType | mi.DataclassType | mi.TypedDictType | mi.NamedTupleType
NUMBER_LIMITS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}


class SchemaWriter:
    """Generates the schemas of several types with common definitions."""

    def __init__(self, *, is_result: bool) -> None:
        self.definitions: Definitions = {}
        self.differs: bool = False
        # A pattern or a schema by the author: it may be invalid.
        self.has_foreign_parts: bool = False
        # Objects that msgspec decodes may lack defaults, or share mutable ones.
        self.lacks_defaults: bool = False
        # A model accepts names of fields besides their aliases, which the schema has.
        self.takes_names: bool = False
        # Decoding runs code of the author, which must not run a second time for results.
        self.runs_own_code: bool = False
        self.is_result = is_result
        self._names: dict[Any, str] = {}
        # msgspec sorts the values of a Literal; forms show choices in the order of the source.
        self._literals: dict[frozenset[tuple[type, Any]], list[Any]] = {}
        self._writers: dict[type, Callable[[Any], Schema]] = {
            mi.AnyType: lambda t: {},
            mi.RawType: lambda t: {},
            mi.NoneType: lambda t: {"type": "null"},
            mi.BoolType: lambda t: {"type": "boolean"},
            mi.IntType: self._number,
            mi.FloatType: self._number,
            mi.StrType: self._text,
            mi.BytesType: self._bytes,
            mi.ByteArrayType: self._bytes,
            mi.MemoryViewType: self._bytes,
            mi.DateTimeType: self._date_time,
            mi.TimeType: lambda t: self._stricter(text_formats.time_text(offset=t.tz)),
            mi.DateType: lambda t: {"type": "string", "format": "date"},
            mi.TimeDeltaType: lambda t: self._stricter(text_formats.duration_text()),
            mi.UUIDType: lambda t: self._stricter({"type": "string", "format": "uuid"}),
            mi.DecimalType: lambda t: self._stricter(text_formats.decimal_text()),
            mi.ListType: self._array,
            mi.VarTupleType: self._array,
            mi.SetType: self._set,
            mi.FrozenSetType: self._set,
            mi.TupleType: self._tuple,
            mi.DictType: self._dict,
            mi.UnionType: lambda t: {"anyOf": [self._write(part) for part in t.types]},
            mi.LiteralType: self._literal,
            mi.EnumType: self._enum,
            mi.StructType: self._defined,
            mi.DataclassType: self._defined,
            mi.TypedDictType: self._defined,
            mi.NamedTupleType: self._defined,
            mi.CustomType: self._custom,
        }

    def write(self, annotation: Any) -> Schema:
        """Return the schema of a type; raises TypeError or NameError if there is none."""
        self._note_literals(annotation)
        try:
            return self._write(mi.type_info(annotation))
        except (AttributeError, NotImplementedError, RecursionError) as error:
            # msgspec raises these for annotations that are not types.
            raise TypeError(str(error)) from None

    def _write(self, t: mi.Type) -> Schema:
        notes: Schema = {}
        while isinstance(t, mi.Metadata):
            notes = {**notes, **(t.extra_json_schema or {})}
            t = t.type
        if notes.keys() - NOTES:
            self.differs = self.has_foreign_parts = True
        writer = self._writers.get(type(t))
        if writer is None:
            raise TypeError(f"{type(t).__name__} cannot be encoded as JSON")
        return {**writer(t), **notes}

    def _note_literals(self, annotation: Any) -> None:
        parts = typing.get_args(annotation)
        if typing.get_origin(annotation) is typing.Literal:
            self._literals[_literal_key(parts)] = list(parts)
            return
        for part in parts:
            self._note_literals(part)

    def _literal(self, t: mi.LiteralType) -> Schema:
        return _enumeration(self._literals.get(_literal_key(t.values), list(t.values)))

    def _stricter(self, schema: Schema) -> Schema:
        self.differs = True
        return schema

    def _number(self, t: mi.IntType | mi.FloatType) -> Schema:
        schema: Schema = {"type": "integer" if isinstance(t, mi.IntType) else "number"}
        for attribute, keyword in NUMBER_LIMITS.items():
            limit = getattr(t, attribute)
            if limit is not None:
                schema[keyword] = limit
        if t.multiple_of is not None:
            self.differs = True  # the decoder does not check integers beyond 64 bits
        return schema

    def _text(self, t: mi.StrType) -> Schema:
        schema: Schema = {"type": "string", **_lengths(t, "Length")}
        if t.pattern is not None:
            schema["pattern"] = t.pattern
            # Python's `$` and `\d` match more than those of ECMA-262.
            self.differs = self.has_foreign_parts = True
        return schema

    def _bytes(self, t: mi.BytesType) -> Schema:
        return text_formats.base64_text(t.min_length, t.max_length)

    def _date_time(self, t: mi.DateTimeType) -> Schema:
        return self._stricter(text_formats.date_time_text(offset=t.tz, is_result=self.is_result))

    def _array(self, t: mi.CollectionType) -> Schema:
        items = self._write(t.item_type)
        return {"type": "array", **({"items": items} if items else {}), **_lengths(t, "Items")}

    def _set(self, t: mi.CollectionType) -> Schema:
        # The decoder removes duplicates before it checks the length.
        return self._stricter({**self._array(t), "uniqueItems": True})

    def _tuple(self, t: mi.TupleType) -> Schema:
        count = len(t.item_types)
        schema: Schema = {"type": "array", "minItems": count, "maxItems": count}
        if count:
            schema["prefixItems"] = [self._write(item) for item in t.item_types]
        return schema

    def _dict(self, t: mi.DictType) -> Schema:
        schema: Schema = {"type": "object"}
        keys = self._keys(t.key_type)
        if keys:
            schema["propertyNames"] = keys
        values = self._write(t.value_type)
        if values:
            schema["additionalProperties"] = values
        return {**schema, **_lengths(t, "Properties")}

    def _keys(self, t: mi.Type) -> Schema:
        """Return the schema of keys, which are strings in JSON."""
        schema = self._write(t)
        if schema == {} or schema.get("type") == "string":
            return {key: item for key, item in schema.items() if key != "type"}
        if schema == {"type": "integer"}:
            return {"pattern": text_formats.INTEGER_KEY}
        raise TypeError(
            "the keys of a JSON object are strings: use str, int, an Enum of strings or a date"
        )

    def _enum(self, t: mi.EnumType) -> Schema:
        if issubclass(t.cls, enum.Flag):
            raise TypeError(f"{t.cls.__name__} is a Flag: use a set of an Enum")
        if "_missing_" in vars(t.cls):
            self.differs = True  # the decoder accepts what `_missing_` accepts
        return {**_enumeration([member.value for member in t.cls]), **_doc_of(t.cls)}

    def _custom(self, t: mi.CustomType) -> Schema:
        cls: Any = t.cls  # or a generic alias
        if cls is object:
            return {}
        if is_path_type(cls):
            return {"type": "string"}
        if isinstance(cls, type) and issubclass(cls, UnionSlot):
            # Decoding uses the schemas of arguments, so results are validated without it.
            self.runs_own_code = True
            return {"anyOf": [self.write(member.annotation) for member in cls.members]}
        found = model_schema(cls, is_result=self.is_result)
        if found is None:
            raise TypeError(f"{_name_of(t.cls)} is not a type that JSON Schema can describe")
        schema, takes_names = found
        self.takes_names = self.takes_names or takes_names
        self.differs = self.has_foreign_parts = self.runs_own_code = True
        definitions = schema.pop("$defs", {})
        names = {name: self._free_name(name, definitions[name]) for name in definitions}
        for name, definition in definitions.items():
            self.definitions[names[name]] = rename_references(definition, names)
        return rename_references(schema, names)

    def _free_name(self, wanted: str, definition: Schema | None = None) -> str:
        """Return `wanted`, with a number if another type has that name."""
        name, number = wanted, 1
        while name in self.definitions and self.definitions[name] != definition:
            number += 1
            name = f"{wanted}_{number}"
        return name

    def _defined(self, t: FieldsType) -> Schema:
        """Return a reference to the definition of a class with fields, which may be recursive."""
        if t.cls not in self._names:
            name = self._names[t.cls] = self._free_name(_name_of(t.cls))
            self.definitions[name] = {}  # reserved: a field may have this type
            self.definitions[name] = self._fields(t)
        return reference_to(self._names[t.cls])

    def _fields(self, t: FieldsType) -> Schema:
        cls = typing.get_origin(t.cls) or t.cls
        self.runs_own_code = self.runs_own_code or _runs_code(cls)
        if not self.is_result:
            refuse_shared_defaults(cls)
        self.lacks_defaults = self.lacks_defaults or needs_defaults(cls)
        hints = typing.get_type_hints(cls, include_extras=True)
        for hint in hints.values():
            self._note_literals(hint)
        texts = parse_docstring(cls.__doc__).parameters
        order = {name: index for index, name in enumerate(hints)}
        fields = sorted(t.fields, key=lambda field: order.get(field.name, 0))
        if not isinstance(t, mi.TypedDictType):
            fields = list(t.fields)  # only fields of a TypedDict are sorted by name
        properties: dict[str, Schema] = {}
        tag_field = getattr(t, "tag_field", None)
        if tag_field is not None:
            properties[tag_field] = {"const": t.tag}  # type: ignore[union-attr]
        for field in fields:
            schema = self._write(field.type)
            text = text_in(hints.get(field.name)) or texts.get(field.name)
            if text:
                schema["description"] = text
            default = _field_default(field)
            if default is not msgspec.NODEFAULT:
                schema.update(default_json(default, schema))
            properties[field.encode_name] = schema
        required = [field.encode_name for field in fields if field.required]
        if tag_field is not None:
            required.insert(0, tag_field)
        shape = _array_shape if _is_array_like(t) else _object_shape
        return {**_doc_of(cls), **shape(t, properties, required)}


def _object_shape(t: FieldsType, properties: dict[str, Schema], required: list[str]) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if getattr(t, "forbid_unknown_fields", False):
        schema["additionalProperties"] = False
    return schema


def _array_shape(t: FieldsType, properties: dict[str, Schema], required: list[str]) -> Schema:
    schema: Schema = {"type": "array", "prefixItems": list(properties.values())}
    needed = [index for index, name in enumerate(properties) if name in required]
    schema["minItems"] = needed[-1] + 1 if needed else 0
    if isinstance(t, mi.NamedTupleType) or t.forbid_unknown_fields:  # type: ignore[union-attr]
        schema["maxItems"] = len(properties)
    return schema


def _is_array_like(t: FieldsType) -> bool:
    return isinstance(t, mi.NamedTupleType) or getattr(t, "array_like", False)


def _lengths(t: Any, unit: str) -> Schema:
    schema: Schema = {}
    if t.min_length is not None:
        schema[f"min{unit}"] = t.min_length
    if t.max_length is not None:
        schema[f"max{unit}"] = t.max_length
    return schema


def _literal_key(values: Iterable[Any]) -> frozenset[tuple[type, Any]]:
    return frozenset((type(value), value) for value in values)


def _enumeration(values: list[Any]) -> Schema:
    kinds = {bool: "boolean", int: "integer", str: "string"}
    found = {kinds.get(type(value)) for value in values}
    kind = found.pop() if len(found) == 1 else None
    return {**({"type": kind} if kind else {}), "enum": values}


def _field_default(field: mi.Field) -> Any:
    if field.default_factory in (list, dict, set, frozenset, tuple):
        return field.default_factory()
    return field.default


def default_json(default: Any, schema: Schema) -> Schema:
    """Return `{"default": ...}` if it is JSON and the schema allows it, else `{}`."""
    try:
        shown = msgspec.to_builtins(default, str_keys=True, enc_hook=encode_model)
    except (TypeError, ValueError, msgspec.MsgspecError):
        return {}
    if shown is None and not _allows_null(schema):
        return {}  # `x: int = None`: the default is None, but null is not allowed
    return {"default": shown}


def _allows_null(schema: Schema) -> bool:
    if "anyOf" in schema:
        return any(_allows_null(part) for part in schema["anyOf"])
    if "enum" in schema:
        return None in schema["enum"]
    return "$ref" not in schema and schema.get("type", "null") == "null"


def _runs_code(cls: type) -> bool:
    return (
        hasattr(cls, "__post_init__")
        or hasattr(cls, "__attrs_post_init__")
        or any(field.validator is not None for field in getattr(cls, "__attrs_attrs__", ()))
    )


def _doc_of(cls: type) -> Schema:
    """Return the docstring of the author, not one that is generated or inherited."""
    doc = vars(cls).get("__doc__")
    if not doc or doc == "An enumeration." or doc.startswith((f"{cls.__name__}(", "Alias for ")):
        return {}
    summary = parse_docstring(inspect.cleandoc(doc)).summary
    return {"description": summary} if summary else {}


def _name_of(cls: Any) -> str:
    args = typing.get_args(cls)
    name = getattr(typing.get_origin(cls) or cls, "__name__", str(cls))
    name += "".join(f"_{_name_of(arg)}" for arg in args)
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name)

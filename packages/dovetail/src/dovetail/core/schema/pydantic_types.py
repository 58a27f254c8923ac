"""Pydantic models and fields in annotations.

An annotation that contains anything of pydantic is passed to a `TypeAdapter` as a whole: its
schema is advertised and its strict JSON validation enforced. For msgspec it is an opaque class, a
*slot*, that the decode hook fills. Models inside a `Struct` or an attrs class, which pydantic does
not support, are filled one by one in the same way.

This module does not import pydantic: without an author's model there is nothing to do.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import typing
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from dovetail.core.schema.docstrings import parse_docstring
from dovetail.core.schema.json_values import read_json
from dovetail.core.schema.references import map_schemas
from dovetail.core.schema.text_formats import (
    date_time_text,
    duration_of_pydantic,
    duration_text,
    time_text,
)
from dovetail.core.schema.validator import problems_of_details
from dovetail.errors import InvalidValueError, UsageError

if TYPE_CHECKING:
    import pydantic
    from pydantic.fields import FieldInfo

__all__ = [
    "PydanticSlot",
    "TakesAnything",
    "adapter_of",
    "default_maker",
    "dump",
    "encode_model",
    "fill_slot",
    "is_path_type",
    "model_schema",
    "shown_default",
    "slot_for",
    "split_field_default",
    "text_in",
]


LIMITS = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length", "tz")


# Marks the schema of a model that accepts names of fields besides their aliases.
BY_NAME = "by_name"

# Factories that always make the same value.
_EMPTY = (bool, dict, float, frozenset, int, list, set, str, tuple)
_UNKNOWN = object()


class TakesAnything(type):
    """msgspec checks that the hook returned an instance of the class; accept any value."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return True


class PydanticSlot(metaclass=TakesAnything):
    """The class that msgspec decodes in place of an annotation of pydantic."""

    adapter: ClassVar[pydantic.TypeAdapter[Any]]


def slot_for(annotation: Any) -> type[PydanticSlot] | None:
    """Return the slot for an annotation with a part of pydantic, None for any other."""
    if "annotated_types" not in sys.modules:
        return None  # pydantic imports it, so pydantic is not loaded either
    parts = list(_parts(annotation, set()))
    foreign = [part for is_pydantic, part in parts if is_pydantic]
    if not foreign:
        return None
    if "pydantic" not in sys.modules:
        raise TypeError(f"{foreign[0]!r} needs pydantic; use msgspec.Meta instead")
    if any(_is_closed_to_pydantic(part) for _, part in parts):
        _refuse_fields_of_pydantic(foreign)
        return None
    _refuse_limits_of_msgspec([part for _, part in parts])
    new_adapter = _new_adapter(annotation)

    class Slot(PydanticSlot):
        adapter = new_adapter

    Slot.__name__ = getattr(annotation, "__name__", Slot.__name__)
    return Slot


def _refuse_fields_of_pydantic(foreign: list[Any]) -> None:
    """Raise TypeError for constraints that would have no effect."""
    for part in foreign:
        if not isinstance(part, type):
            raise TypeError(
                f"pydantic's {part!r} has no effect inside a msgspec.Struct or an attrs class; "
                "use msgspec.Meta there"
            )


def _refuse_limits_of_msgspec(parts: list[Any]) -> None:
    for part in parts:
        limits = [getattr(part, name, None) for name in LIMITS]
        if isinstance(part, msgspec.Meta) and any(limit is not None for limit in limits):
            raise TypeError(f"{part!r} has no effect beside pydantic; use pydantic.Field")


def _parts(annotation: Any, seen: set[Any]) -> Iterator[tuple[bool, Any]]:
    """Yield every class and every piece of metadata, and whether it is of pydantic."""
    for metadata in getattr(annotation, "__metadata__", ()):
        module = type(metadata).__module__.partition(".")[0]
        yield module in ("pydantic", "annotated_types") or _has_hook(metadata), metadata
    supertype = getattr(annotation, "__supertype__", None)
    origin = typing.get_origin(annotation)
    for part in (supertype, *typing.get_args(annotation)):
        if part is not None and not isinstance(part, list | str):
            yield from _parts(part, seen)
    cls = origin if isinstance(origin, type) else annotation
    if not isinstance(cls, type) or cls in seen:
        return
    seen.add(cls)
    if _has_hook(cls):
        yield True, cls
        return
    yield False, cls
    if _has_fields(cls):
        for hint in _hints(cls).values():
            yield from _parts(hint, seen)


def _has_hook(item: Any) -> bool:
    return hasattr(item, "__get_pydantic_core_schema__") or hasattr(item, "__pydantic_validator__")


def _has_fields(cls: type) -> bool:
    return (
        dataclasses.is_dataclass(cls)
        or _is_closed_to_pydantic(cls)
        or hasattr(cls, "__total__")  # a TypedDict, also of typing_extensions
        or hasattr(cls, "_fields")
    )


def _is_closed_to_pydantic(part: Any) -> bool:
    return isinstance(part, type) and (
        issubclass(part, msgspec.Struct) or hasattr(part, "__attrs_attrs__")
    )


def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except NameError:
        # The code that compiles the class reports the missing name.
        return {}


def _new_adapter(annotation: Any) -> pydantic.TypeAdapter[Any]:
    pydantic = sys.modules["pydantic"]
    try:
        return pydantic.TypeAdapter(annotation)  # type: ignore[no-any-return]
    except (pydantic.errors.PydanticUserError, NameError) as error:
        raise TypeError(str(error).partition("\n")[0]) from None


_adapters: dict[type, pydantic.TypeAdapter[Any]] = {}


def adapter_of(cls: Any) -> pydantic.TypeAdapter[Any] | None:
    """Return the adapter of a slot or a model class, None for any other class."""
    if not isinstance(cls, type):
        return None
    if issubclass(cls, PydanticSlot):
        return cls.adapter
    if not _has_hook(cls):
        return None
    if cls not in _adapters:
        _adapters[cls] = _new_adapter(cls)
    return _adapters[cls]


def fill_slot(cls: type, value: Any) -> Any:
    """Validate a JSON value strictly with pydantic: the decode hook of msgspec."""
    adapter = adapter_of(cls)
    if adapter is None:
        return value  # `object`: anything fits
    return adapter.validate_json(msgspec.json.encode(value), strict=True)


def model_schema(cls: type, *, is_result: bool) -> tuple[dict[str, Any], bool] | None:
    """Return the JSON Schema of a slot or a model with its `$defs`, None for other classes.

    Also returns whether a model in it accepts names of fields besides their aliases.
    """
    adapter = adapter_of(cls)
    if adapter is None:
        return None
    errors = sys.modules["pydantic"].errors
    try:
        schema = adapter.json_schema(
            mode="serialization" if is_result else "validation",
            ref_template="#/$defs/{model}",
            schema_generator=_schema_generator(),
        )
    except errors.PydanticUserError as error:
        raise TypeError(str(error).partition("\n")[0]) from None
    if schema.get("title") == cls.__name__:
        del schema["title"]
    return _without_noise(schema, is_result)


@functools.cache
def _schema_generator() -> Any:
    """Return the class that generates schemas, with all descriptions that classes have."""
    base: Any = sys.modules["pydantic"].json_schema.GenerateJsonSchema

    class Generator(base):  # type: ignore[misc]
        def model_schema(self, schema: Any) -> Any:
            return _described(schema, super().model_schema(schema))

        def dataclass_schema(self, schema: Any) -> Any:
            return _described(schema, super().dataclass_schema(schema))

        def typed_dict_schema(self, schema: Any) -> Any:
            return _described(schema, super().typed_dict_schema(schema))

    return Generator


def _described(core_schema: Any, json_schema: dict[str, Any]) -> dict[str, Any]:
    """Add the texts that pydantic does not read: in `Annotated`, `Meta` and the docstring."""
    cls = core_schema.get("cls")
    if cls is None:
        return json_schema
    config = getattr(cls, "model_config", None) or getattr(cls, "__pydantic_config__", None) or {}
    if config.get("populate_by_name") or config.get("validate_by_name"):
        json_schema[BY_NAME] = True
    doc = parse_docstring(vars(cls).get("__doc__"))
    if doc.parameters and "description" in json_schema:
        del json_schema["description"]
        if doc.summary:
            json_schema["description"] = doc.summary
    properties = json_schema.get("properties", {})
    for name, hint in _hints(cls).items():
        text = text_in(hint) or doc.parameters.get(name)
        for key in _names_in_json(cls, name, hint) if text else ():
            if key in properties:
                properties[key].setdefault("description", text)
    return json_schema


def _names_in_json(cls: Any, name: str, hint: Any) -> set[str]:
    fields = [*getattr(hint, "__metadata__", ()), getattr(cls, "__pydantic_fields__", {}).get(name)]
    aliases = {
        getattr(field, kind, None)
        for field in fields
        for kind in ("alias", "validation_alias", "serialization_alias")
    }
    return {name, *(alias for alias in aliases if isinstance(alias, str))}


def _without_noise(schema: dict[str, Any], is_result: bool) -> tuple[dict[str, Any], bool]:
    """Remove titles that repeat a name, and use the framework's schemas for times.

    Also returns whether a model accepts names of fields besides their aliases.
    """
    takes_names = False
    time_texts = {
        # Pydantic uses formats that its own values violate: naive times, long durations.
        "date-time": date_time_text(offset=None, is_result=is_result),
        "duration": duration_of_pydantic() if is_result else duration_text(),
        "time": time_text(),
    }

    def clean(part: dict[str, Any]) -> dict[str, Any]:
        if part.pop(BY_NAME, False):
            nonlocal takes_names
            takes_names = True
        for group in ("properties", "$defs"):
            for name, item in part.get(group, {}).items():
                if item.get("title") in (name, name.replace("_", " ").title()):
                    del item["title"]
        if part.get("format") in time_texts:
            text = time_texts[part.pop("format")]
            part.update(text)
        return part

    return map_schemas(schema, clean), takes_names


def dump(adapter: pydantic.TypeAdapter[Any], value: Any) -> bytes:
    """Return the JSON of a result; dicts and lists that match the model are accepted too."""
    core = sys.modules["pydantic_core"]
    try:
        return adapter.dump_json(value, by_alias=True, warnings="error")
    except core.PydanticSerializationError:
        raw = core.to_json(value, by_alias=True)
    try:
        typed = adapter.validate_json(raw, strict=True)
    except core.ValidationError as error:
        raise InvalidValueError(problems_of_details(error.errors(), read_json(raw))) from None
    return adapter.dump_json(typed, by_alias=True)


def is_path_type(cls: Any) -> bool:
    """Whether it is `pathlib.Path` or the like, text in JSON.

    Not imported for the check: `pathlib` reads and writes files, and this layer does neither.
    """
    return hasattr(cls, "__fspath__") and not inspect.isabstract(cls)


def encode_model(value: Any) -> Any:
    """Encode a model or a path inside another value: the encode hook of msgspec."""
    if is_path_type(type(value)):
        return value.__fspath__()
    adapter = adapter_of(type(value))
    if adapter is None:
        raise TypeError(f"{type(value).__name__} cannot be encoded as JSON")
    return adapter.dump_python(value, mode="json", by_alias=True, warnings="error")


def split_field_default(
    annotation: Any, default: Any, missing: Any
) -> tuple[Any, FieldInfo | None]:
    """Move `Field(gt=0)` from the default into the annotation.

    Also returns the `Field` that defines the default, None if the default is a value.
    """
    fields = sys.modules.get("pydantic.fields")
    if fields is None:
        return annotation, None
    if isinstance(default, fields.FieldInfo):
        return typing.Annotated[annotation, default], default
    if default is not missing:
        return annotation, None
    for metadata in reversed(getattr(annotation, "__metadata__", ())):
        if isinstance(metadata, fields.FieldInfo) and not metadata.is_required():
            return annotation, metadata
    return annotation, None


def default_maker(field: FieldInfo, where: str) -> Callable[[], Any]:
    """Return what makes the default of a `Field` for one call; raises UsageError."""
    if field.default_factory_takes_validated_data:
        raise UsageError(f"{where}: the default_factory of a parameter takes no arguments")
    return functools.partial(field.get_default, call_default_factory=True)


def shown_default(field: FieldInfo) -> Any:
    """Return the default of a `Field` for its schema, an object that is not JSON for none."""
    factory: Any = field.default_factory
    if factory is None:
        return field.get_default()
    # A factory of the author is not called: it may count, or read a clock.
    return factory() if factory in _EMPTY else _UNKNOWN


def text_in(annotation: Any) -> str | None:
    """Return the description in `Annotated[T, "text"]`, a msgspec `Meta` or a pydantic `Field`."""
    for metadata in getattr(annotation, "__metadata__", ()):
        if isinstance(metadata, str):
            return metadata
        text = metadata.description if isinstance(metadata, msgspec.Meta) else None
        text = text or _text_of_field(metadata)
        if text:
            return text
    return None


def _text_of_field(metadata: Any) -> str | None:
    """Return the description of a pydantic `Field`."""
    fields = sys.modules.get("pydantic.fields")
    if fields is None or not isinstance(metadata, fields.FieldInfo):
        return None
    return typing.cast("str | None", metadata.description)

"""Pydantic models and fields in annotations, for servers whose author uses pydantic.

An annotation with anything of pydantic in it is handed to a `TypeAdapter` as a whole: its
schema is advertised and its strict JSON validation enforced. To msgspec it is an opaque
class, a *slot*, that the decode hook fills. Models inside a `Struct` or an attrs class, which
pydantic cannot enter, are filled the same way one by one.

Pydantic is never the first to be loaded here: without a model there is nothing to do.
"""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from dovetail.core.schema.json_values import read_json
from dovetail.core.schema.problems import problems_of_details
from dovetail.core.schema.references import map_schemas
from dovetail.core.schema.text_formats import (
    date_time_text,
    duration_of_pydantic,
    duration_text,
    time_text,
)
from dovetail.errors import InvalidValueError

if TYPE_CHECKING:
    import pydantic
    from pydantic.fields import FieldInfo

__all__ = [
    "PydanticSlot",
    "adapter_of",
    "default_of",
    "dump",
    "encode_model",
    "fill_slot",
    "model_schema",
    "slot_for",
    "split_field_default",
    "text_of_field",
]


LIMITS = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length", "tz")


class _TakesAnything(type):
    """msgspec asks whether the hook gave an instance of the class; what pydantic gives is right."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return True


class PydanticSlot(metaclass=_TakesAnything):
    """What msgspec sees in the place of an annotation that pydantic decodes."""

    adapter: ClassVar[pydantic.TypeAdapter[Any]]


def slot_for(annotation: Any) -> type[PydanticSlot] | None:
    """The slot for an annotation with something of pydantic in it; None when there is nothing."""
    if "annotated_types" not in sys.modules:
        return None  # pydantic loads it, so there is nothing of either
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
    """A constraint that nobody reads must not look as if it held."""
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
    """Every class and every piece of metadata, and whether it is pydantic's."""
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
        or hasattr(cls, "__total__")  # a TypedDict, that of typing_extensions as well
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
        # Whoever compiles the class next reports the name that is missing.
        return {}


def _new_adapter(annotation: Any) -> pydantic.TypeAdapter[Any]:
    pydantic = sys.modules["pydantic"]
    try:
        return pydantic.TypeAdapter(annotation)  # type: ignore[no-any-return]
    except (pydantic.errors.PydanticUserError, NameError) as error:
        raise TypeError(str(error).partition("\n")[0]) from None


_adapters: dict[type, pydantic.TypeAdapter[Any]] = {}


def adapter_of(cls: Any) -> pydantic.TypeAdapter[Any] | None:
    """The adapter of a slot or of a model class; None for any other class."""
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
    """msgspec's decode hook: the JSON value as pydantic reads it, strictly."""
    adapter = adapter_of(cls)
    if adapter is None:
        return value  # `object`: anything fits
    return adapter.validate_json(msgspec.json.encode(value), strict=True)


def model_schema(cls: type, *, is_result: bool) -> dict[str, Any] | None:
    """The JSON Schema of a slot or a model, its `$defs` inside; None for any other class."""
    adapter = adapter_of(cls)
    if adapter is None:
        return None
    errors = sys.modules["pydantic"].errors
    try:
        schema = adapter.json_schema(
            mode="serialization" if is_result else "validation", ref_template="#/$defs/{model}"
        )
    except errors.PydanticUserError as error:
        raise TypeError(str(error).partition("\n")[0]) from None
    if schema.get("title") == cls.__name__:
        del schema["title"]
    return _without_noise(schema, is_result)


def _without_noise(schema: dict[str, Any], is_result: bool) -> dict[str, Any]:
    """No titles that repeat a name, and texts of time as the rest of the framework tells them."""
    time_texts = {
        # Pydantic names formats that its own values do not keep: naive times, long durations.
        "date-time": date_time_text(offset=None, is_result=is_result),
        "duration": duration_of_pydantic() if is_result else duration_text(),
        "time": time_text(),
    }

    def clean(part: dict[str, Any]) -> dict[str, Any]:
        for group in ("properties", "$defs"):
            for name, item in part.get(group, {}).items():
                if item.get("title") in (name, name.replace("_", " ").title()):
                    del item["title"]
        if part.get("format") in time_texts:
            text = time_texts[part.pop("format")]
            part.update(text)
        return part

    cleaned: dict[str, Any] = map_schemas(schema, clean)
    return cleaned


def dump(adapter: pydantic.TypeAdapter[Any], value: Any) -> bytes:
    """The JSON of a result; plain dicts and lists that fit the model are taken as well."""
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


def encode_model(value: Any) -> Any:
    """msgspec's encode hook: a model inside something else."""
    adapter = adapter_of(type(value))
    if adapter is None:
        raise TypeError(f"{type(value).__name__} has no form in JSON")
    return adapter.dump_python(value, mode="json", by_alias=True, warnings="error")


def split_field_default(annotation: Any, default: Any) -> tuple[Any, bool]:
    """`x: int = Field(gt=0)`: the field moves into the annotation. True when that was done."""
    fields = sys.modules.get("pydantic.fields")
    if fields is None or not isinstance(default, fields.FieldInfo):
        return annotation, False
    return typing.Annotated[annotation, default], True


def default_of(field: FieldInfo, missing: Any) -> Any:
    """What a `Field(...)` in the place of a default stands for."""
    if field.is_required():
        return missing
    return field.get_default(call_default_factory=True)


def text_of_field(metadata: Any) -> str | None:
    """The description of a pydantic `Field`."""
    fields = sys.modules.get("pydantic.fields")
    if fields is None or not isinstance(metadata, fields.FieldInfo):
        return None
    return typing.cast("str | None", metadata.description)

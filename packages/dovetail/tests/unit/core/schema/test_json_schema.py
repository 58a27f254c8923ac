from __future__ import annotations

import datetime
import enum
import typing
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypedDict

import attrs
import msgspec
import pydantic
import pytest

from dovetail.core.schema import type_schema
from dovetail.core.schema.json_schema import SchemaWriter, default_json
from dovetail.errors import UsageError

T = typing.TypeVar("T")
Meta = msgspec.Meta


def schema_of(annotation: Any) -> dict[str, Any]:
    return type_schema(annotation).json_schema


def writer_for(annotation: Any, *, is_result: bool = False) -> SchemaWriter:
    writer = SchemaWriter(is_result=is_result)
    writer.write(annotation)
    return writer


class Color(enum.Enum):
    """What it looks like."""

    RED = "red"
    BLUE = "blue"


class Documented(msgspec.Struct):
    """A thing.

    Attributes:
        size: How large.
        color: Ignored, the annotation says it.
    """

    size: int
    color: Annotated[Color, "Its color"] = Color.RED
    tags: list[str] = msgspec.field(default_factory=list)
    parent: Documented | None = None
    implied: int = None  # type: ignore[assignment]
    opaque: Any = msgspec.field(default_factory=object)


def test_a_class_is_written_with_texts_and_defaults() -> None:
    schema = schema_of(Documented)
    assert schema["description"] == "A thing."
    assert schema["properties"] == {
        "size": {"type": "integer", "description": "How large."},
        "color": {
            "type": "string",
            "enum": ["red", "blue"],
            "description": "Its color",
            "default": "red",
        },
        "tags": {"type": "array", "items": {"type": "string"}, "default": []},
        "parent": {"anyOf": [{"$ref": "#/$defs/Documented"}, {"type": "null"}], "default": None},
        "implied": {"type": "integer"},
        "opaque": {},
    }
    assert schema["required"] == ["size"]


def test_an_enum_shows_its_own_docstring() -> None:
    assert schema_of(Color)["description"] == "What it looks like."


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (Any, {}),
        (object, {}),
        (msgspec.Raw, {}),
        (T, {}),
        (None, {"type": "null"}),
        (Annotated[float, Meta(ge=1, le=2)], {"type": "number", "minimum": 1, "maximum": 2}),
        (Annotated[str, Meta(min_length=1)], {"type": "string", "minLength": 1}),
        (Annotated[list[Any], Meta(max_length=2)], {"type": "array", "maxItems": 2}),
        (Annotated[dict, Meta(min_length=1)], {"type": "object", "minProperties": 1}),
        (
            Annotated[int, Meta(title="T", examples=[1])],
            {"type": "integer", "title": "T", "examples": [1]},
        ),
        (datetime.date, {"type": "string", "format": "date"}),
        (Literal["b", "a"], {"type": "string", "enum": ["b", "a"]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}),
        (dict[str, Any], {"type": "object"}),
    ],
)
def test_types_are_written(annotation: Any, schema: dict[str, Any]) -> None:
    assert schema_of(annotation) == schema


def test_keys_are_text_whatever_they_become() -> None:
    assert schema_of(dict[Color, int])["propertyNames"]["enum"] == ["red", "blue"]
    assert schema_of(dict[datetime.date, int])["propertyNames"] == {"format": "date"}
    assert "pattern" in schema_of(dict[int, int])["propertyNames"]


@pytest.mark.parametrize("key", [bool, float, tuple[int, int], Annotated[int, Meta(ge=0)]])
def test_other_keys_are_usage_errors(key: Any) -> None:
    with pytest.raises(UsageError, match="the keys of a JSON object are strings"):
        type_schema(dict[key, int])


def test_extra_schema_keywords_are_enforced_and_notes_are_not_looked_at() -> None:
    assert writer_for(Annotated[int, Meta(extra_json_schema={"maximum": 5})]).differs
    assert not writer_for(Annotated[int, Meta(extra_json_schema={"deprecated": True})]).differs


def test_what_the_decoder_takes_beyond_the_schema_is_known() -> None:
    differing: list[Any] = [set[int], datetime.datetime, Annotated[int, Meta(multiple_of=2)]]
    exact: list[Any] = [int, list[str], dict[str, float], bytes, datetime.date, Documented]
    assert all(writer_for(annotation).differs for annotation in differing)
    assert not any(writer_for(annotation).differs for annotation in exact)


def test_a_flag_is_a_usage_error() -> None:
    class Right(enum.Flag):
        READ = 1
        WRITE = 2

    with pytest.raises(UsageError, match="Right is a Flag"):
        type_schema(Right)


def test_an_enum_that_takes_more_than_it_lists_is_held_to_its_list() -> None:
    class Lenient(enum.Enum):
        ON = "on"

        @classmethod
        def _missing_(cls, value: object) -> Lenient:
            return cls.ON

    assert writer_for(Lenient).differs


class Cat(msgspec.Struct, tag="cat"):
    lives: int


class Row(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    number: int = 0
    label: str = ""


class Loose(msgspec.Struct, array_like=True):
    number: int
    label: str = ""


class Pair(NamedTuple):
    key: str
    amount: int = 1


class Movie(TypedDict):
    title: str
    actors: NotRequired[list[str]]


class Closed(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    item_count: int = 0


def test_a_tag_is_a_required_constant() -> None:
    schema = schema_of(Cat)
    assert schema["properties"]["type"] == {"const": "cat"}
    assert schema["required"] == ["type", "lives"]


def test_classes_that_travel_as_arrays() -> None:
    row, loose, pair = schema_of(Row), schema_of(Loose), schema_of(Pair)
    assert (row["minItems"], row["maxItems"]) == (0, 2)
    assert (loose["minItems"], "maxItems" in loose) == (1, False)
    assert (pair["minItems"], pair["maxItems"]) == (1, 2)


def test_a_typed_dict_keeps_the_order_of_its_author() -> None:
    schema = schema_of(Movie)
    assert list(schema["properties"]) == ["title", "actors"]
    assert schema["required"] == ["title"]


def test_a_closed_struct_says_so_and_uses_its_wire_names() -> None:
    schema = schema_of(Closed)
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == ["itemCount"]
    assert "required" not in schema


class Box(msgspec.Struct, Generic[T]):
    content: T


def test_generic_classes_are_named_by_their_arguments() -> None:
    schema = schema_of(tuple[Box[int], Box[list[str]]])
    assert set(schema["$defs"]) == {"Box_int", "Box_list_str"}


def test_two_classes_of_one_name_are_kept_apart() -> None:
    def make(kind: Any) -> type:
        return msgspec.defstruct("Same", [("x", kind)])

    schema = schema_of(tuple[make(int), make(str)])  # type: ignore[misc]
    assert set(schema["$defs"]) == {"Same", "Same_2"}


def test_a_model_of_the_same_name_is_kept_apart_as_well() -> None:
    model = pydantic.create_model("Cat", mice=(int, ...))
    outer = pydantic.create_model("Outer", cat=(model, ...))
    both = msgspec.defstruct("Both", [("a", Cat), ("b", outer), ("c", outer)])
    schema = schema_of(both)
    assert schema["$defs"]["Cat"]["required"] == ["type", "lives"]
    assert schema["$defs"]["Cat_2"]["required"] == ["mice"]
    assert schema["properties"]["b"]["properties"]["cat"] == {"$ref": "#/$defs/Cat_2"}
    assert schema["properties"]["c"] == schema["properties"]["b"]


@attrs.define
class Checked:
    number: int = attrs.field(validator=attrs.validators.ge(0))


@attrs.define
class Unchecked:
    number: int


@dataclass
class Prepared:
    number: int
    tags: set[str] = field(default_factory=set)

    def __post_init__(self) -> None: ...


def test_classes_that_run_code_of_their_author_are_known() -> None:
    assert writer_for(Checked).runs_own_code
    assert writer_for(Prepared).runs_own_code
    assert not writer_for(Unchecked).runs_own_code
    assert not writer_for(Documented).runs_own_code


def test_the_docstring_that_dataclass_writes_is_left_out() -> None:
    assert "description" not in schema_of(Prepared)


def test_a_docstring_of_sections_only_is_no_description() -> None:
    class Sections(msgspec.Struct):
        """Args:
        x: An x.
        """

        x: int

    assert "description" not in schema_of(Sections)


def test_a_class_whose_names_are_gone_is_a_usage_error() -> None:
    class Lost(msgspec.Struct):
        x: Vanished  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(UsageError, match="Vanished"):
        type_schema(Lost)


def test_an_attrs_class_that_msgspec_does_not_know_is_a_usage_error() -> None:
    @attrs.define
    class Derived:
        x: int
        y: int = attrs.field(default=attrs.Factory(lambda self: self.x, takes_self=True))

    with pytest.raises(UsageError, match="takes_self"):
        type_schema(Derived)


def test_a_type_of_another_wire_format_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="ExtType cannot be encoded as JSON"):
        type_schema(msgspec.msgpack.Ext)


@pytest.mark.parametrize(
    ("default", "schema", "shown"),
    [
        (None, {}, {"default": None}),
        (None, {"enum": [None, 1]}, {"default": None}),
        (None, {"enum": [1]}, {}),
        (None, {"$ref": "#/$defs/X"}, {}),
        (object(), {}, {}),
        ({1: 2}, {"type": "object"}, {"default": {"1": 2}}),
    ],
)
def test_a_default_is_shown_when_it_can_be_sent(
    default: Any, schema: dict[str, Any], shown: dict[str, Any]
) -> None:
    assert default_json(default, schema) == shown


def test_the_default_of_a_model_is_shown() -> None:
    model = pydantic.create_model("Size", x=(int, 1))
    assert default_json(model(), {}) == {"default": {"x": 1}}

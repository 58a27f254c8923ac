from __future__ import annotations

import datetime
import subprocess
import sys
import typing
from dataclasses import dataclass
from types import GenericAlias
from typing import Annotated, Any, NamedTuple

import annotated_types
import attrs
import msgspec
import pydantic
import pydantic_core
import pytest
import typing_extensions

from dovetail.core.schema import arguments_schema, result_schema, type_schema
from dovetail.core.schema.pydantic_types import (
    adapter_of,
    fill_slot,
    slot_for,
    split_field_default,
    text_in,
)
from dovetail.errors import InvalidValueError, UsageError

Field = pydantic.Field


class Address(pydantic.BaseModel):
    """Where somebody lives."""

    street_name: str
    number: int = Field(gt=0, title="House number")
    since: datetime.datetime | None = None


@dataclass
class Plain:
    x: int


@dataclass
class WithModel:
    address: Address


class WithLocalName(typing_extensions.TypedDict):
    address: Address


class Tuple(NamedTuple):
    address: Address


@attrs.define
class Owner:
    address: Address


class Struct(msgspec.Struct):
    address: Address
    anything: object = None


class StructWithField(msgspec.Struct):
    address: Address
    number: Annotated[int, Field(gt=0)]


Street = typing.NewType("Street", Address)


@pytest.mark.parametrize(
    "annotation",
    [
        Address,
        list[Address],
        Address | int,
        dict[str, Address | None],
        Annotated[int, Field(gt=0)],
        Annotated[int, annotated_types.Gt(0)],
        Annotated[int, pydantic.AfterValidator(lambda value: value)],
        WithModel,
        WithLocalName,
        Tuple,
        Street,
        pydantic.AnyUrl,
    ],
)
def test_anything_of_pydantic_makes_a_slot(annotation: Any) -> None:
    slot = slot_for(annotation)
    assert slot is not None
    assert isinstance(5, slot)


@pytest.mark.parametrize(
    "annotation",
    [
        int,
        list[Plain],
        Plain,
        Annotated[int, msgspec.Meta(ge=0)],
        typing.Literal["a", 1],
        Struct,
        Owner,
    ],
)
def test_anything_else_is_left_to_msgspec(annotation: Any) -> None:
    assert slot_for(annotation) is None


def test_models_inside_classes_that_pydantic_cannot_enter_are_decoded() -> None:
    raw = b'{"address": {"street_name": "x", "number": 3.0}, "anything": [1]}'
    address = Address(street_name="x", number=3)
    assert type_schema(Struct).decode(raw) == Struct(address, [1])
    assert type_schema(Owner).decode(raw) == Owner(address)


def test_a_field_of_pydantic_inside_a_struct_would_have_no_effect() -> None:
    with pytest.raises(UsageError, match=r"use msgspec\.Meta there"):
        type_schema(StructWithField)


def test_a_limit_of_msgspec_beside_pydantic_would_have_no_effect() -> None:
    with pytest.raises(UsageError, match=r"use pydantic\.Field"):
        type_schema(Annotated[list[Address], msgspec.Meta(min_length=1)])
    type_schema(Annotated[list[Address], msgspec.Meta(description="text")])


def test_what_pydantic_cannot_describe_is_a_usage_error() -> None:
    class Odd:
        pass

    with pytest.raises(UsageError, match="Odd"):
        type_schema(Annotated[Odd, Field(description="x")])
    with pytest.raises(UsageError, match="JsonSchema"):
        type_schema(Annotated[typing.Callable[[], int], Field(description="x")])


def test_a_class_whose_names_are_gone_is_a_usage_error() -> None:
    @dataclass
    class Lost:
        x: Vanished  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(UsageError, match="not fully defined"):
        type_schema(tuple[Address, Lost])


def test_titles_that_repeat_a_name_are_left_out() -> None:
    schema = type_schema(Address).json_schema
    assert "title" not in schema
    assert schema["description"] == "Where somebody lives."
    assert schema["properties"]["street_name"] == {"type": "string"}
    assert schema["properties"]["number"]["title"] == "House number"


def test_properties_named_like_keywords_are_left_alone() -> None:
    model = pydantic.create_model("Odd", title=(str, ...), format=(str, "time"), type=(int, 1))
    schema = type_schema(model).json_schema
    assert schema["properties"] == {
        "title": {"type": "string"},
        "format": {"type": "string", "default": "time"},
        "type": {"type": "integer", "default": 1},
    }


def test_adapters_are_kept_per_class_and_only_for_models() -> None:
    assert adapter_of(Address) is adapter_of(Address)
    assert adapter_of(Plain) is None
    assert adapter_of(list[int]) is None
    assert fill_slot(object, 5) == 5


def test_results_are_dumped_by_alias_and_by_their_own_serializers() -> None:
    class Aliased(pydantic.BaseModel):
        size: int = Field(alias="theSize")
        when: Annotated[datetime.timedelta, Field()] = datetime.timedelta(days=400, seconds=1.5)

    schema = result_schema(Aliased)
    assert (
        schema.encode(Aliased.model_validate({"theSize": 1}))
        == b'{"theSize":1,"when":"P1Y35DT1.5S"}'
    )
    assert schema.encode({"theSize": 1, "when": "P1D"}) == b'{"theSize":1,"when":"P1D"}'


def test_a_wrong_result_is_told_with_its_place() -> None:
    schema = result_schema(list[Address])
    with pytest.raises(InvalidValueError) as caught:
        schema.encode([{"street_name": "x", "number": 0}])
    assert str(caught.value).startswith("[0].number: expected")
    with pytest.raises(InvalidValueError, match="number"):
        schema.encode([Address.model_construct(street_name="x", number=-1)])
    with pytest.raises(InvalidValueError, match="JSON can represent"):
        schema.encode([object()])


def test_a_model_inside_a_struct_is_sent() -> None:
    raw = result_schema(Struct).encode(Struct(Address(street_name="x", number=1), None))
    assert msgspec.json.decode(raw)["address"]["number"] == 1


def test_without_pydantic_nothing_of_it_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    field = Field(gt=0, description="text")
    monkeypatch.delitem(sys.modules, "pydantic.fields")
    assert split_field_default(int, field, None) == (int, None)
    assert text_in(Annotated[int, field]) is None
    monkeypatch.delitem(sys.modules, "pydantic")
    with pytest.raises(TypeError, match=r"needs pydantic; use msgspec\.Meta instead"):
        slot_for(Annotated[int, annotated_types.Gt(0)])
    monkeypatch.delitem(sys.modules, "annotated_types")
    assert slot_for(Address) is None


def test_nothing_optional_is_loaded_until_it_is_needed() -> None:
    code = (
        "import sys\n"
        "from dovetail.core.schema import arguments_schema, result_schema\n"
        "def add(a: int, b: int = 1) -> list[int]: ...\n"
        "assert arguments_schema(add).decode(b'{\"a\": 1}') == {'a': 1, 'b': 1}\n"
        "assert result_schema(list[int]).encode([1]) == b'[1]'\n"
        "print([m for m in ('pydantic', 'attrs', 'jsonschema_rs') if m in sys.modules])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def text_fields(kind: str) -> Any:
    """A class of each kind whose fields have texts in four places."""
    doc = """A deal.

    Attributes:
        first: Not this one.
        third: From the docstring.
    """
    hints = {
        "first": Annotated[bool, "Plain"],
        "second": Annotated[int, Field(ge=1, description="Field")],
        "third": Annotated[str, Field(max_length=9)],
        "fourth": Annotated[str, msgspec.Meta(description="Meta")],
        "fifth": Annotated[str, Field(alias="5th"), "Alias"],
    }
    body = {"__annotations__": hints, "__doc__": doc, "__module__": __name__}
    if kind == "model":
        return type("Deal", (pydantic.BaseModel,), body)
    if kind == "typed dict":
        deal: Any = typing_extensions.TypedDict("Deal", hints)  # type: ignore[misc]
        deal.__doc__ = doc
        return deal
    decorate: Any = pydantic.dataclasses.dataclass if "pydantic" in kind else dataclass
    return decorate(type("Deal", (), body))


@pytest.mark.parametrize("kind", ["dataclass", "pydantic dataclass", "typed dict", "model"])
def test_a_field_of_pydantic_leaves_the_texts_of_the_others(kind: str) -> None:
    deal = text_fields(kind)
    for schema in (
        type_schema(deal).json_schema,
        type_schema(GenericAlias(list, deal)).json_schema["$defs"]["Deal"],
        result_schema(deal).json_schema,
    ):
        assert schema is not None and schema["description"] == "A deal."
        texts = {name: each["description"] for name, each in schema["properties"].items()}
        assert texts == {
            "first": "Plain",
            "second": "Field",
            "third": "From the docstring.",
            "fourth": "Meta",
            "5th": "Alias",
        }


class ByName(pydantic.BaseModel):
    model_config = {"populate_by_name": True, "extra": "forbid"}

    item_count: int = Field(alias="itemCount", gt=0)
    inner: list[ByName] = Field(alias="innerItems", default_factory=list)


@pytest.mark.parametrize("annotation", [ByName, list[ByName], ByName | None, dict[str, ByName]])
def test_a_model_may_accept_names_of_fields(annotation: Any) -> None:
    def wrap(text: str) -> bytes:
        origin = typing.get_origin(annotation)
        return {list: f"[{text}]", dict: f'{{"a": {text}}}'}.get(origin, text).encode()

    def tool(value: Any, number: int = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013

    tool.__annotations__["value"] = annotation
    typed = type_schema(annotation)
    with_aliases = '{"itemCount": 1, "innerItems": [{"itemCount": 2}]}'
    expected = typed.decode(wrap(with_aliases))
    for text in (
        with_aliases,
        '{"item_count": 1, "inner": [{"itemCount": 2}]}',
        '{"item_count": 1, "innerItems": [{"item_count": 2}]}',
    ):
        assert typed.decode(wrap(text)) == expected
        arguments = b'{"value": %b}' % wrap(text)
        assert arguments_schema(tool).decode(arguments)["value"] == expected
    for text in ('{"item_count": 0}', '{"item_count": 1, "other": 2}', '{"item_count": "1"}', "{}"):
        with pytest.raises(InvalidValueError):
            typed.decode(wrap(text))
    assert "item_count" not in str(typed.json_schema)


def test_a_class_without_a_summary_or_a_name_keeps_its_fields() -> None:
    class Bare(pydantic.BaseModel):
        """
        Attributes:
            a: The a.
        """

        a: int

    schema = type_schema(Bare).json_schema
    assert "description" not in schema
    assert schema["properties"]["a"]["description"] == "The a."

    class Custom:
        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            field = pydantic_core.core_schema.typed_dict_field(
                pydantic_core.core_schema.int_schema()
            )
            return pydantic_core.core_schema.typed_dict_schema({"b": field})

    assert list(type_schema(Custom).json_schema["properties"]) == ["b"]

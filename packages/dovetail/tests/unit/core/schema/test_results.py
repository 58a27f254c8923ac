from __future__ import annotations

import datetime
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import msgspec
import pydantic
import pytest

from dovetail.core.schema import result_schema
from dovetail.errors import InvalidValueError, UsageError


class Image: ...


class Audio: ...


class Photo(Image): ...


@dataclass
class Forecast:
    city: str
    degrees: float
    when: datetime.datetime | None = None
    tags: set[str] = field(default_factory=set)


class Row(TypedDict):
    id: int


class Model(pydantic.BaseModel):
    id: int


CONTENT = (Image, Audio)
created: list[int] = []


@dataclass
class Counting:
    number: int

    def __post_init__(self) -> None:
        created.append(self.number)


def refusal(annotation: Any, value: Any) -> str:
    with pytest.raises(InvalidValueError) as caught:
        result_schema(annotation).encode(value)
    return str(caught.value)


@pytest.mark.parametrize(
    "annotation",
    [
        str,
        None,
        type(None),
        Any,
        bytes,
        inspect.Signature.empty,
        str | None,
        Annotated[str, "text"],
        Image,
        Photo,
        Image | None,
        list[Image],
        list[str | Image],
        tuple[str, Image],
        tuple[Image, ...],
        Sequence[Image | Audio],
        list[Image] | str,
    ],
)
def test_text_and_content_have_no_schema(annotation: Any) -> None:
    schema = result_schema(annotation, unstructured=CONTENT)
    assert schema.json_schema is None
    assert not schema.is_object
    assert schema.encode("x") == b'"x"'


@pytest.mark.parametrize(
    ("annotation", "is_object"),
    [
        (int, False),
        (float, False),
        (bool, False),
        (list[str], False),
        (int | str, False),
        (tuple[int, str], False),
        (Forecast | None, False),
        (dict, True),
        (dict[str, int], True),
        (Forecast, True),
        (Row, True),
        (Model, True),
        (list[Forecast], False),
        (Annotated[int, msgspec.Meta(ge=0, examples=[[1]])], False),
    ],
)
def test_data_has_a_schema(annotation: Any, is_object: bool) -> None:
    schema = result_schema(annotation, unstructured=CONTENT)
    assert schema.json_schema is not None
    assert schema.is_object == is_object


def test_a_result_that_fits_is_encoded() -> None:
    assert result_schema(int).encode(5) == b"5"
    raw = result_schema(Forecast).encode(Forecast("Rome", 20.5, datetime.datetime(2020, 1, 31)))
    assert msgspec.json.decode(raw)["when"] == "2020-01-31T00:00:00"
    assert (
        result_schema(Forecast).encode({"city": "Rome", "degrees": 3})
        == b'{"city":"Rome","degrees":3}'
    )
    assert result_schema(int).encode(3.0) == b"3.0"


@pytest.mark.parametrize(
    ("annotation", "value", "text"),
    [
        (int, "abc", '$: expected integer, got "abc" (string)'),
        (int, True, "$: expected integer, got true (boolean)"),
        (int, None, "$: expected integer, got null"),
        (Forecast, Forecast("Rome", "hot"), "degrees: expected number"),  # type: ignore[arg-type]
        (Forecast, {"city": "Rome"}, "degrees: expected a value (required), got nothing"),
        (Forecast, Forecast("Rome", float("nan")), "degrees: expected a finite number"),
        (float | None, float("inf"), "$: expected a finite number"),
        (Forecast, Forecast("Rome", 1, tags=["a", "a"]), "tags: expected items without duplicates"),  # type: ignore[arg-type]
        (dict[str, int], {"a": "x"}, "a: expected integer"),
        (list[Row], [{"id": 1}, {}], "[1].id: expected a value (required)"),
        (Model, {"id": "x"}, "id: expected"),
        (int, object(), "$: expected a value that JSON can represent, got object"),
        (dict, {"a": object()}, "$: expected a value that JSON can represent, got dict"),
    ],
)
def test_a_result_that_does_not_fit_is_refused(annotation: Any, value: Any, text: str) -> None:
    assert text in refusal(annotation, value)


def test_the_check_of_a_result_does_not_run_the_code_of_its_class_again() -> None:
    schema = result_schema(Counting)
    value = Counting(1)
    created.clear()
    assert schema.encode(value) == b'{"number":1}'
    assert created == []
    with pytest.raises(InvalidValueError, match="number: expected integer"):
        schema.encode({"number": "x"})


def test_a_schema_by_hand_is_announced_and_kept() -> None:
    mine = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    schema = result_schema(str, json_schema=mine)
    assert schema.json_schema == mine
    assert schema.json_schema is not mine
    assert schema.is_object
    assert schema.encode({"a": 1}) == b'{"a":1}'
    assert schema.encode(pydantic.create_model("A", a=(int, 1))()) == b'{"a":1}'
    with pytest.raises(InvalidValueError, match="a: expected integer"):
        schema.encode({"a": "x"})


def test_a_schema_that_cannot_work_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="tool: the JSON Schema is invalid"):
        result_schema(str, json_schema={"type": "intt"}, where="tool")
    with pytest.raises(UsageError, match="no JSON Schema"):
        result_schema({"not": "a type"})
    with pytest.raises(UsageError, match="tool has no JSON Schema: complex"):
        result_schema(complex, where="tool")
    with pytest.raises(UsageError, match="the result: the JSON Schema is invalid"):
        result_schema(Annotated[list[Annotated[str, msgspec.Meta(pattern=r"a\Z")]], []])


def test_references_may_be_inlined() -> None:
    schema = result_schema(list[Forecast], inline_refs=True).json_schema
    assert schema is not None
    assert "$defs" not in schema

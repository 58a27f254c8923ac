"""Unions that the JSON Schema tells apart, and those that it cannot."""

from __future__ import annotations

import enum
import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import msgspec
import pytest

from dovetail import Server
from dovetail.core.schema import result_schema, type_schema
from dovetail.errors import InvalidValueError, UsageError
from tests.unit.talk import ERAS, call, text_of


@dataclass
class Circle:
    radius: float


@dataclass
class Square:
    side: float
    name: str = ""


@dataclass
class Cat:
    kind: Literal["cat"]
    age: int


@dataclass
class Dog:
    kind: Literal["dog"]
    age: int


@dataclass
class Number:
    age: int


@dataclass
class MaybeNamed:
    age: int
    name: str = ""


@dataclass
class Even:
    even: int

    def __post_init__(self) -> None:
        if self.even % 2:
            raise ValueError("must be even")


@dataclass
class Empty: ...


@dataclass
class Drawn:
    shape: Circle


@dataclass
class Named:
    shape: str


class Tagged(msgspec.Struct, tag_field="kind", tag="tagged"):
    age: int


class Colour(enum.Enum):
    RED = "red"


MOMENT = datetime(2025, 1, 31, 12, tzinfo=UTC)
ID = uuid.UUID("123e4567-e89b-12d3-a456-426614174000")
Zoned = Annotated[time, msgspec.Meta(tz=True)]
Naive = Annotated[time, msgspec.Meta(tz=False)]
Times = uuid.UUID | date | time | timedelta | int


@pytest.mark.parametrize(
    ("annotation", "given", "value"),
    [
        (Path, "a/b", Path("a/b")),
        (PurePosixPath | None, "a", PurePosixPath("a")),
        (list[Path], ["a"], [Path("a")]),
        (dict[Path, int], {"a": 1}, {Path("a"): 1}),
        (Path | int, "5", Path("5")),
        (Path | int, 5, 5),
        (str | datetime, "2025-01-31T12:00:00Z", MOMENT),
        (str | datetime, "tomorrow", "tomorrow"),
        (str | datetime | None, None, None),
        (Times, "2025-01-31", date(2025, 1, 31)),
        (Times, "12:30:00", time(12, 30)),
        (Times, "P1D", timedelta(days=1)),
        (Times, str(ID), ID),
        (Times, 7.0, 7),
        (Decimal | str, "1.5", Decimal("1.5")),
        (Literal["now"] | date, "now", "now"),
        (Literal["now"] | date, "2025-01-31", date(2025, 1, 31)),
        (Colour | str, "red", Colour.RED),
        (Colour | str, "blue", "blue"),
        (Circle | Square, {"radius": 1}, Circle(1)),
        (Circle | Square, {"side": 1}, Square(1)),
        # Both fit, since unknown keys are allowed: the one with more of the keys is meant.
        (Circle | Square, {"side": 1, "radius": 2, "name": "x"}, Square(1, "x")),
        (Number | Cat, {"kind": "cat", "age": 2}, Cat("cat", 2)),
        (Number | Cat, {"age": 2}, Number(2)),
        (Cat | Dog, {"kind": "dog", "age": 2.0}, Dog("dog", 2)),
        (Drawn | Named, {"shape": {"radius": 1}}, Drawn(Circle(1))),
        (Drawn | Named, {"shape": "round"}, Named("round")),
        (Cat | Tagged, {"kind": "tagged", "age": 2}, Tagged(2)),
        (dict[str, int] | Circle, {"radius": 1}, Circle(1)),
        (dict[str, int] | Circle, {"x": 1}, {"x": 1}),
        (list[Circle | Square] | None, [{"side": 1}], [Square(1)]),
        (tuple[str | date, ...], ["x", "2025-01-31"], ("x", date(2025, 1, 31))),
        (Annotated[str | date, "When."], "2025-01-31", date(2025, 1, 31)),
        (Annotated[list[str | date], "When."], ["x"], ["x"]),
    ],
)
def test_the_schema_decides_which_type_a_value_is(annotation: Any, given: Any, value: Any) -> None:
    found = type_schema(annotation).convert(given)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("annotation", "names"),
    [
        (str | Path, "str or Path"),
        (bytes | str, "bytes or str"),
        (Number | MaybeNamed, "Number or MaybeNamed"),
        (MaybeNamed | Number | None, "MaybeNamed or Number"),
        (Circle | Empty, "Circle or Empty"),
        (Colour | Literal["red"] | date, r"Colour or typing.Literal\['red'\]"),
        (list[int] | tuple[int, str], r"list\[int\] or tuple\[int, str\]"),
        (Zoned | Naive | date, "or"),
    ],
)
def test_types_that_look_the_same_in_json_are_refused_by_name(annotation: Any, names: str) -> None:
    with pytest.raises(UsageError, match=f"JSON cannot show whether .*{names}.* is meant; "):
        type_schema(annotation)


def test_the_error_says_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"keep one of them, or make two parameters$"):
        type_schema(str | Path)
    with pytest.raises(UsageError, match="give one of them a required field that the other does"):
        type_schema(Number | MaybeNamed)
    with pytest.raises(UsageError, match=r"the type complex .* is not a type that JSON Schema can"):
        type_schema(complex | str)
    with pytest.raises(UsageError, match="Type unions may not contain"):
        type_schema(dataclass(type("Holder", (), {"__annotations__": {"x": Circle | Square}})))


@pytest.mark.parametrize(
    ("annotation", "given", "problem"),
    [
        (str | datetime, 5, "$: expected string, got 5 (integer)"),
        (Circle | Square, {"radius": "x"}, 'radius: expected number, got "x" (string)'),
        (Even | Circle, {"even": 1}, "must be even"),
    ],
)
def test_a_value_that_fits_none_is_explained(annotation: Any, given: Any, problem: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        type_schema(annotation).convert(given)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("annotation", "value", "raw"),
    [
        # Results are not decoded, so nothing has to be told apart.
        (str | Path, Path("a"), b'"a"'),
        (datetime | date, datetime(2025, 1, 31), b'"2025-01-31T00:00:00"'),
        (list[Circle | Square], [Square(1)], b'[{"side":1,"name":""}]'),
    ],
)
def test_results_may_be_any_union(annotation: Any, value: Any, raw: bytes) -> None:
    assert result_schema(annotation).encode(value) == raw
    with pytest.raises(InvalidValueError):
        result_schema(annotation).encode(object)


@pytest.mark.parametrize("revision", ERAS)
def test_a_tool_takes_paths_and_unions(revision: str) -> None:
    server = Server("s")

    @server.tool
    def open_file(file: Path, since: str | datetime, shape: Circle | Square = Square(2)) -> str:  # noqa: B008 - the default of a tool
        return f"{file!r} {since!r} {shape!r}"

    arguments = {"file": "a", "since": "2025-01-31T12:00:00Z", "shape": {"radius": 1}}
    text = text_of(call(server, "open_file", arguments, revision=revision))
    assert text == f"{Path('a')!r} {MOMENT!r} Circle(radius=1.0)"


@pytest.mark.parametrize("revision", ERAS)
def test_a_number_in_a_string_is_refused_with_the_option_that_accepts_it(revision: str) -> None:
    server = Server("s")

    @server.tool
    def double(number: int) -> str:
        return str(2 * number)

    text = text_of(call(server, "double", {"number": "5"}, revision=revision))
    assert text == (
        'Invalid arguments for double: number: expected integer, got "5" (string); pass the JSON '
        "value itself, not a string containing JSON (the server accepts it with "
        "Options(accept_json_strings=True))"
    )

"""What a server advertises is what it enforces, checked by somebody else's validator.

The oracle is python-jsonschema (Draft 2020-12) with its format checker. Two of its habits
are Python's and not JSON Schema's, and are corrected: patterns are ECMA-262 (`$` is the very
end, `\\d` is ASCII), and text is looked at after JSON has carried it.

Not compared, because this package refuses them on purpose (`json_values.py`): lone
surrogates and numbers beyond a double. Each has a case of its own below.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import enum
import functools
import json
import math
import re
import typing
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, Required, TypedDict

import attrs
import jsonschema
import msgspec
import pydantic
import pytest
import typing_extensions
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis_jsonschema import from_schema

from dovetail.core.schema import arguments_schema, result_schema, type_schema
from dovetail.errors import InvalidValueError

T = typing.TypeVar("T")
Meta = msgspec.Meta
Field = pydantic.Field


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Tone(enum.StrEnum):
    SOFT = "soft"
    LOUD = "loud"


class Lenient(enum.Enum):
    ON = "on"

    @classmethod
    def _missing_(cls, value: object) -> Lenient:
        return cls.ON


@dataclass
class Point:
    x: int
    y: float = 0.0


@dataclass
class Line:
    start: Point
    end: Point | None = None
    tags: set[str] = field(default_factory=set)


@dataclass
class Tree:
    value: int
    children: list[Tree] = field(default_factory=list)


class Movie(TypedDict):
    name: str
    year: NotRequired[int]


class Partial(TypedDict, total=False):
    name: Required[str]
    rating: float


class Pair(NamedTuple):
    key: str
    amount: int = 1


class Price(msgspec.Struct):
    amount: Annotated[float, Meta(ge=0)]
    currency: Annotated[str, Meta(min_length=3, max_length=3)] = "EUR"


class Strict(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    item_count: int
    last_seen: datetime.date | None = None


class Cat(msgspec.Struct, tag=True):
    lives: int


class Dog(msgspec.Struct, tag=True):
    name: str


class Row(msgspec.Struct, array_like=True):
    number: int
    label: str = ""


class Box(msgspec.Struct, Generic[T]):
    content: T


@attrs.define
class Car:
    wheels: int
    owner: str | None = None


class Address(pydantic.BaseModel):
    street: str
    number: int = Field(gt=0)


class Person(pydantic.BaseModel):
    name: str
    born: datetime.date | None = None
    home: Address
    friends: list[Person] = []


class Note(typing_extensions.TypedDict):
    text: Annotated[str, Field(max_length=5)]


@dataclass
class Holder:
    address: Address
    count: int = 0


class StructWithModel(msgspec.Struct):
    address: Address
    other: Address | None = None


ANNOTATIONS: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "none": None,
    "any": Any,
    "object": object,
    "optional int": int | None,
    "union of scalars": int | str | None,
    "int or float": int | float,
    "number or list": float | list[int],
    "literal texts": Literal["a", "b"],
    "literal mixed": Literal["a", 1, None],
    "literal bool": Literal[True],
    "enum of texts": Color,
    "IntEnum": Level,
    "StrEnum": Tone,
    "enum with _missing_": Lenient,
    "list": list,
    "list of ints": list[int],
    "bounded list": Annotated[list[int], Meta(min_length=1, max_length=3)],
    "Sequence": Sequence[str],
    "Collection": Collection[int],
    "Iterable": Iterable[int],
    "bare Iterable": Iterable,
    "Iterables inside": dict[str, Iterable[int] | None],
    "Iterable of models": Annotated[Iterable[Address], Field(max_length=2)],
    "dict": dict,
    "dict of floats": dict[str, float],
    "dict by int": dict[int, str],
    "dict by enum": dict[Color, int],
    "dict by date": dict[datetime.date, int],
    "dict by pattern": dict[Annotated[str, Meta(pattern="^[a-z]+$")], int],
    "Mapping": Mapping[str, int],
    "tuple": tuple[int, str],
    "empty tuple": tuple[()],
    "tuple of any length": tuple[int, ...],
    "set": set[int],
    "bounded set": Annotated[set[int], Meta(min_length=2)],
    "frozenset": frozenset[str],
    "datetime": datetime.datetime,
    "naive datetime": Annotated[datetime.datetime, Meta(tz=False)],
    "date": datetime.date,
    "time": datetime.time,
    "time with offset": Annotated[datetime.time, Meta(tz=True)],
    "timedelta": datetime.timedelta,
    "UUID": uuid.UUID,
    "Decimal": decimal.Decimal,
    "bytes": bytes,
    "bounded bytes": Annotated[bytes, Meta(min_length=1, max_length=4)],
    "bounded int": Annotated[int, Meta(ge=0, lt=10)],
    "multiple": Annotated[int, Meta(multiple_of=7)],
    "bounded float": Annotated[float, Meta(gt=0, le=1.5)],
    "bounded text": Annotated[str, Meta(min_length=2, max_length=4)],
    "pattern": Annotated[str, Meta(pattern=r"^[a-z]+\d$")],
    "extra schema": Annotated[int, Meta(extra_json_schema={"maximum": 5})],
    "dataclass": Point,
    "nested dataclass": Line,
    "recursive dataclass": Tree,
    "TypedDict": Movie,
    "TypedDict total=False": Partial,
    "NamedTuple": Pair,
    "Struct": Price,
    "strict Struct": Strict,
    "tagged union": Cat | Dog | None,
    "array-like Struct": Row,
    "generic Struct": Box[int],
    "attrs": Car,
    "mix": dict[str, list[Point | None]],
    "list of Structs": list[Price],
    "model": Address,
    "recursive model": Person,
    "list of models": list[Address],
    "union of models": Address | Person,
    "Field": Annotated[int, Field(gt=0, multiple_of=2)],
    "pydantic datetime": Annotated[datetime.datetime, Field(description="when")],
    "pydantic time": Annotated[datetime.time, Field(description="when")],
    "pydantic timedelta": Annotated[datetime.timedelta, Field(description="how long")],
    "pydantic TypedDict": Note,
    "dataclass with model": Holder,
    "Struct with model": StructWithModel,
}

# Few examples for each of many annotations; `make fuzz` draws ten times as many.
EXAMPLES = min(settings().max_examples, 1_000) // 10

bounded = settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@functools.cache
def compiled(name: str) -> Any:
    return type_schema(ANNOTATIONS[name])


def ecma_pattern(
    validator: Any, pattern: str, instance: Any, schema: Any
) -> Iterator[jsonschema.ValidationError]:
    if isinstance(instance, str) and not ecma(pattern).search(instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


@functools.cache
def ecma(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"(?<!\\)\$", r"\\Z", pattern), re.ASCII)


Oracle = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": ecma_pattern})


def oracle(schema: dict[str, Any]) -> Any:
    return Oracle(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)


def is_carried(value: Any) -> bool:
    """Whether a value is one that this package lets through at all."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (UnicodeEncodeError, ValueError):
        return False
    return not any(isinstance(leaf, int) and abs(leaf) > 10**300 for leaf in leaves(value))


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def accepts(name: str, value: Any) -> bool:
    try:
        compiled(name).decode(json.dumps(value).encode())
    except InvalidValueError as error:
        assert error.problems
        return False
    return True


@functools.cache
def fitting(name: str) -> st.SearchStrategy[Any]:
    schema = compiled(name).json_schema
    return drawn_from(schema, schema.get("$defs", {}), depth=3)


def drawn_from(schema: Any, definitions: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    """Values of a schema.

    hypothesis-jsonschema draws the scalars. It knows no prefixItems, follows no circles of
    references, and its objects need internals that newer Hypothesis versions have dropped;
    those are composed here, from the few keywords that our schemas use.
    """
    inner = functools.partial(drawn_from, definitions=definitions, depth=depth - 1)
    if not depth:
        return st.nothing()
    if "$ref" in schema:
        return drawn_from(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions, depth)
    if "anyOf" in schema:
        return st.one_of([drawn_from(part, definitions, depth) for part in schema["anyOf"]])
    if schema.get("type") == "object":
        return objects(schema, inner)
    if schema.get("type") == "array":
        return arrays(schema, inner)
    if not schema:
        return anything
    if schema.get("format") == "date-time":
        return date_times
    if schema.get("format") == "uuid":
        return st.uuids().map(str)
    return from_schema(schema)


def objects(schema: Any, inner: Any) -> st.SearchStrategy[Any]:
    properties = schema.get("properties", {})
    required = {key: inner(properties[key]) for key in schema.get("required", ())}
    optional = {key: inner(properties[key]) for key in properties if key not in required}
    known = st.fixed_dictionaries(
        required, optional={key: value for key, value in optional.items() if not value.is_empty}
    )
    others = schema.get("additionalProperties", {})
    if others is False:
        return known
    keys = from_schema({"type": "string", **schema.get("propertyNames", {})})
    least, most = schema.get("minProperties", 0), schema.get("maxProperties", 3)
    extra = st.dictionaries(keys, inner(others), min_size=least, max_size=most)
    return st.builds(lambda more, fields: {**more, **fields}, extra, known)


def arrays(schema: Any, inner: Any) -> st.SearchStrategy[Any]:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if "prefixItems" in schema:
        parts = [inner(part) for part in schema["prefixItems"]]
        lengths = range(least, len(parts) + 1)
        return st.one_of([st.tuples(*parts[:length]).map(list) for length in lengths])
    items = inner(schema.get("items", {}))
    if items.is_empty or most == 0:
        return st.just([])
    unique_by = (lambda item: json.dumps(item)) if schema.get("uniqueItems") else None
    return st.lists(items, min_size=least, max_size=most or least + 3, unique_by=unique_by)


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0, 1, 1.0, -0.0, 3.0, 0.5, "1", "a", "red", "", "P1D", "2020-01-31", 10**30])
    | st.text(max_size=5)
)
date_times = st.datetimes(timezones=st.timezones()).map(
    # Old time zones had offsets with seconds, which RFC 3339 cannot write.
    lambda moment: moment.astimezone(datetime.UTC).isoformat()
)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["x", "y", "name", "value", "1", "a"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def damaged(draw: st.DrawFn, name: str) -> Any:
    """A fitting value with one part replaced, removed or added."""
    value = copy.deepcopy(draw(fitting(name)))
    places = list(containers(value))
    if not places:
        return draw(anything)
    place = draw(st.sampled_from(places))
    steps = list(place) if isinstance(place, dict) else list(range(len(place)))
    action = draw(st.sampled_from(["replace", "remove", "add", "repeat"]))
    if not steps or action == "add":
        if isinstance(place, dict):
            place[draw(st.sampled_from(["extra", "x", "1"]))] = draw(scalars)
        else:
            place.append(draw(scalars))
        return value
    step = draw(st.sampled_from(steps))
    if action == "remove":
        del place[step]
    elif action == "repeat" and isinstance(place, list):
        place.append(place[step])
    else:
        place[step] = draw(anything)
    return value


def containers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from containers(item)


def judge(name: str, value: Any) -> bool:
    schema = compiled(name).json_schema
    return bool(oracle(schema).is_valid(exact(json.loads(json.dumps(value)))))


def exact(value: Any) -> Any:
    """Whole floats as integers: the oracle divides floats, and large ones lose their digits."""
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_a_value_drawn_from_the_advertised_schema_is_accepted(name: str) -> None:
    @settings(bounded, max_examples=EXAMPLES)
    @given(fitting(name))
    def check(value: Any) -> None:
        assume(is_carried(value) and judge(name, value))
        assert accepts(name, value)

    check()


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_a_damaged_or_foreign_value_is_judged_as_the_independent_validator_judges(
    name: str,
) -> None:
    @settings(bounded, max_examples=3 * EXAMPLES)
    @given(damaged(name) | anything)
    def check(value: Any) -> None:
        assume(is_carried(value))
        assert accepts(name, value) == judge(name, value)

    check()


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_a_result_that_is_sent_keeps_the_schema_that_was_announced(name: str) -> None:
    result = result_schema(ANNOTATIONS[name])
    judge_result = oracle(result.json_schema or {})

    @settings(bounded, max_examples=EXAMPLES)
    @given(fitting(name))
    def check(value: Any) -> None:
        assume(is_carried(value) and judge(name, value))
        # What a function would return: the typed value that its own decoder makes.
        typed = compiled(name).convert(value)
        raw = result.encode(typed)
        judge_result.validate(json.loads(raw))

    check()


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_a_wrong_result_is_never_sent(name: str) -> None:
    result = result_schema(ANNOTATIONS[name])
    judge_result = oracle(result.json_schema or {})

    @settings(bounded, max_examples=EXAMPLES)
    @given(damaged(name) | anything)
    def check(value: Any) -> None:
        assume(is_carried(value))
        try:
            raw = result.encode(value)
        except InvalidValueError:
            return
        judge_result.validate(exact(json.loads(raw)))

    check()


def test_every_annotation_works_as_a_parameter_of_a_function() -> None:
    for name, annotation in ANNOTATIONS.items():

        def tool(value: Any, other: int = 0) -> None: ...

        tool.__annotations__["value"] = annotation
        schema = arguments_schema(tool).json_schema
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["required"] == ["value"], name


def test_every_schema_is_valid_by_its_own_dialect() -> None:
    for name, annotation in ANNOTATIONS.items():
        for inline_refs in (False, True):
            schema = type_schema(annotation, inline_refs=inline_refs).json_schema
            jsonschema.Draft202012Validator.check_schema(schema)
            assert inline_refs is False or name in RECURSIVE or "$defs" not in schema


RECURSIVE = {"recursive dataclass", "recursive model", "union of models"}
EXPLICIT: list[tuple[str, bytes, bool]] = [
    ("int", b"3.0", True),
    ("int", b"1e3", True),
    ("int", b"-0.0", True),
    ("int", b"3.5", False),
    ("int", b"true", False),
    ("int", b'"5"', False),
    ("int", b"123456789012345678901234567890", True),
    ("int", b"-123456789012345678901234567890", True),
    ("int", b"1e400", False),
    ("float", b"1e400", False),
    ("float", b"-0.0", True),
    ("float", b"NaN", False),
    ("multiple", b"123456789012345678901234567891", False),
    ("multiple", b"777777777777777777777777777777", True),
    ("set", b"[1, 1]", False),
    ("set", b"[1, 1.0]", False),
    ("set", b"[1, 2]", True),
    ("bounded set", b"[1]", False),
    ("str", rb'"\ud800"', False),
    ("str", rb'"\udc00\ud800"', False),
    ("str", rb'"\ud83d\ude00"', True),
    ("str", rb'"a\u0000b"', True),
    ("str", b'"\xff"', False),
    ("tuple", b'[1, "a"]', True),
    ("tuple", b"[1]", False),
    ("tuple", b'[1, "a", 2]', False),
    ("empty tuple", b"[]", True),
    ("empty tuple", b"[1]", False),
    ("literal bool", b"1", False),
    ("enum with _missing_", b'"off"', False),
    ("IntEnum", b"1.0", True),
    ("IntEnum", b"true", False),
    ("datetime", b'"2020-01-01T00:00:00"', False),
    ("datetime", b'"2020-02-30T00:00:00Z"', False),
    ("datetime", b'"2020-01-01t00:00:00.5z"', True),
    ("naive datetime", b'"2020-02-29T00:00:00"', True),
    ("naive datetime", b'"2021-02-29T00:00:00"', False),
    ("naive datetime", b'"2020-01-01T00:00:00Z"', False),
    ("date", b'"2020-02-30"', False),
    ("time", b'"12:30:00"', True),
    ("time", b'"24:00:00"', False),
    ("UUID", b'"12345678123456781234567812345678"', False),
    ("Decimal", b'"NaN"', False),
    ("Decimal", b'"1_0"', False),
    ("Decimal", b"1.5", True),
    ("timedelta", b'"P1W"', False),
    ("bytes", b'"QUI="', True),
    ("bytes", b'"QUI"', False),
    ("bounded bytes", b'"QUJDREU="', False),
    ("dict by int", b'{"1.0": "x"}', False),
    ("dataclass", b'{"x": 1, "z": 2}', True),
    ("strict Struct", b'{"itemCount": 1, "z": 2}', False),
    ("TypedDict", b'{"name": "x", "z": 2}', True),
    ("Field", b"2.0", True),
    ("Field", b'"2"', False),
    ("pydantic datetime", b'"2020-01-01T00:00:00"', False),
]


@pytest.mark.parametrize(("name", "raw", "is_accepted"), EXPLICIT)
def test_where_decoders_and_schemas_usually_part(name: str, raw: bytes, is_accepted: bool) -> None:
    if is_accepted:
        compiled(name).decode(raw)
    else:
        with pytest.raises(InvalidValueError):
            compiled(name).decode(raw)


def test_an_integral_float_arrives_as_an_integer() -> None:
    value = compiled("int").decode(b"3.0")
    assert (type(value), value) == (int, 3)


def test_a_negative_zero_keeps_its_sign_as_a_float() -> None:
    assert math.copysign(1, compiled("float").decode(b"-0.0")) == -1


def test_an_unknown_argument_is_refused() -> None:
    def tool(a: int) -> None: ...

    with pytest.raises(InvalidValueError, match=r"no such argument, got .*; allowed arguments: a"):
        arguments_schema(tool).decode(b'{"a": 1, "b": 2}')

"""`key=value` arguments, converted according to the tool's schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dovetail.cli.arguments import parse_arguments, parse_object
from dovetail.errors import UsageError

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"type": ["integer", "string"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "counts": {"type": "array", "items": {"type": "integer"}},
        "place": {"$ref": "#/$defs/Place"},
        "level": {"enum": [1, 2]},
        "kind": {"const": "x"},
        "any": {},
        "sure": True,
        "loop": {"$ref": "#/$defs/Loop"},
    },
    "additionalProperties": False,
    "$defs": {
        "Place": {"type": "object", "properties": {"city": {"type": "string"}}},
        "Loop": {"$ref": "#/$defs/Loop"},
    },
}


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("text=5", "5"),
        ("text=a=b:=c", "a=b:=c"),
        ("text=", ""),
        ("count=5", 5),
        ("count=-5", -5),
        ("ratio=2.5", 2.5),
        ("ratio=3", 3),
        ("flag=true", True),
        ("flag=False", False),
        ("maybe=3", 3),
        ("maybe=null", None),
        ("either=3", "3"),
        ('tags=["a","b"]', ["a", "b"]),
        ("tags=a", ["a"]),
        ("counts=7", [7]),
        ("counts=[7]", [7]),
        ('place={"city":"Rome"}', {"city": "Rome"}),
        ("level=2", 2),
        ("kind=x", "x"),
        ("any=5", "5"),
        ("sure=5", "5"),
        ("loop=5", "5"),
        ("text:=5", 5),
        ("place:=null", None),
    ],
)
def test_a_value_is_converted_according_to_its_schema(pair: str, value: Any) -> None:
    arguments = parse_arguments([pair], SCHEMA)
    (given,) = arguments.values()
    assert (given, type(given)) == (value, type(value))


def test_a_repeated_key_makes_a_list() -> None:
    pairs = ["tags=a", "tags=b", 'tags=["c"]', "counts=1", "counts=2", "tags:=[]"]
    assert parse_arguments(pairs, SCHEMA) == {"tags": ["a", "b", "c"], "counts": [1, 2]}


def test_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "n.txt"
    file.write_text("7")
    pairs = [f"text=@{file}", f"count=@{file}"]
    assert parse_arguments(pairs, SCHEMA) == {"text": "7", "count": 7}


@pytest.mark.parametrize(
    ("pairs", "problem"),
    [
        (["count=five"], "count: expected integer, got 'five'"),
        (["count=2.5"], "count: expected integer"),
        (["ratio=nan"], "ratio: expected number"),
        (["ratio=inf"], "ratio: expected number"),
        (["flag=1"], "flag: expected boolean"),
        (["maybe=x"], "maybe: expected integer or null"),
        (["place=Rome"], "place: expected object"),
        (["counts=x"], "counts: expected integer"),
        (["txt=x"], r"no argument 'txt'; did you mean 'text'\? Its arguments: text, count"),
        (["zzz=x"], r"no argument 'zzz'\. Its arguments"),
        (["text"], "'text' is not an argument; expected KEY=VALUE"),
        (["=x"], "is not an argument"),
        (["text:={"], "text: '{' is not valid JSON"),
        (["text=@/no/such/file"], "text: cannot read '/no/such/file'"),
        (["text=a", "text=b"], "text: given twice"),
    ],
)
def test_invalid_values_are_explained(pairs: list[str], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        parse_arguments(pairs, SCHEMA)


def test_an_open_schema_accepts_any_key_as_string() -> None:
    assert parse_arguments(["free=5"], {"type": "object"}) == {"free": "5"}


def test_all_arguments_may_be_one_object() -> None:
    assert parse_object('{"a": 1}') == {"a": 1}
    with pytest.raises(UsageError, match="must be a JSON object, got"):
        parse_object("[1]")
    with pytest.raises(UsageError, match=r"--args: '{' is not valid JSON"):
        parse_object("{")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1', "it ends too early; is a bracket or a quote missing?"),
        ("{a: 1}", "at character 2, 'a: 1}'"),
        ('{"a": 1,, "b": 2}', "at character 9, ', \"b\": 2}'"),
    ],
)
def test_invalid_json_is_located(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=r"--args: .* is not valid JSON: ") as caught:
        parse_object(text)
    assert problem in str(caught.value)

"""Names that every client accepts."""

from __future__ import annotations

import re

import pytest

from dovetail_openapi.naming import argument_name, tool_name, unique


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("listPets", "listPets"),
        ("repos/get-content", "repos_get-content"),
        ("Pets.List (v2)", "Pets_List_v2"),
        ("", "get_pets_id"),
        ("日本", "get_pets_id"),
    ],
)
def test_a_tool_is_named_after_its_operation(id: str, expected: str) -> None:
    assert tool_name(id, "get", "/pets/{id}") == expected


def test_long_names_stay_different() -> None:
    names = {tool_name("a" * 80 + end, "get", "/") for end in "bcd"}
    assert len(names) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("id", "id"),
        ("$top", "top"),
        ("filter[name]", "filter_name"),
        ("X-Trace-Id", "X_Trace_Id"),
        ("_context", "context"),
        ("2fa", "arg_2fa"),
        ("!", "value"),
    ],
)
def test_an_argument_is_named_after_its_parameter(name: str, expected: str) -> None:
    assert argument_name(name) == expected


def test_a_taken_name_gets_a_number() -> None:
    assert unique("a", ["b"]) == "a"
    assert unique("a", ["a", "a_2"]) == "a_3"
    assert len(unique("a" * 64, ["a" * 64])) == 64

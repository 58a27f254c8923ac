"""Tools and prompts as one-line signatures."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.cli.printing import describe_prompt, describe_schema, describe_tool
from dovetail.spec.models import Prompt, PromptArgument, Tool


def test_a_tool_shows_its_arguments_and_result() -> None:
    tool = Tool(
        name="find",
        input_schema={
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": "integer", "default": 10},
                "strict": {"type": "boolean", "default": False},
                "sort": {"enum": ["up", "down"]},
            },
            "required": ["query"],
        },
        output_schema={"type": "object", "properties": {"result": {"type": "integer"}}},
    )
    assert describe_tool(tool) == (
        'find(query: str, limit: int = 10, strict: bool = False, sort?: "up" | "down") -> int'
    )


def test_a_tool_without_arguments_is_a_name_with_parentheses() -> None:
    assert describe_tool(Tool(name="go", input_schema={"type": "object"})) == "go()"


def test_a_prompt_marks_optional_arguments() -> None:
    arguments = [PromptArgument(name="a", required=True), PromptArgument(name="b")]
    assert describe_prompt(Prompt(name="p", arguments=arguments)) == "p(a, b?)"


ROOT: dict[str, Any] = {
    "$defs": {
        "Node": {
            "title": "Node",
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/Node"}, "n": {"type": "integer"}},
            "required": ["n"],
        }
    }
}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (True, "any"),
        ({}, "any"),
        ({"type": "number"}, "float"),
        ({"const": None}, "None"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "string"}]}, "str | None"),
        ({"type": ["integer", "null"]}, "int | None"),
        ({"type": "array"}, "list"),
        ({"type": "array", "items": {"type": "boolean"}}, "list[bool]"),
        ({"type": "object"}, "dict"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "dict[str, str]"),
        ({"$ref": "#/$defs/Node"}, "{next?: {next?: Node, n: int}, n: int}"),
    ],
)
def test_schemas_are_shown_as_python_types(schema: Any, text: str) -> None:
    assert describe_schema(schema, ROOT) == text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"type": "array", "items": {"$ref": "#"}}, "list[list[list[list[list[list[any]]]]]]"),
        ({"anyOf": [{"$ref": "#"}, {"type": "string"}]}, "any" + " | str" * 5),
    ],
)
def test_a_schema_that_contains_itself_is_cut(given: dict[str, Any], text: str) -> None:
    assert describe_schema(given, given) == text

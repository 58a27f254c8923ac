"""Signatures, lists and results in the terminal."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from dovetail.cli.printing import (
    describe_block,
    describe_capabilities,
    describe_prompt,
    describe_schema,
    describe_tool,
    print_result,
)
from dovetail.client import CallResult
from dovetail.spec.models import (
    AudioContent,
    BlobContents,
    EmbeddedResource,
    ImageContent,
    Prompt,
    PromptArgument,
    ResourceLink,
    TextContent,
    TextContents,
    Tool,
)


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


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (TextContent(text="[b]as it is[/b]"), "[b]as it is[/b]"),
        (ImageContent(data="AAAA" * 1000, mime_type="image/png"), "[image/png, 3.0 kB]"),
        (AudioContent(data="AA==", mime_type="audio/wav"), "[audio/wav, 1 B]"),
        (ImageContent(data="AAAA" * 500_000, mime_type="a/b"), "[a/b, 1.5 MB]"),
        (ResourceLink(uri="memo://a", name="a"), "[link memo://a a]"),
        (EmbeddedResource(resource=TextContents(uri="a:b", text="inside")), "inside"),
        (EmbeddedResource(resource=BlobContents(uri="a:b", blob="AAAA")), "[bytes, 3 B, a:b]"),
    ],
)
def test_content_is_text_or_a_summary(block: Any, text: str) -> None:
    assert describe_block(block) == text


def test_capabilities_show_enabled_options() -> None:
    declared = {"tools": {"listChanged": True}, "prompts": {"listChanged": False}, "logging": {}}
    assert describe_capabilities(declared) == "tools (listChanged), prompts, logging"
    assert describe_capabilities({}) == "none"


@pytest.mark.parametrize(
    ("texts", "structured", "shown"),
    [
        (['{"a":1}'], {"a": 1}, '{\n  "a": 1\n}\n'),
        (["2"], {"result": 2}, "2\n"),
        (["hey"], {"result": "hey"}, "hey\n"),
        (["a summary"], {"a": 1}, 'a summary\n{\n  "a": 1\n}\n'),
        ([], {"a": 1}, '{\n  "a": 1\n}\n'),
        (["null"], None, "null\n"),
    ],
)
def test_structured_content_is_shown_once(
    texts: list[str], structured: Any, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = [TextContent(text=text) for text in texts]
    print_result(CallResult("t", content, structured, has_structured=True))
    assert capsys.readouterr().out == shown


def test_control_characters_are_escaped_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = CallResult("t", [TextContent(text="\x1b[2Jgone\n\ttab \x9b1m")])
    print_result(result)
    assert capsys.readouterr().out == "\x1b[2Jgone\n\ttab \x9b1m\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_result(result)
    assert capsys.readouterr().out == "\\x1b[2Jgone\n\ttab \\x9b1m\n"

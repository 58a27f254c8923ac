"""Any value for any parameter gives a result or a tool error, never an internal error."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from dovetail import Tool
from tests.vault.driving import over_stdio, write

CALLS = 1_500
TEXTS = (
    *("", " ", "a", "Oak", "Oak.md", "Sub/Pine.md", "../x", "\x00", "\u202e", "é", "e\u0301"),
    *("😀", "#", "# Oak", "NOT", "(", '"', "tag:", "-", "*", "[", "\\", "(?P<x>a)*", "a{1000}"),
    *("^$", "2025-01-01", "9999-99-99", "x" * 5000, "\n", "---\na: b\n---\n", "[[", "moc"),
    *("leaf", "^leaf", "true", "%00", "%2e%2e/x", "NUL", "SELECT", "' OR 1=1 --", "\ufeff", "0"),
)
NUMBERS = (-1, 0, 1, 2, 3, 10, 100, 499, 2**31, 2**53, -(2**53), 10**30)


def any_value(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.randrange(8 if depth < 3 else 5)
    if kind <= 1:
        return draw.choice(TEXTS)
    if kind == 2:
        return draw.choice(NUMBERS)
    if kind == 3:
        return draw.choice([None, True, False, 0.5])
    if kind == 4:
        return draw.choice(TEXTS) + draw.choice(TEXTS)
    if kind == 5:
        return [any_value(draw, depth + 1) for _ in range(draw.randrange(4))]
    return {draw.choice(TEXTS): any_value(draw, depth + 1) for _ in range(draw.randrange(4))}


def fitting_value(draw: random.Random, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """Return a value that the schema accepts, so that the tool itself is called."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "enum" in schema:
        return draw.choice(schema["enum"])
    if "anyOf" in schema:
        return fitting_value(draw, draw.choice(schema["anyOf"]), root)
    kind = schema.get("type")
    kind = draw.choice(kind) if isinstance(kind, list) else kind
    if kind == "string":
        return draw.choice(TEXTS)
    if kind == "integer":
        low, high = schema.get("minimum", 0), schema.get("maximum", 10_000)
        return draw.choice([low, high, min(high, low + draw.randrange(50))])
    if kind == "boolean":
        return draw.random() < 0.5
    if kind == "null":
        return None
    if kind == "array":
        count = max(schema.get("minItems", 0), draw.randrange(3))
        return [fitting_value(draw, schema.get("items", {}), root) for _ in range(count)]
    if kind == "object" and "properties" in schema:
        return fitting_arguments(draw, schema, root)
    return any_value(draw)


def fitting_arguments(
    draw: random.Random, schema: dict[str, Any], root: dict[str, Any]
) -> dict[str, Any]:
    required = schema.get("required", [])
    return {
        name: fitting_value(draw, inner, root)
        for name, inner in schema["properties"].items()
        if name in required or draw.random() < 0.4
    }


def arguments_for(draw: random.Random, tool: Tool) -> dict[str, Any]:
    given = fitting_arguments(draw, tool.input_schema, tool.input_schema)
    if draw.random() < 0.2:
        given[draw.choice([*tool.input_schema["properties"], "unknown"])] = any_value(draw)
    return given


@pytest.mark.slow
def test_no_argument_causes_an_internal_error(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    write(
        vault, "Oak.md", "---\ntags: [moc, tree]\na: 1\n---\n# Oak\n\nwood ^leaf\n\n[[Pine]] #x\n"
    )
    write(vault, "Sub/Pine.md", "# Pine\n\n[[Oak]] [o](../Oak.md)\n")
    draw = random.Random(11)

    async def run() -> tuple[int, int]:
        answered = refused = 0
        async with over_stdio(vault) as client:
            tools = await client.list_tools()
            for number in range(CALLS):
                tool = tools[number % len(tools)]
                given = arguments_for(draw, tool)
                result = await client.call(tool.name, given)
                assert "Internal error" not in result.text, (tool.name, given, result.text)
                answered += not result.is_error
                refused += result.is_error
        return answered, refused

    answered, refused = asyncio.run(run())
    assert answered > CALLS // 10 and refused > CALLS // 10, (answered, refused)

"""The lists of tools: what they cost an assistant, and that every tool can be called."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, MCPError
from mcp.types import Tool

from dovetail_vault.registration import LISTED, NAMES
from tests.driving import run_check, serving_http, use_over_stdio
from tests.vault.driving import command, write

# Characters / 4 of names, descriptions, input schemas and instructions.
MOST_TOKENS = {"default": 2_500, "compact": 1_500}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "search-by-title": {"query": "oak"},
    "search-by-tags": {"tags": ["x"]},
    "read-note": {"path": "Oak"},
    "get-note-metadata": {"path": "Oak"},
    "get-links": {"path": "Oak"},
    "write-note": {"path": "New", "content": "x"},
    "edit-note": {"path": "New", "edits": [{"op": "delete", "target": {"text": "x"}}]},
    "move-note": {"from": "New", "to": "Newer"},
    "delete-note": {"path": "Newer"},
    "read": {"path": "Oak"},
    "edit": {"path": "Oak", "content": "y", "mode": "append"},
}


def cost_of(tools: list[Tool], instructions: str | None) -> float:
    shown = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in tools
    ]
    return (len(json.dumps(shown, separators=(",", ":"))) + len(instructions or "")) / 4


@pytest.mark.parametrize("tools", ["default", "compact"])
def test_a_list_is_short_and_every_tool_can_be_called(tmp_path: Path, tools: str) -> None:
    write(tmp_path / "vault", "Oak.md", "# Oak\n\n[[Pine]]\n")

    async def script(session: ClientSession) -> None:
        instructions = (await session.initialize()).instructions
        listed = (await session.list_tools()).tools
        assert {tool.name for tool in listed} == LISTED[tools]
        assert cost_of(listed, instructions) <= MOST_TOKENS[tools]
        for tool in listed:
            assert "vault" not in tool.input_schema["properties"]
            assert tool.annotations is not None
        for names in LISTED.values():
            for name in sorted(names, key=[*ARGUMENTS, *names].index):
                result = await session.call_tool(name, ARGUMENTS.get(name, {}))
                assert not result.is_error, (name, result.content)
        prompt = await session.get_prompt("suggest-links", {"path": "Oak"})
        assert f"then use {NAMES[tools]['edit']}." in prompt.model_dump_json()
        # An unlisted parameter.
        result = await session.call_tool("list-notes", {"vault": "vault", "maxChars": 1_000})
        assert not result.is_error

    use_over_stdio(command(tmp_path / "vault", "--tools", tools), script)


def test_the_vault_is_a_parameter_if_there_are_several(tmp_path: Path) -> None:
    write(tmp_path / "vault", "Oak.md", "oak\n")
    write(tmp_path / "second", "Elm.md", "elm\n")

    async def script(session: ClientSession) -> None:
        await session.initialize()
        for tool in (await session.list_tools()).tools:
            assert "vault" in tool.input_schema["properties"], tool.name
            if tool.name == "list-tags":
                assert tool.annotations is not None and tool.annotations.read_only_hint
        moved = await session.call_tool("move-note", {"from": "Elm", "to": "Ash", "vault": "b"})
        assert not moved.is_error, moved.content

    words = command(tmp_path / "vault", "--vault", f"b={tmp_path / 'second'}")
    use_over_stdio(words, script)
    assert (tmp_path / "second" / "Ash.md").exists()


def test_read_only_lists_no_tool_that_changes_notes(tmp_path: Path) -> None:
    write(tmp_path / "vault", "Oak.md", "oak\n")

    async def script(session: ClientSession) -> None:
        await session.initialize()
        assert [tool.name for tool in (await session.list_tools()).tools] == ["search", "read"]
        with pytest.raises(MCPError, match="Unknown tool: 'edit'"):
            await session.call_tool("edit", {"path": "Oak", "delete": True})

    words = command(tmp_path / "vault", "--tools", "compact", "--read-only")
    use_over_stdio(words, script)


def test_the_compact_list_passes_the_check(tmp_path: Path) -> None:
    write(tmp_path / "vault", "Oak.md", "# Oak\n\n[[Pine]]\n")

    async def run() -> str:
        words = command(tmp_path / "vault", "--tools", "compact", "--http", "0")
        async with serving_http(words) as [url]:
            return await run_check(url)

    report = asyncio.run(run())
    assert "0 failed, 0 warnings" in report, report

"""The lists of tools: their size, what they show, and that everything else stays callable."""

from __future__ import annotations

import ast
import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dovetail_browser
from dovetail.client import Client
from dovetail.spec.models import Tool
from dovetail_browser.command import build
from dovetail_browser.hints import parameters_in, tools_in
from dovetail_browser.tool_sets import TOOL_SETS
from dovetail_serverkit.tool_sets import ToolSet
from tests.deep.browser.driving import command
from tests.driving import run_check, serving_http

# The tools of the seed, with their parameters.
SEED = {
    "fetch_webpage": {"url", "removeUnnecessaryHTML", "postLoadWait"},
    "click_element": {"url", "selector", "text"},
    "type_text": {"url", "selector", "text", "clear", "typeDelay"},
    "close_tab": {"url"},
    "get_current_html": {"url", "removeUnnecessaryHTML"},
}
UNLISTED = {"page_snapshot", "handle_dialog"}
# Characters divided by four.
MOST_TOKENS = {"default": 3_300, "compact": 2_100}


def list_tools(**options: Any) -> tuple[list[Tool], str]:
    """Return the list of a server with these options, and its instructions."""

    async def run() -> tuple[list[Tool], str]:
        async with Client(build(**options)) as client:
            return await client.list_tools(), client.instructions or ""

    return asyncio.run(run())


def properties_of(tool: Tool) -> set[str]:
    """Return the parameters that a listing shows, with those of fields."""
    schemas = [tool.input_schema, *tool.input_schema.get("$defs", {}).values()]
    return {name for schema in schemas for name in schema.get("properties", {})}


def tokens_of(tools: list[Tool], instructions: str) -> float:
    shown = [
        {"name": one.name, "description": one.description, "inputSchema": one.input_schema}
        for one in tools
    ]
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return (len(text) + len(instructions)) / 4


@pytest.mark.parametrize("name", TOOL_SETS)
@pytest.mark.parametrize("over_http", [False, True])
def test_a_list_stays_short(name: ToolSet, over_http: bool) -> None:
    tools, instructions = list_tools(tools=name, over_http=over_http)
    assert [one.name for one in tools if one.name not in TOOL_SETS[name]] == []
    assert tokens_of(tools, instructions) <= MOST_TOKENS[name] * (1.1 if over_http else 1)
    for one in tools:
        assert one.title and one.description and one.annotations is not None
        assert "anyOf" not in json.dumps(one.input_schema["properties"]), one.name


def test_the_default_set_shows_the_seeds_tools_and_parameters() -> None:
    tools, _ = list_tools()
    shown = {one.name: properties_of(one) for one in tools}
    for name, parameters in SEED.items():
        assert parameters <= shown[name], name


def test_parameters_are_shown_where_the_options_let_them_matter(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.env"
    secrets.write_text("SHOP=hunter2\n")
    for parameter, options in (
        ("session", {"over_http": True}),
        ("saveTo", {"folder": tmp_path}),
        ("secret", {"secrets_file": secrets}),
    ):
        for given, expected in (({}, False), (options, True)):
            tools, _ = list_tools(**given)
            # The fields of a form always have `secret`.
            others = (properties_of(one) for one in tools if one.name != "fill_form")
            assert any(parameter in shown for shown in others) == expected, parameter


def test_output_fields_are_described() -> None:
    tools, _ = list_tools()
    for one in tools:
        # Clients that get structured content drop images, so this tool has no schema.
        assert (one.output_schema is None) == (one.name == "take_screenshot"), one.name
        schema = one.output_schema or {}
        for part in (schema, *schema.get("$defs", {}).values()):
            for field, described in part.get("properties", {}).items():
                assert described.get("description"), (one.name, field)
    compact, _ = list_tools(tools="compact")
    assert all(one.output_schema is None for one in compact)


@pytest.mark.parametrize("tools", TOOL_SETS)
def test_every_name_and_parameter_is_callable_in_every_set(tools: ToolSet) -> None:
    """Without a browser: the calls fail because no tab is open, not because of their names."""
    needed: dict[str, dict[str, Any]] = {
        "fill_form": {"fields": [{"label": "x"}]},
        "interact": {"action": "reload"},
        "handle_dialog": {"accept": True},
    }
    calls: dict[str, dict[str, Any]] = {
        name: {**needed.get(name, {}), "tab": "t1", "session": "s-0123456789abcdef"}
        for name in ({*TOOL_SETS["default"]} | UNLISTED) - {"evaluate_script", "fetch_webpage"}
    }
    calls["click_element"] |= {"returnHtml": False, "removeUnnecessaryHTML": True, "text": "x"}
    calls["type_text"] |= {"returnHtml": False, "label": "x", "text": "x"}
    calls["manage_tabs"]["action"] = "close"
    calls["wait_for"]["text"] = "x"
    del calls["close_tab"]["tab"]
    calls["close_tab"]["all"] = True
    calls["fetch_webpage"] = {"url": "http://[", "session": "new", "tab": "t1"}

    async def run() -> None:
        async with Client(build(tools=tools)) as client:
            for name, arguments in calls.items():
                result = await client.call(name, arguments)
                assert result.is_error, name
                said = result.text
                assert "There is no session" in said or name == "fetch_webpage", (name, said)
                assert result.structured["success"] is False and result.structured["nextSteps"]
                assert json.loads(said) == result.structured

    asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_checker_finds_nothing_in_the_compact_set(transport: str) -> None:
    """The default set is checked with the other ready servers."""
    serve = command("--tools", "compact")

    async def run() -> str:
        if transport == "stdio":
            return await run_check("--", *serve)
        async with serving_http([*serve, "--http", "0"]) as [url]:
            return await run_check(url)

    said = asyncio.run(run())
    assert "0 failed, 0 warnings" in said, said


def strings_in(source: str) -> Iterator[str]:
    """Yield the texts of a module that callers can see: not docstrings, not single words."""
    tree = ast.parse(source)
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(map(id, node.values))
            pieces = [one.value if isinstance(one, ast.Constant) else "0" for one in node.values]
            text = "".join(map(str, pieces))
            if " " in text:
                yield text
        elif isinstance(node, ast.Constant) and id(node) not in skipped and " " in str(node.value):
            yield str(node.value)


def test_every_hint_names_tools_that_both_sets_list_and_their_parameters() -> None:
    options: dict[str, Any] = {"over_http": True, "folder": Path(), "enable_scripts": True}
    lists = [
        {one.name: properties_of(one) for one in list_tools(tools=name, **options)[0]}
        for name in TOOL_SETS
    ]
    known = {*TOOL_SETS["default"], *UNLISTED}
    somewhere = set().union(*lists[0].values())
    checked = 0
    for path in sorted(Path(dovetail_browser.__file__).parent.glob("*.py")):
        for text in strings_in(path.read_text("utf-8")):
            tools = [name for name in tools_in(text) if name in known]
            parameters = parameters_in(text)
            if (not parameters and not tools) or path.stem == "server":
                continue
            checked += 1
            for shown in lists:
                for name in tools:
                    assert name in shown, (path.name, text)
                owned = set().union(*(shown[name] for name in tools)) if tools else somewhere
                assert owned.issuperset(parameters), (path.name, text)
    assert checked > 50

"""A thousand real tools: those of MCP servers, and operations of GitHub's OpenAPI document.

Names have the prefix of their server, as a gateway lists them. Nothing of this is committed; the
packages are installed when the measurement runs.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from dovetail import Client
from qa.bench.environments import ROOT
from qa.bench.npm_packages import NpmHome

__all__ = ["SIZE", "CorpusTool", "load_corpus"]

SIZE = 1000
_SEED = 19
_NPM = NpmHome("search", Path(__file__).with_name("package.json"))
_GITHUB = ("@octokit/openapi", "generated/api.github.com.json")
_METHODS = ("get", "put", "post", "patch", "delete")
# Ready server -> its arguments; {folder} is an empty one.
_OWN = {
    "vault": ("--vault", "sample=examples/vault"),
    "browser": (),
    "graph": ("--db", "{folder}/graph.db"),
    "design": (),
}
# Prefix -> package of npm. Servers with the same tools as another one are left out (GitHub,
# memory, Playwright), because a question would have two right answers.
_SERVERS = {
    "airtable": "airtable-mcp-server",
    "chrome": "chrome-devtools-mcp",
    "circleci": "@circleci/mcp-server-circleci",
    "currents": "@currents/mcp",
    "everything": "@modelcontextprotocol/server-everything",
    "files": "@modelcontextprotocol/server-filesystem",
    "gitlab": "@zereight/mcp-gitlab",
    "hubspot": "@hubspot/mcp-server",
    "linear": "linear-mcp-server",
    "maps": "@modelcontextprotocol/server-google-maps",
    "notion": "@notionhq/notion-mcp-server",
    "slack": "@modelcontextprotocol/server-slack",
    "tavily": "tavily-mcp",
}
# They list their tools without a connection to their service, but not without a key.
_KEYS = """
AIRTABLE_API_KEY CIRCLECI_TOKEN CURRENTS_API_KEY GITLAB_PERSONAL_ACCESS_TOKEN GOOGLE_MAPS_API_KEY
LINEAR_API_KEY NOTION_TOKEN PRIVATE_APP_ACCESS_TOKEN SLACK_BOT_TOKEN SLACK_TEAM_ID TAVILY_API_KEY
"""


class CorpusTool(NamedTuple):
    """The parts of a tool that the search knows."""

    name: str
    description: str
    input_schema: dict[str, Any]


def load_corpus() -> list[CorpusTool]:
    """Return the tools, always the same ones for the same packages."""
    _NPM.prepare()
    tools = asyncio.run(_list_servers())
    operations = list(_read_operations(Path(_NPM.file(*_GITHUB))))
    random.Random(_SEED).shuffle(operations)
    return tools + operations[: SIZE - len(tools)]


async def _list_servers() -> list[CorpusTool]:
    serve = [sys.executable, "-m", "dovetail", "serve"]
    with tempfile.TemporaryDirectory() as folder:
        commands = {
            name: [*serve, name, *(each.format(folder=folder) for each in arguments)]
            for name, arguments in _OWN.items()
        }
        for name, package in _SERVERS.items():
            arguments = [folder] if name == "files" else []
            commands[name] = [_NPM.node, _main_of(package), *arguments]
        return [
            tool for name, command in commands.items() for tool in await _list_tools(name, command)
        ]


async def _list_tools(prefix: str, command: list[str]) -> list[CorpusTool]:
    async with Client(
        command, env={**os.environ, **dict.fromkeys(_KEYS.split(), "none")}, cwd=ROOT
    ) as one:
        return [
            CorpusTool(f"{prefix}_{tool.name}", tool.description or "", tool.input_schema)
            for tool in await one.list_tools()
        ]


def _main_of(package: str) -> str:
    programs = json.loads(Path(_NPM.file(package, "package.json")).read_text("utf-8"))["bin"]
    return _NPM.file(package, programs if isinstance(programs, str) else min(programs.values()))


def _read_operations(path: Path) -> list[CorpusTool]:
    document = json.loads(path.read_text("utf-8"))
    return [
        _read_operation(document, item[method], item.get("parameters", []))
        for item in document["paths"].values()
        for method in _METHODS
        if method in item
    ]


def _read_operation(
    document: dict[str, Any], operation: dict[str, Any], more: list[Any]
) -> CorpusTool:
    properties = {}
    for given in (*more, *operation.get("parameters", [])):
        parameter = _resolve(document, given)
        properties[parameter["name"]] = {"description": parameter.get("description", "")}
    content = operation.get("requestBody", {}).get("content", {})
    for form in content.values():
        properties.update(_resolve(document, form.get("schema", {})).get("properties", {}))
    return CorpusTool(
        "github_" + operation["operationId"].replace("/", "_"),
        f"{operation['summary']}\n\n{operation.get('description', '')}",
        {"type": "object", "properties": properties},
    )


def _resolve(document: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in part:
        target: Any = document
        for key in part["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        part = target
    return part

"""The server over HTTP, with other servers on one port, and with the official client."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession

from dovetail.client import Client
from tests.driving import (
    good,
    refused,
    refused_command,
    serving_http,
    use_over_http,
    use_over_stdio,
)
from tests.graph.driving import command, entity, over_stdio, relation
from tests.patience import CAP

PROMPTS: list[tuple[str, dict[str, str], list[str]]] = [
    ("init-project", {"projectName": "P", "description": "d", "goals": "x, y"}, ["- x\n- y"]),
    (
        "get-context",
        {"query": "fix sails", "entityTypes": "person", "includeHistory": "true"},
        ["['person']", "get_entity_history"],
    ),
    (
        "remember-work",
        {"workType": "task", "name": "T", "description": "d", "dependsOn": "A, B"},
        ["T depends_on A", "T depends_on B"],
    ),
    ("review-context", {"entityName": "Bo", "includeRelated": "false"}, ["'Bo'", "decision"]),
]
NO_TOOLS = {"entity_types", "depends_on", "relates_to", "part_of"}


async def use(session: ClientSession) -> None:
    await session.initialize()
    assert len((await session.list_tools()).tools) == 21
    made = await session.call_tool(
        "create_entities", {"entities": [entity("Ann", "sails"), entity("Bo")]}
    )
    data: Any = made.structured_content
    assert data["created"] == 2
    await session.call_tool("create_relations", {"relations": [relation("Ann", "Bo")]})
    found = await session.call_tool("search_nodes", {"query": "sails"})
    data = found.structured_content
    assert [hit["entity"]["name"] for hit in data["results"]] == ["Ann"]
    wrong = await session.call_tool("create_relations", {"relations": [relation("Ann", "X")]})
    assert wrong.is_error
    read = await session.read_resource("graph://mermaid/Ann")
    assert "knows" in read.contents[0].text  # type: ignore[union-attr]
    names = [prompt.name for prompt in (await session.list_prompts()).prompts]
    assert names == ["init-project", "get-context", "remember-work", "review-context"]


def test_the_official_client_over_stdio(tmp_path: Path) -> None:
    use_over_stdio(command(tmp_path / "graph.db"), use)


def test_the_official_client_over_http(tmp_path: Path) -> None:
    use_over_http(command(tmp_path / "graph.db", "--http", "0"), use)


@pytest.mark.parametrize("mode", ["2025-03-26", "2025-11-25", "2026-07-28"])
def test_our_client_over_http(tmp_path: Path, mode: str) -> None:
    async def run() -> None:
        async with (
            serving_http(command(tmp_path / "graph.db", "--http", "0")) as [url],
            Client(url, mode=mode, timeout=CAP) as client,
        ):
            made = await good(client, "create_entities", entities=[entity("A")])
            assert made["created"] == 1
            await refused(client, "open_nodes", names=[])

    asyncio.run(run())


def test_serve_all_on_one_port(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "dovetail", "serve", "all", "--http", "0"]
    words += ["--db", str(tmp_path / "graph.db"), "--embeddings", "off"]
    words += ["--dir", str(tmp_path / "designs")]

    async def run() -> None:
        async with serving_http(words) as urls:
            [url] = [url for url in urls if url.endswith("/graph/mcp")]
            async with Client(url, timeout=CAP) as client:
                assert (await good(client, "graph_stats"))["entities"] == 0

    asyncio.run(run())


def test_two_servers_share_a_file_but_namespaces_are_separate(tmp_path: Path) -> None:
    database = tmp_path / "graph.db"

    async def run() -> None:
        async with (
            asyncio.timeout(CAP),
            over_stdio(database) as one,
            over_stdio(database) as two,
            over_stdio(database, "--namespace", "other") as other,
            two.subscribe(uris=["graph://recent", "graph://entity/Ann"]) as changes,
        ):
            await good(one, "create_entities", entities=[entity("Ann", "sails")])
            # A change by one process is notified to clients of the other.
            heard = {(await anext(changes)).uri, (await anext(changes)).uri}
            assert heard == {"graph://recent", "graph://entity/Ann"}
            assert (await good(two, "open_nodes", names=["Ann"]))["found"] == 1
            assert (await good(other, "open_nodes", names=["Ann"]))["found"] == 0
            assert (await good(other, "search_nodes", query="sails"))["count"] == 0
            nearest = (await good(other, "open_nodes", names=["Annn"]))["missing"][0]
            assert nearest["didYouMean"] == []
            await refused(other, "get_entity_history", entityName="Ann")
            assert (await good(other, "recent_changes"))["changes"] == []
            assert (await good(other, "graph_stats"))["entities"] == 0
            assert (await other.complete("graph://entity/{+name}", "name", "A")).values == []

    asyncio.run(run())


def test_resources_prompts_and_completions(tmp_path: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(tmp_path / "graph.db") as client:
            people = [entity("Ann/1", "sails", kind="person"), entity("Bo", kind="robot")]
            await good(client, "create_entities", entities=people)
            await good(client, "create_relations", relations=[relation("Ann/1", "Bo")])
            read = (await client.read("graph://entity/Ann%2F1")).text
            assert "sails" in read and "knows" in read
            assert json.loads((await client.read("graph://stats")).text)["entities"] == 2
            assert "Ann/1" in (await client.read("graph://recent")).text
            suggested = await client.complete("graph://entity/{+name}", "name", "an")
            assert suggested.values == ["Ann/1"]
            types = await client.complete("get-context", "entityTypes", "person,ro")
            assert types.values == ["person,robot"]
            flags = await client.complete("review-context", "includeRelated", "t")
            assert flags.values == ["true"]

    asyncio.run(run())


@pytest.mark.parametrize("shown", ["default", "compact"])
def test_prompts_mention_only_tools_that_are_listed(tmp_path: Path, shown: str) -> None:
    async def run() -> None:
        words = ("--tools", shown)
        async with asyncio.timeout(CAP), over_stdio(tmp_path / "graph.db", *words) as client:
            tools = {tool.name for tool in await client.list_tools()}
            for prompt, given, said in PROMPTS:
                [message] = (await client.get_prompt(prompt, given)).messages
                text = getattr(message.content, "text", "")
                assert shown == "compact" or all(words in text for words in said), text
                named = set(re.findall(r"[a-z]+_[a-z_]+", text))
                assert named - NO_TOOLS <= tools, named

    asyncio.run(run())


def test_an_embedder_from_an_entry_point_is_used_and_reported(tmp_path: Path) -> None:
    package = tmp_path / "site"
    info = package / "meaning-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: meaning\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dovetail.embedders]\nmeaning = meaning:Meaning\n")
    (package / "meaning.py").write_text(
        "class Meaning:\n"
        "    name, dimensions, min_similarity = 'meaning-1', 3, 0.5\n"
        "    groups = (('car', 'automobile'), ('cat', 'kitten'), ('Ann',))\n"
        "    def embed(self, texts):\n"
        "        return [[float(any(w in t for w in g)) for g in self.groups] for t in texts]\n"
    )
    words = command(tmp_path / "graph.db", "--embeddings", "auto")
    start = f"import sys; sys.path.insert(0, {str(package)!r}); sys.argv[1:] = {words[3:]!r}; "
    start += "from dovetail.cli import main; main()"

    async def run() -> None:
        async with Client([sys.executable, "-c", start], timeout=CAP) as client:
            things = [entity("One", "an automobile"), entity("Two", "a kitten")]
            await good(client, "create_entities", entities=things)
            found = await good(client, "semantic_search", query="car")
            assert (found["mode"], found["model"]) == ("semantic", "meaning-1")
            assert [one["entity"]["name"] for one in found["results"]] == ["One"]
            assert found["results"][0]["similarity"] == 1 and found["minSimilarity"] == 0.5
            # A changed entity is compared by its current text.
            changed = {"entityName": "Two", "contents": ["drives a car"]}
            await good(client, "add_observations", observations=[changed])
            both = await good(client, "semantic_search", query="automobile", hybrid_search=False)
            assert {one["entity"]["name"] for one in both["results"]} == {"One", "Two"}

    asyncio.run(run())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--namespace", "a b"], "--namespace"),
        (["--embeddings", "nothing-like-it"], "not installed"),
        (["--schema", "/nowhere"], "not a preset"),
        (["--db", "/dev/null/graph.db"], "Cannot store the graph"),
        (["x.db", "--db", "y.db"], "pass only one of them"),
    ],
)
def test_command_line_errors(words: list[str], said: str, tmp_path: Path) -> None:
    assert said in refused_command(tmp_path, "graph", *words)

"""What the lists of tools cost a conversation, and that every name can be called in both sets."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from dovetail_graph.examples import EXAMPLES
from tests.driving import run_check, serving_http
from tests.graph.driving import command, entity, relation
from tests.graph.official import official

# Tools and parameters of the seed.
SEED = {
    "create_entities": {"entities"},
    "create_relations": {"relations"},
    "add_observations": {"observations"},
    "delete_entities": {"entityNames"},
    "delete_observations": {"deletions"},
    "delete_relations": {"relations"},
    "get_relation": {"from", "to", "relationType"},
    "update_relation": {"relation"},
    "read_graph": {"random_string"},
    "search_nodes": {"query"},
    "open_nodes": {"names"},
    "semantic_search": {
        "query",
        "limit",
        "min_similarity",
        "entity_types",
        "hybrid_search",
        "semantic_weight",
    },
    "get_entity_embedding": {"entity_name"},
    "get_entity_history": {"entityName"},
    "get_relation_history": {"from", "to", "relationType"},
    "get_graph_at_time": {"timestamp"},
    "get_decayed_graph": {"reference_time", "decay_factor"},
}
OURS = {"traverse_graph", "merge_entities", "graph_stats", "transfer_graph"}
COMPACT = {"memory_search", "memory_read", "memory_edit", "transfer_graph"}
DEBUG = {"force_generate_embedding", "debug_embedding_config", "diagnose_vector_search"}


@pytest.mark.slow
@pytest.mark.parametrize("over", ["stdio", "http"])
def test_the_checker_finds_nothing_in_the_compact_set(tmp_path: Path, over: str) -> None:
    words = command(tmp_path / "graph.db", "--tools", "compact")

    async def run() -> str:
        if over == "stdio":
            return await run_check("--", *words)
        async with serving_http([*words, "--http", "0"]) as [url]:
            return await run_check(url)

    assert "0 failed, 0 warnings" in asyncio.run(run())


@pytest.mark.parametrize(("tools", "most"), [("default", 4_000), ("compact", 2_000)])
def test_a_list_is_short_and_every_name_can_be_called(
    tmp_path: Path, tools: str, most: int
) -> None:
    with official(command(tmp_path / "graph.db", "--tools", tools)) as client:
        listed = {one.name: one for one in client.list_tools().tools}
        assert listed.keys() == (COMPACT if tools == "compact" else SEED.keys() | OURS)
        shown = [
            {"name": one.name, "description": one.description, "inputSchema": one.input_schema}
            for one in listed.values()
        ]
        text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        assert (len(text) + len(client.instructions)) / 4 <= most
        assert "pattern" not in text and '{"type":"null"}' not in text and '"title"' not in text
        assert not any(one.output_schema for one in listed.values())
        for name, parameters in SEED.items() if tools == "default" else ():
            assert parameters <= listed[name].input_schema["properties"].keys(), name
        for name in EXAMPLES.keys() - DEBUG:
            result = client.call(name, EXAMPLES[name])
            assert "Unknown tool" not in str(result.content), name


def test_the_compact_tools_do_the_work_of_the_others(tmp_path: Path) -> None:
    with official(command(tmp_path / "graph.db", "--tools", "compact")) as client:

        def ask(tool: str, **arguments: Any) -> Any:
            result = client.call(tool, arguments)
            assert not result.is_error, result.content
            return result.structured_content

        past = {"content": "Lived in Rome", "validFrom": "2015-01-01", "validTo": "2018-01-01"}
        knows = relation("Ann", "Bo", confidence=0.9)
        made = ask(
            "memory_edit",
            entities=[entity("Ann", "Likes tea", past), entity("Bo"), entity("Cy", kind="cat")],
            relations=[knows, relation("Bo", "Cy", "owns")],
        )
        assert (made["created"], made["rejected"]) == (5, 0)
        changed = ask(
            "memory_edit",
            observations=[
                {
                    "entityName": "Ann",
                    "contents": [{"content": "Likes mint", "replaces": "Likes tea"}],
                }
            ],
            updateRelations=[{**knows, "confidence": 0.4}],
            delete={"relations": [relation("Bo", "Cy", "owns")]},
        )
        assert (changed["updated"], changed["deleted"]) == (2, 1)
        refused = client.call(
            "memory_edit",
            {"entities": [entity("Dee")], "delete": {"entities": ["Nobody"]}, "atomic": True},
        )
        assert refused.is_error and ask("memory_read", names=["Dee"])["missing"]

        for by in ("meaning", "words", "prefix"):
            found = ask("memory_search", query="Rome", by=by)
            assert found["results"][0]["entity"]["name"] == "Ann", by
        assert ask("memory_search", query="mint", entity_types=["cat"])["results"] == []
        opened = ask("memory_read", names=["Ann"], depth=1)
        assert [one["name"] for one in opened["entities"]] == ["Ann", "Bo"]
        assert ask("memory_read", names=["Ann"], target="Bo")["paths"] == [["Ann", "Bo"]]
        assert ask("memory_read", names=["Ann"], history=True)["totalVersions"] == 2
        assert ask("memory_read", relation=relation("Ann", "Bo"))["relation"]["confidence"] == 0.4
        assert ask("memory_read", relation=relation("Ann", "Bo"), history=True)["history"]
        assert ask("memory_read", entity_types=["cat"])["total"] == 1
        rome = ask("memory_read", asOf="2016-01-01")
        assert [one["observations"] for one in rome["entities"]] == [["Lived in Rome"]]
        assert ask("memory_read", asOf="2016-01-01", recorded_at="2016-01-01")["total"] == 0
        assert ask("memory_read", overview="stats")["entities"] == 3
        assert ask("memory_read", overview="changes")["changes"][0]["action"] == "deleted"

"""What the lists of tools cost a conversation, and that every name can be called in both sets."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from dovetail_graph.examples import EXAMPLES
from tests.driving import serving_http
from tests.graph.driving import command
from tests.graph.official import official
from tests.patience import CAP

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
            return await check("--", *words)
        async with serving_http([*words, "--http", "0"]) as [url]:
            return await check(url)

    assert "0 failed, 0 warnings" in asyncio.run(run())


async def check(*target: str) -> str:
    """Return what `dovetail check` says of a server."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "dovetail", "check", "--fail-on", "should", *target),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(CAP):
        said, _ = await process.communicate()
    return said.decode()


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

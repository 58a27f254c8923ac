"""Every tool through the real entry point, over stdio."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Client
from dovetail_graph.examples import EXAMPLES
from tests.driving import good, refused
from tests.graph.driving import entity, over_stdio, relation
from tests.patience import CAP

CORE = {
    "create_entities", "create_relations", "add_observations", "delete_entities",
    "delete_observations", "delete_relations", "get_relation", "update_relation", "read_graph",
    "search_nodes", "open_nodes", "semantic_search", "get_entity_embedding", "get_entity_history",
    "get_relation_history", "get_graph_at_time", "get_decayed_graph",
}  # fmt: skip
MORE = {"traverse_graph", "merge_entities", "graph_stats", "transfer_graph"}
DEBUG = {"force_generate_embedding", "debug_embedding_config", "diagnose_vector_search"}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "graph.db"


def drive(
    database: Path, use: Callable[[Client], Awaitable[None]], *options: str, **client: Any
) -> None:
    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(database, *options, **client) as connected:
            await use(connected)

    asyncio.run(run())


async def family(client: Client) -> None:
    people = [entity("Ann", "Ann likes sailing", kind="person"), entity("Bo", kind="person")]
    await good(client, "create_entities", entities=[*people, entity("Boat", "It is red")])
    await good(
        client,
        "create_relations",
        relations=[relation("Ann", "Bo"), relation("Bo", "Boat", "owns")],
    )


def test_debug_tools_are_listed_only_with_the_option(database: Path) -> None:
    async def plain(client: Client) -> None:
        assert {tool.name for tool in await client.list_tools()} == CORE | MORE

    async def debug(client: Client) -> None:
        assert {tool.name for tool in await client.list_tools()} == CORE | MORE | DEBUG

    drive(database, plain)
    drive(database, debug, "--debug-tools")


def test_every_example_is_accepted_and_those_in_descriptions_are_among_them(database: Path) -> None:
    async def use(client: Client) -> None:
        tools = await client.list_tools()
        shown = {
            tool.name: json.loads((tool.description or "").rpartition("Example: ")[2])
            for tool in tools
            if "Example: " in (tool.description or "")
        }
        assert len(shown) == 3 and shown.items() <= EXAMPLES.items()
        for name, example in EXAMPLES.items():
            await good(client, name, **example)

    drive(database, use, "--debug-tools", "--embeddings", "minilm")


def test_each_item_of_a_batch_has_its_outcome(database: Path) -> None:
    async def use(client: Client) -> None:
        made = await good(client, "create_entities", entities=[entity("Ann", "one")])
        assert made["created"] == 1 and made["items"][0]["outcome"] == "created"
        again = await good(
            client,
            "create_entities",
            entities=[entity("Ann", "one"), entity("Ann", "two"), entity("Bo")],
        )
        assert [item["outcome"] for item in again["items"]] == ["unchanged", "updated", "created"]
        linked = await good(
            client,
            "create_relations",
            relations=[
                relation("Ann", "Bo"),
                relation("Ann", "Bob"),
                relation("Bo", "Bo"),
                relation("Ann", "Bo"),
            ],
        )
        assert (linked["created"], linked["updated"], linked["rejected"]) == (1, 1, 2)
        reasons = [item["reason"] for item in linked["items"][:2]]
        assert "no entity 'Bob'" in reasons[0] and "two different entities" in reasons[1]
        added = await good(
            client,
            "add_observations",
            observations=[
                {"entityName": "Ann", "contents": ["two", "three"]},
                {"entityName": "Cy", "contents": ["x"]},
            ],
        )
        assert added["items"][1]["added"] == ["three"] and added["rejected"] == 1
        gone = await good(
            client,
            "delete_observations",
            deletions=[
                {"entityName": "Ann", "observations": ["three", "never"]},
                {"entityName": "Bo", "observations": ["never"]},
            ],
        )
        assert [item.get("count") for item in gone["items"]] == [1, 0]

    drive(database, use)


def test_an_atomic_batch_with_a_rejected_item_changes_nothing(database: Path) -> None:
    async def use(client: Client) -> None:
        await good(client, "create_entities", entities=[entity("Ann")])
        words = await refused(
            client,
            "create_relations",
            relations=[relation("Ann", "Nobody")],
            atomic=True,
        )
        assert "Nothing was changed" in words
        many = [entity("Bo"), entity("Cy", validFrom="never")]
        assert "must be a time" in await refused(
            client, "create_entities", entities=many, atomic=True
        )
        assert [one["name"] for one in (await good(client, "read_graph"))["entities"]] == ["Ann"]
        partly = await good(client, "create_entities", entities=many)
        assert (partly["created"], partly["rejected"]) == (1, 1)
        # If every item is rejected, the result is an error with the same data.
        result = await client.call("create_relations", {"relations": [relation("X", "Y")]})
        assert result.is_error and result.data["rejected"] == 1

    drive(database, use)


def test_boundaries_of_valid_and_recorded_time(database: Path) -> None:
    async def use(client: Client) -> None:
        made = await good(
            client,
            "create_entities",
            entities=[
                entity("Job", "at Acme", validFrom="2020-01-01", validTo="2022-01-01"),
            ],
        )
        recorded = made["recordedAt"]

        async def names(timestamp: Any, recorded_at: Any = None) -> list[str]:
            given = {} if recorded_at is None else {"recorded_at": recorded_at}
            page = await good(client, "get_graph_at_time", timestamp=timestamp, **given)
            return [one["name"] for one in page["entities"]]

        # The start of validity is inclusive, the end exclusive.
        assert await names("2019-12-31T23:59:59.999999Z", "now") == []
        assert await names("2020-01-01", "now") == ["Job"]
        assert await names("2021-12-31T23:59:59.999999Z", "now") == ["Job"]
        assert await names("2022-01-01", "now") == []
        assert await names(1_600_000_000_000, "now") == ["Job"]
        # Recorded from the returned time on, not before.
        assert await names("2021-01-01", recorded) == ["Job"]
        just_before = datetime.fromisoformat(recorded) - timedelta(microseconds=1)
        assert await names("2021-01-01", just_before.isoformat()) == []
        # In 2021 nothing was recorded, so the graph at that time is empty.
        assert await names("2021-01-01") == []

    drive(database, use)


def test_a_deleted_entity_is_still_found_at_earlier_times(database: Path) -> None:
    async def use(client: Client) -> None:
        await family(client)
        then = (await good(client, "graph_stats"))["lastChange"]
        await good(client, "delete_entities", entityNames=["Bo"])
        now = await good(client, "read_graph")
        assert [one["name"] for one in now["entities"]] == ["Ann", "Boat"]
        assert now["relations"] == []
        past = await good(client, "get_graph_at_time", timestamp=then)
        assert [one["name"] for one in past["entities"]] == ["Ann", "Bo", "Boat"]
        assert len(past["relations"]) == 2
        found = await good(client, "search_nodes", query="Bo", match="exact", as_of=then)
        assert [hit["entity"]["name"] for hit in found["results"]] == ["Bo"]
        opened = await good(client, "open_nodes", names=["Bo"])
        assert opened["found"] == 0 and opened["missing"][0]["name"] == "Bo"
        assert (await good(client, "open_nodes", names=["Bo"], as_of=then))["found"] == 1
        history = await good(client, "get_entity_history", entityName="Bo")
        assert [version["present"] for version in history["history"]] == [False, True]
        assert history["totalVersions"] == 2
        # Creating it again does not restore its relations.
        await good(client, "create_entities", entities=[entity("Bo")])
        assert (await good(client, "read_graph"))["relations"] == []

    drive(database, use)


def test_a_relation_has_its_history(database: Path) -> None:
    async def use(client: Client) -> None:
        await family(client)
        await good(
            client,
            "update_relation",
            relation=relation("Ann", "Bo", confidence=0.4, metadata={"why": "a quarrel"}),
        )
        got = (await good(client, "get_relation", **relation("Ann", "Bo")))["relation"]
        assert (got["strength"], got["confidence"]) == (0.9, 0.4)
        assert got["metadata"] == {"why": "a quarrel"} and got["currentConfidence"] == 0.4
        told = await good(client, "get_relation_history", **relation("Ann", "Bo"))
        # The original version, its part that stayed valid, and the new version.
        assert [one["confidence"] for one in told["history"]] == [0.4, 0.95, 0.95]
        closed = [one["recordedUntil"] for one in told["history"] if "recordedUntil" in one]
        assert closed == [told["history"][0]["recordedAt"]]
        absent = await good(client, "get_relation", **relation("Bo", "Ann"))
        assert absent == {"found": False}
        assert "no relation" in await refused(
            client, "update_relation", relation=relation("Bo", "Ann")
        )

    drive(database, use)


def test_confidence_halves_at_each_half_life(database: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"halfLives": {"prefers": 60}, "floor": 0.1}))

    async def use(client: Client) -> None:
        await good(client, "create_entities", entities=[entity("A"), entity("B")])
        begun = "2024-01-01T00:00:00Z"
        await good(
            client,
            "create_relations",
            relations=[
                relation("A", "B", kind, confidence=0.8, validFrom=begun)
                for kind in ("knows", "prefers")
            ],
        )

        async def faded(when: str, **more: Any) -> list[float]:
            page = await good(client, "get_decayed_graph", reference_time=when, **more)
            assert {one["originalConfidence"] for one in page["relations"]} == {0.8}
            return [one["confidence"] for one in page["relations"]]

        assert await faded("2023-01-01") == [0.8, 0.8]
        assert await faded(begun) == [0.8, 0.8]
        assert await faded("2024-01-31") == [0.4, round(0.8 * 0.5**0.5, 6)]
        assert await faded("2024-03-01") == [0.2, 0.4]
        assert await faded("2030-01-01") == [0.1, 0.1]
        assert await faded("2024-01-31", decay_factor=0.25) == [0.2, 0.4]
        # Recording it again restarts the decay.
        await good(client, "create_relations", relations=[relation("A", "B", confidence=0.5)])
        now = await good(client, "get_decayed_graph")
        assert now["relations"][0]["confidence"] == pytest.approx(0.8, abs=1e-3)
        assert now["relations"][1]["confidence"] == 0.1

    drive(database, use, "--schema", str(schema))


def test_a_schema_restricts_types(database: Path) -> None:
    async def use(client: Client) -> None:
        both = [entity("A", kind="task"), entity("B", kind="person")]
        made = await good(client, "create_entities", entities=both)
        assert "allowed: feature, task" in made["items"][0]["reason"]
        await good(client, "create_entities", entities=[entity("C", kind="test")])
        words = await refused(client, "create_relations", relations=[relation("A", "C", "likes")])
        assert "depends_on" in words

    drive(database, use, "--schema", "software")


def test_a_merge_moves_everything_and_keeps_the_old_name_as_alias(database: Path) -> None:
    async def use(client: Client) -> None:
        await family(client)
        await good(client, "create_entities", entities=[entity("Anna", "Anna lives in Oslo")])
        await good(client, "create_relations", relations=[relation("Anna", "Ann", "same_as")])
        then = (await good(client, "graph_stats"))["lastChange"]
        arguments = {"into": "Anna", "from": ["Ann"]}
        tried = await good(client, "merge_entities", **arguments, dryRun=True)
        assert (tried["observationsMoved"], tried["relationsMoved"]) == (1, 1)
        assert tried["relationsDropped"] == 1
        assert len((await good(client, "read_graph"))["entities"]) == 4
        done = await good(client, "merge_entities", **arguments)
        assert {**done, "dryRun": True} == tried
        opened = await good(client, "open_nodes", names=["Ann"])
        [merged] = opened["entities"]
        assert merged["name"] == "Anna" and merged["aliases"] == ["Ann"]
        texts = {one["content"] for one in merged["details"]}
        assert texts == {"Ann likes sailing", "Anna lives in Oslo"}
        assert [(one["from"], one["to"]) for one in opened["relations"]] == [("Anna", "Bo")]
        past = await good(client, "get_graph_at_time", timestamp=then)
        assert len(past["entities"]) == 4
        # Observations for the former name reach the entity.
        await good(
            client, "add_observations", observations=[{"entityName": "Ann", "contents": ["new"]}]
        )
        assert "itself" in await refused(client, "merge_entities", **{"into": "Bo", "from": ["Bo"]})

    drive(database, use)


def test_a_merge_into_a_new_name_renames(database: Path) -> None:
    async def use(client: Client) -> None:
        await family(client)
        done = await good(client, "merge_entities", **{"into": "Bob", "from": ["Bo"]})
        assert done["created"] and done["relationsMoved"] == 2
        page = await good(client, "read_graph")
        assert [one["name"] for one in page["entities"]] == ["Ann", "Boat", "Bob"]
        assert {(one["from"], one["to"]) for one in page["relations"]} == {
            ("Ann", "Bob"),
            ("Bob", "Boat"),
        }
        assert (await good(client, "get_relation", **relation("Bo", "Boat", "owns")))["found"]

    drive(database, use)


def test_purge_asks_for_confirmation_and_leaves_no_trace(database: Path) -> None:
    secret = "xyzzy-plugh-quux"
    asked: list[str] = []

    def decline(request: Any) -> None:
        asked.append(request.message)

    def agree(request: Any) -> dict[str, Any]:
        asked.append(request.message)
        return {"confirm": True}

    def files() -> bytes:
        return b"".join(path.read_bytes() for path in database.parent.glob("graph.db*"))

    async def fill(client: Client) -> None:
        await family(client)
        await good(client, "create_entities", entities=[entity("Diary", f"the word is {secret}")])
        assert "does not support elicitation" in await refused(
            client, "delete_entities", entityNames=["Diary"], purge=True
        )

    async def keep(client: Client) -> None:
        words = await refused(client, "delete_entities", entityNames=["Diary"], purge=True)
        assert "did not agree" in words
        assert (await good(client, "open_nodes", names=["Diary"]))["found"] == 1

    async def erase(client: Client) -> None:
        assert secret.encode() in files()
        gone = await good(client, "delete_entities", entityNames=["Diary"], purge=True)
        assert gone["purged"] == 1
        assert "no entity" in await refused(client, "get_entity_history", entityName="Diary")
        changes = await good(client, "recent_changes")
        assert secret not in json.dumps(changes) and "Diary" not in json.dumps(changes)

    drive(database, fill)
    drive(database, keep, elicit=decline)
    drive(database, erase, elicit=agree)
    assert len(asked) == 2 and "Diary" in asked[0]
    assert secret.encode() not in files() and b"Diary" not in files()


def test_search_finds_words_beginnings_misspellings_and_whole_texts(database: Path) -> None:
    async def use(client: Client) -> None:
        await family(client)
        await good(
            client, "create_entities", entities=[entity("Überfähre", "東京タワー", kind="ship")]
        )

        async def names(query: str, **more: Any) -> list[str]:
            found = await good(client, "search_nodes", query=query, **more)
            return [hit["entity"]["name"] for hit in found["results"]]

        assert await names("sail") == ["Ann"]
        assert await names("red boat") == ["Boat"]
        assert await names("PERSON") == ["Ann", "Bo"] or await names("PERSON") == ["Bo", "Ann"]
        assert await names("uberfahre") == ["Überfähre"]
        assert await names("東京") == ["Überfähre"]
        assert await names("bo", match="prefix") == ["Bo", "Boat"]
        assert await names("Uberfehre", match="fuzzy") == ["Überfähre"]
        assert await names("it is red", match="exact") == ["Boat"]
        assert await names("it is", match="exact") == []
        assert await names("sailing red") == ["Boat", "Ann"] or await names("sailing red") == [
            "Ann",
            "Boat",
        ]
        assert await names("person", entityTypes=["thing"]) == []
        assert await names("ann bo boat", relationTypes=["owns"], match="words") == ["Bo", "Boat"]
        for odd in ['"', "a AND", "*", "NEAR(", "x' OR 1=1 --", "ns : x", "^a", "-", "a:b", "{}"]:
            await good(client, "search_nodes", query=odd)
            await good(client, "semantic_search", query=odd)

    drive(database, use)


def test_lexical_similarity_is_a_cosine_and_reported_as_lexical(database: Path) -> None:
    async def use(client: Client) -> None:
        await family(client)
        found = await good(client, "semantic_search", query="Ann likes sailing", explain=True)
        first = found["results"][0]
        assert found["mode"] == "lexical" and found["model"] == "hashed-ngrams-1"
        assert first["entity"]["name"] == "Ann" and first["similarity"] > 0.99
        assert (
            first["matchedObservation"] == "Ann likes sailing" and "rank 1" in first["explanation"]
        )
        nearly = await good(client, "semantic_search", query="sailors like it", hybrid_search=False)
        assert nearly["results"][0]["entity"]["name"] == "Ann"
        assert 0.25 <= nearly["results"][0]["similarity"] < 0.9
        strict = await good(client, "semantic_search", query="sailors like it", min_similarity=0.95)
        assert strict["results"] == []
        none = await good(client, "semantic_search", query="zzz qqq")
        assert none["results"] == []
        vector = await good(client, "get_entity_embedding", entity_name="Ann")
        assert vector["kind"] == "lexical" and vector["dimensions"] == len(vector["embedding"])
        assert sum(x * x for x in vector["embedding"]) == pytest.approx(1, abs=1e-3)

    async def off(client: Client) -> None:
        found = await good(client, "semantic_search", query="sailing")
        assert found["mode"] == "lexical" and "model" not in found
        assert found["results"][0]["entity"]["name"] == "Ann"
        assert "similarity" not in found["results"][0]
        assert "off" in await refused(client, "get_entity_embedding", entity_name="Ann")

    drive(database, use)
    drive(database, off, "--embeddings", "off")


def test_traversal_follows_relations(database: Path) -> None:
    async def use(client: Client) -> None:
        letters = "ABCDEF"
        await good(client, "create_entities", entities=[entity(one) for one in letters])
        pairs = list(pairwise(letters))
        # A cycle: every traversal must end.
        links = [relation(*pair) for pair in [*pairs, ("F", "A")]]
        await good(client, "create_relations", relations=links)
        out = await good(client, "traverse_graph", start=["A"], depth=2, direction="out")
        assert {one["name"]: one["distance"] for one in out["nodes"]} == {"A": 0, "B": 1, "C": 2}
        both = await good(client, "traverse_graph", start=["A"], depth=5)
        assert len(both["nodes"]) == 6 and len(both["edges"]) == 6
        way = await good(
            client,
            "traverse_graph",
            start=["A"],
            depth=5,
            mode="shortest_path",
            target="C",
            direction="in",
        )
        assert way["paths"] == [["A", "F", "E", "D", "C"]] and len(way["edges"]) == 4
        cut = await good(client, "traverse_graph", start=["A"], depth=5, limit=3)
        assert len(cut["nodes"]) == 3 and cut["truncated"]
        assert "no entity 'Z'" in await refused(client, "traverse_graph", start=["Z"])
        await refused(client, "traverse_graph", start=["A"], mode="shortest_path")

    drive(database, use)


def test_pages_contain_every_entity_once_and_results_are_limited(database: Path) -> None:
    async def use(client: Client) -> None:
        names = [f"N{number:03}" for number in range(300)]
        await good(
            client,
            "create_entities",
            entities=[
                entity(name, *(f"{name} {x} " + "x" * 400 for x in range(9))) for name in names
            ],
        )
        hub = [relation("N000", name) for name in names[1:]]
        await good(client, "create_relations", relations=hub)
        long = {"entityName": "N001", "contents": ["z" * 5000, "y" * 5000, "x" * 5000, "w" * 5000]}
        await good(client, "add_observations", observations=[long])
        seen: list[str] = []
        given: dict[str, Any] = {}
        while True:
            page = await good(client, "read_graph", **given)
            assert page["total"] == 300 and len(json.dumps(page)) < 20_000
            seen += [one["name"] for one in page["entities"]]
            if not page["hasMore"]:
                break
            given = {"cursor": page["nextCursor"]}
        assert seen == names
        calls: dict[str, dict[str, Any]] = {
            "open_nodes": {"names": names[:200], "depth": 1},
            "search_nodes": {"query": "xxx N001 N002", "match": "prefix", "limit": 200},
            "semantic_search": {"query": "N001 x", "limit": 100},
            "traverse_graph": {"start": ["N000"], "depth": 3, "limit": 500},
            "get_entity_history": {"entityName": "N001"},
            "recent_changes": {"limit": 500},
            "graph_stats": {},
            "get_decayed_graph": {},
            "delete_entities": {"entityNames": names},
        }
        for tool, arguments in calls.items():
            text = json.dumps(await good(client, tool, **arguments), ensure_ascii=False)
            assert len(text) < 20_000, (tool, len(text))
        few = await good(client, "read_graph", limit=0, names_only=True)
        assert few["entities"] == []

    drive(database, use)


def test_import_and_export(database: Path, tmp_path: Path) -> None:
    lines = [
        {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["a", "b"]},
        {"type": "entity", "name": "Bo", "entityType": "person", "observations": []},
        {"type": "relation", "from": "Ann", "to": "Bo", "relationType": "knows"},
        {"type": "what"},
    ]
    text = "\n".join(map(json.dumps, lines))

    async def use(client: Client) -> None:
        done = await good(client, "transfer_graph", action="import", data=text)
        assert (done["entities"], done["relations"], done["observations"]) == (2, 1, 2)
        assert done["rejected"] == 1
        out = await good(client, "transfer_graph", action="export")
        assert [json.loads(line) for line in out["data"].splitlines()] == lines[:3]
        chart = await good(client, "transfer_graph", action="export", format="mermaid")
        assert 'e0 -->|"knows"| e1' in chart["data"]
        drawn = await good(client, "transfer_graph", action="export", format="graphml")
        assert '<node id="Ann">' in drawn["data"]
        saved = await good(
            client, "transfer_graph", action="export", format="json", saveTo="all.json"
        )
        assert saved["savedTo"] == "all.json"
        assert json.loads((await client.read("graph://export/all.json")).text)["entities"]
        for path in ("../x", "/etc/passwd", "a/b", ".hidden", ""):
            await refused(client, "transfer_graph", action="export", saveTo=path)
            await refused(client, "transfer_graph", action="import", loadFrom=path)
        await refused(client, "transfer_graph", action="import", data="not json")
        await refused(client, "transfer_graph", action="import", format="mermaid", data="graph")

    async def other(client: Client) -> None:
        assert (await good(client, "read_graph"))["total"] == 0
        done = await good(
            client, "transfer_graph", action="import", format="json", loadFrom="all.json"
        )
        assert (done["entities"], done["relations"], done["rejected"]) == (2, 1, 0)

    drive(database, use)
    exports = tmp_path / "graph-exports"
    # Exports of one namespace are not visible to another; the user may copy the files.
    (exports / "second").mkdir()
    (exports / "second" / "all.json").write_bytes((exports / "default" / "all.json").read_bytes())
    drive(database, other, "--namespace", "second")


def test_names_of_any_script_and_long_texts(database: Path) -> None:
    names = [
        "名前",
        "نام",
        "🙂🙃",
        "a/b?c=d#e%20",
        "Robert'); DROP TABLE entities;--",
        "e\u0301t\u00e9",
    ]

    async def use(client: Client) -> None:
        made = await good(
            client, "create_entities", entities=[entity(name, "x" * 5000) for name in names]
        )
        assert made["created"] == len(names)
        for name in names:
            opened = await good(client, "open_nodes", names=[name])
            assert (
                opened["found"] == 1 and len(opened["entities"][0]["details"][0]["content"]) == 5000
            )
        # Two Unicode forms of the same characters are one name.
        assert (await good(client, "open_nodes", names=["\u00e9t\u00e9"]))["found"] == 1

    drive(database, use)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("create_entities", {"entities": []}, "entities"),
        ("create_entities", {"entities": [entity("")]}, "name"),
        ("create_entities", {"entities": [entity("  ")]}, "name"),
        ("create_entities", {"entities": [entity("a\x00b")]}, "name"),
        ("create_entities", {"entities": [entity("x" * 201)]}, "200"),
        ("create_entities", {"entities": [entity("x", "y" * 5001)]}, "5000"),
        ("create_entities", {"entities": [entity("x", id="7")]}, "id"),
        ("create_entities", {"entities": [entity("x", validFrom="soon")]}, "validFrom"),
        ("create_entities", {"entities": [entity("x", validFrom=1e30)]}, "validFrom"),
        (
            "create_entities",
            {"entities": [entity("x", validFrom="2025-01-01", validTo="2025-01-01")]},
            "after",
        ),
        ("create_relations", {"relations": [relation("a", "b", confidence=1.5)]}, "1"),
        ("create_relations", {"relations": [relation("a", "b", confidence="NaN")]}, "confidence"),
        ("create_relations", {"relations": [{"from": "a", "to": "b"}]}, "relationType"),
        ("create_relations", {"relations": [relation("a", "b")]}, "no entity 'a'"),
        ("get_graph_at_time", {"timestamp": "yesterday"}, "timestamp"),
        ("get_decayed_graph", {"decay_factor": 0}, "decay_factor"),
        ("read_graph", {"cursor": "%%%"}, "cursor"),
        ("read_graph", {"center": "Nobody"}, "no entity"),
        ("search_nodes", {"query": ""}, "query"),
        ("semantic_search", {"query": "x", "similarity": 1}, "similarity"),
        ("merge_entities", {"into": "a", "from": ["b"]}, "no entity 'b'"),
        ("delete_entities", {"entityNames": ["b"]}, "no entity 'b'"),
        ("transfer_graph", {"action": "import"}, "either"),
    ],
)
def test_invalid_input_is_rejected_and_changes_nothing(
    database: Path, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async def use(client: Client) -> None:
        assert said in await refused(client, tool, **arguments)
        stats = await good(client, "graph_stats")
        assert (stats["entities"], stats["relations"]) == (0, 0)

    drive(database, use)
    with sqlite3.connect(database) as file:
        for table in ("entities", "observations", "relations", "changes"):
            assert file.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    file.close()

"""Corrections, types, paths and spellings of arguments, through the official client."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.graph.driving import command, entity, relation
from tests.graph.official import Official, official


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Official]:
    with official(command(tmp_path_factory.mktemp("corrections") / "graph.db")) as client:
        yield client


def good(client: Official, tool: str, **arguments: Any) -> Any:
    result = client.call(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


def refused(client: Official, tool: str, **arguments: Any) -> str:
    result = client.call(tool, arguments)
    assert result.is_error, result.content
    return result.content[0].text  # type: ignore[union-attr]


def texts(client: Official, name: str) -> list[str]:
    [one] = good(client, "open_nodes", names=[name])["entities"]
    return [detail["content"] for detail in one["details"]]


def test_recreating_an_entity_does_not_change_its_type(client: Official) -> None:
    good(client, "create_entities", entities=[entity("Ann", "sails", kind="person")])
    again = good(client, "create_entities", entities=[entity("Ann", "cooks", kind="robot")])
    assert again["items"][0]["outcome"] == "updated"
    assert "still of type 'person'" in again["items"][0]["reason"]
    same = good(client, "create_entities", entities=[entity("Ann", kind="robot")])
    assert (
        same["items"][0]["outcome"] == "unchanged" and "replaceType" in same["items"][0]["reason"]
    )
    # Not by another period either.
    good(client, "create_entities", entities=[entity("Ann", kind="robot", validFrom="2015-01-01")])
    [one] = good(client, "open_nodes", names=["Ann"])["entities"]
    assert one["entityType"] == "person" and one["validFrom"].startswith("2015-01-01")
    changed = entity("Ann", kind="sailor", replaceType=True)
    good(client, "create_entities", entities=[changed])
    [one] = good(client, "open_nodes", names=["Ann"])["entities"]
    assert one["entityType"] == "sailor"


def test_an_observation_is_replaced_in_one_call(client: Official) -> None:
    since = {"content": "Born in 1980", "validFrom": "1980-01-01", "source": "a letter"}
    good(client, "create_entities", entities=[entity("Bo", since, "Likes tea")])
    new = {"content": "Born in 1981", "replaces": "Born in 1980"}
    done = good(client, "add_observations", observations=[{"entityName": "Bo", "contents": [new]}])
    assert done["items"][0]["added"] == ["Born in 1981"]
    assert texts(client, "Bo") == ["Born in 1981", "Likes tea"]
    details = good(client, "open_nodes", names=["Bo"])["entities"][0]["details"]
    # The correction is true for the time of what it corrects.
    assert details[0]["validFrom"].startswith("1980-01-01")
    # All or nothing: a text that does not exist is named, with the nearest one.
    wrong = [{"content": "Likes mint", "replaces": "Like tea"}, "Runs"]
    said = refused(
        client, "add_observations", observations=[{"entityName": "Bo", "contents": wrong}]
    )
    assert "no observation 'Like tea' to replace; did you mean 'Likes tea'?" in said
    assert texts(client, "Bo") == ["Born in 1981", "Likes tea"]
    by_id = {"content": "Likes coffee", "replaces": details[1]["id"]}
    good(client, "add_observations", observations=[{"entityName": "Bo", "contents": [by_id]}])
    assert texts(client, "Bo") == ["Born in 1981", "Likes coffee"]


def test_texts_to_delete_that_do_not_exist_are_reported(client: Official) -> None:
    good(client, "create_entities", entities=[entity("Cy", "one", "two")])
    gone = good(
        client,
        "delete_observations",
        deletions=[{"entityName": "Cy", "observations": ["one", "One", "three"]}],
    )
    assert gone["items"][0]["notFound"] == ["One", "three"] and gone["items"][0]["count"] == 1
    none = good(
        client, "delete_observations", deletions=[{"entityName": "Cy", "observations": ["x"]}]
    )
    assert none["items"][0]["outcome"] == "unchanged" and none["items"][0]["notFound"] == ["x"]


def test_a_shortest_path_needs_no_depth(client: Official) -> None:
    letters = [f"P{letter}" for letter in "ABCDEFG"]
    good(client, "create_entities", entities=[entity(one) for one in [*letters, "Island"]])
    links = [relation(*pair) for pair in itertools.pairwise(letters)]
    good(client, "create_relations", relations=links)
    for more in ({}, {"mode": "shortest_path"}):
        way = good(client, "traverse_graph", start=["PA"], target="PG", **more)
        assert way["paths"] == [letters] and len(way["edges"]) == 6
    none = good(client, "traverse_graph", start=["PA"], target="Island")
    assert none["paths"] == [] and none["note"] == "No path from PA to Island within 10 steps"
    near = good(client, "traverse_graph", start=["PA"], target="PG", depth=3, direction="out")
    assert near["note"] == "No path from PA to PG within 3 steps in direction 'out'"


def test_both_spellings_of_arguments_are_accepted(client: Official) -> None:
    good(client, "create_entities", entities=[entity("Dee", "likes rye", kind="bakery")])
    for tool, arguments in (
        ("search_nodes", {"query": "rye"}),
        ("semantic_search", {"query": "likes rye"}),
        ("read_graph", {}),
        ("get_graph_at_time", {"timestamp": "now"}),
        ("get_decayed_graph", {}),
    ):
        for spelling in ("entity_types", "entityTypes"):
            found = good(client, tool, **arguments, **{spelling: ["bakery"]})
            assert len(found.get("results") or found["entities"]) == 1, tool
            none = good(client, tool, **arguments, **{spelling: ["pub"]})
            assert (none.get("results") or none.get("entities") or []) == [], tool
    listed = {one.name: one.input_schema["properties"] for one in client.list_tools().tools}
    assert not [name for name, shown in listed.items() if "entityTypes" in shown]
    assert "entity_types" in listed["search_nodes"]


def test_names_and_texts_are_checked_in_code(client: Official) -> None:
    for wrong, said in (
        (entity(""), "name must not be empty"),
        (entity("a\x07b"), "control characters"),
        (entity("x" * 201), "at most 200"),
        (entity("x", kind=" "), "entityType must not be empty"),
        (entity("x", "y" * 5_001), "at most 5000"),
    ):
        assert said in refused(client, "create_entities", entities=[wrong])
        # Only this item is rejected.
        both = good(client, "create_entities", entities=[wrong, entity("Fine")])
        assert both["rejected"] == 1

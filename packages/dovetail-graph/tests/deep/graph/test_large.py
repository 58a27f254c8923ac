"""Search in a graph with very common words, which are not all ranked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dovetail_graph.lexical_search import find_matches
from dovetail_graph.records import (
    EntityRecord,
    ObservationRecord,
    RelationKey,
    RelationRecord,
)
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.storage import Reader
from dovetail_graph.timestamps import Span, View
from dovetail_graph.traversal import Walk, shortest_path, traverse

COUNT = 1_500


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A cycle of machines with the same words, and one word of its own for each."""
    path = tmp_path_factory.mktemp("large") / "graph.db"
    for namespace in ("other", "one"):
        store = SqliteStore(path, namespace)
        with store.writing() as writer:
            for number in range(COUNT):
                name = f"Machine{number}"
                writer.put_entity(EntityRecord(name, "thing"), Span(0))
                text = f"runs daily, serial s{number}" + (" rusty" if number % 500 == 7 else "")
                writer.put_observation(ObservationRecord(name, text), Span(0))
                key = RelationKey(name, f"Machine{(number + 1) % COUNT}", "feeds")
                writer.put_relation(RelationRecord(key, 1.0, 1.0), Span(0))
        store.close()
    store = SqliteStore(path, "one")
    with store.reading() as opened:
        yield opened
    store.close()


def found(reader: Reader, query: str, mode: str) -> list[str]:
    return [match.name for match in find_matches(reader, query, mode, 2_000)[0]]


def test_a_rare_word_is_found_among_common_ones(reader: Reader) -> None:
    assert found(reader, "runs daily s42", "words") == ["Machine42"]
    assert set(found(reader, "rusty runs", "words")) == {"Machine7", "Machine507", "Machine1007"}


def test_a_query_of_common_words_finds_all_entities_with_them(reader: Reader) -> None:
    assert len(set(found(reader, "runs daily", "words"))) == COUNT
    assert len(found(reader, "thing", "words")) == COUNT
    assert len(set(found(reader, "machine", "prefix"))) == COUNT


def test_if_no_entity_has_all_words_the_rare_ones_decide(reader: Reader) -> None:
    matches, matched = find_matches(reader, "runs s3 s4", "words", 100)
    assert matched == "any" and {one.name for one in matches} == {"Machine3", "Machine4"}
    assert found(reader, "runs nothing", "words")[:1] != []
    assert found(reader, "absent words", "words") == []


def test_a_misspelled_name_is_found_among_many_like_it(reader: Reader) -> None:
    assert found(reader, "Machime1234", "fuzzy")[0] == "Machine1234"


def test_traversal_of_a_cycle_ends_and_is_limited(reader: Reader) -> None:
    view = View(reader.now())
    near = traverse(reader, view, ["Machine0"], Walk(3))
    assert near.distances == {
        "Machine0": 0,
        "Machine1": 1,
        f"Machine{COUNT - 1}": 1,
        "Machine2": 2,
        f"Machine{COUNT - 2}": 2,
        "Machine3": 3,
        f"Machine{COUNT - 3}": 3,
    }
    path = shortest_path(reader, view, ["Machine0"], "Machine5", Walk(5, "out", limit=100))
    assert path == [f"Machine{number}" for number in range(6)]
    assert shortest_path(reader, view, ["Machine0"], "Machine700", Walk(5)) == []


def test_the_most_connected_are_counted_in_both_directions(reader: Reader) -> None:
    assert {degree for _, degree in reader.most_connected(View(reader.now()), 10)} == {2}
    assert reader.count_types(View(reader.now())) == ({"thing": COUNT}, {"feeds": COUNT})

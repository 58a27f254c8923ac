from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail_graph.lexical_search import find_matches, fuse, scan
from dovetail_graph.records import EntityRecord, ObservationRecord
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.storage import Match, Reader
from dovetail_graph.text_normalization import significant_words
from dovetail_graph.timestamps import Span, View
from dovetail_graph.vector_search import SimilarEntity

SAID = {
    "Café Müller": "coffee and CAKE",
    "Bakery": "naïve gâteau, cake",
    "Boat": "red sails",
    "100%_sure": "odd % signs _ here",
    "東京": "a city",
}


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    store = SqliteStore(tmp_path / "graph.db", "default")
    with store.writing() as writer:
        for name, text in SAID.items():
            writer.put_entity(EntityRecord(name, "thing"), Span(0))
            writer.put_observation(ObservationRecord(name, text), Span(0))
    with store.reading() as opened:
        yield opened
    store.close()


@pytest.mark.parametrize(
    ("query", "mode", "found"),
    [
        ("cake", "all", {"Café Müller", "Bakery"}),
        ("cafe", "all", {"Café Müller"}),
        ("MULLER cake", "all", {"Café Müller"}),
        ("naive gateau", "all", {"Bakery"}),
        ("sail", "prefix", {"Boat"}),
        ("sail", "all", set()),
        ("boat cake", "any", {"Boat", "Bakery", "Café Müller"}),
        ("signs", "all", {"100%_sure"}),
        ("red sails", "exact", {"Boat"}),
        ("salis", "fuzzy", {"Boat"}),
        ("京", "all", {"東京"}),
        ("thing", "all", set(SAID)),
    ],
)
def test_scan_at_another_time(reader: Reader, query: str, mode: str, found: set[str]) -> None:
    then = View(reader.now(), reader.now())
    assert {match.name for match in scan(reader, then, query, mode)} == found


def test_scan_before_the_first_entity_finds_nothing(reader: Reader) -> None:
    assert list(scan(reader, View(-5, reader.now()), "cake", "all")) == []


def test_stop_words_of_a_question_are_ignored(reader: Reader) -> None:
    matches, matched = find_matches(reader, "who is the owner of red things here", "words", 10)
    assert matched == "any" and matches[0].name == "Boat"
    assert significant_words("What is the Port of it") == "Port"
    assert significant_words("to be or not to be") == "to be or not to be"


def test_a_match_has_its_share_of_the_query(reader: Reader) -> None:
    [only] = find_matches(reader, "red submarine", "words", 10)[0]
    assert only.name == "Boat" and 0.2 < only.share < 0.8
    assert find_matches(reader, "red sails", "words", 10)[0][0].share == 1


def test_ranks_in_both_lists_are_added() -> None:
    words = [Match("both", 9.0), Match("words", 8.0)]
    alike = [SimilarEntity("meaning", 0.9, ""), SimilarEntity("both", 0.8, "")]
    for by_rank in (True, False):
        scores = fuse(words, alike, 0.5, by_rank)
        assert max(scores, key=lambda name: scores[name]) == "both"


def test_a_match_with_a_small_share_of_the_query_counts_little() -> None:
    alike = [SimilarEntity("meaning", 0.9, "")]
    full = fuse([Match("words", 9.0, 1.0)], alike, 0.3, by_rank=True)
    part = fuse([Match("words", 9.0, 0.2)], alike, 0.3, by_rank=True)
    assert full["words"] > full["meaning"] and part["words"] < part["meaning"]

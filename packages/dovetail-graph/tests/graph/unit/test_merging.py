"""Effect of a merge on valid time; test_time_travel.py compares merges with a naive model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail_graph.merging import merge_entities
from dovetail_graph.records import (
    EntityRecord,
    ObservationRecord,
    RelationKey,
    RelationRecord,
)
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.timestamps import FOREVER, Span, View


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(tmp_path / "graph.db", "default")
    yield made
    made.close()


def merge(store: SqliteStore, into: str, *names: str) -> None:
    with store.writing() as writer:
        merge_entities(writer, into, names, dry_run=False)


def test_a_renamed_entity_keeps_the_types_it_had(store: SqliteStore) -> None:
    with store.writing() as writer:
        writer.put_entity(EntityRecord("Firm", "startup"), Span(0))
        writer.put_entity(EntityRecord("Firm", "company"), Span(100))
    merge(store, "Acme", "Firm")
    with store.reading() as reader:
        kinds = [reader.entity("Acme", View(moment)) for moment in (50, 150)]
        assert [one.kind if one else None for one in kinds] == ["startup", "company"]
        assert reader.entity("Firm", View(50)) is None


def test_equal_observations_of_different_times_are_combined(store: SqliteStore) -> None:
    with store.writing() as writer:
        for name, start, end in (("Ann", 0, 10), ("Anna", 5, 20)):
            writer.put_entity(EntityRecord(name, "person"), Span(0))
            writer.put_observation(ObservationRecord(name, "is ill"), Span(start, end))
    merge(store, "Ann", "Anna")
    with store.reading() as reader:
        told = [len(reader.observations(["Ann"], View(moment))) for moment in (3, 7, 15, 25)]
    assert told == [1, 1, 1, 0]


def test_relations_are_combined_only_while_both_are_valid(store: SqliteStore) -> None:
    with store.writing() as writer:
        for name in ("Ann", "Anna", "Bo"):
            writer.put_entity(EntityRecord(name, "person"), Span(0))
        for name, strength, span in (("Ann", 0.2, Span(10, 20)), ("Anna", 0.9, Span(0, FOREVER))):
            key = RelationKey(name, "Bo", "knows")
            writer.put_relation(RelationRecord(key, strength, 1 - strength), span)
    merge(store, "Ann", "Anna")
    with store.reading() as reader:
        key = RelationKey("Ann", "Bo", "knows")
        found = [reader.relation(key, View(moment)) for moment in (5, 15, 25)]
        assert [(one.strength, round(one.confidence, 2)) for one in found if one] == [
            (0.9, 0.1),
            (0.9, 0.8),
            (0.9, 0.1),
        ]

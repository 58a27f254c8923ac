"""The interface of a store. Another database would implement these protocols.

A Reader sees one consistent snapshot. A Writer is a transaction and sees its own changes. Both may
be used only inside their `with` block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from dovetail_graph.records import (
    Change,
    EntityRecord,
    ObservationRecord,
    Record,
    RelationKey,
    RelationRecord,
)
from dovetail_graph.timestamps import Span, View

__all__ = [
    "ChangeFilter",
    "ChangePosition",
    "GraphStore",
    "Match",
    "Page",
    "Passages",
    "Reader",
    "StoredPassage",
    "Texts",
    "Unembedded",
    "Writer",
]


@dataclass(frozen=True, slots=True)
class Page:
    """Selects entities by type, with names after a given one."""

    types: tuple[str, ...] = ()
    after: str = ""
    # -1 means no limit.
    limit: int = -1


@dataclass(frozen=True, slots=True)
class Match:
    """An entity that matches a query; a higher score is better."""

    name: str
    score: float
    # The weighted share of the query's words that it has; 1 if it has all.
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of an entity that a search compares."""

    kind: str
    # Observations that are true now, the oldest first, and those that are true at another time.
    current: list[str]
    past: list[str]
    # Whether the entity itself is there now.
    is_current: bool
    # When one of these begins or ends to be true.
    due: int

    @property
    def contents(self) -> list[str]:
        """Every observation, those that are true now last."""
        return [*self.past, *self.current]


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Selects entries of the change log, newest first."""

    since: int
    until: int
    kinds: tuple[str, ...] = ()
    before: int | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class ChangePosition:
    """A position in the order of changes: the time, and the entity that changed then."""

    stamp: int
    document: int


@dataclass(frozen=True, slots=True)
class Unembedded:
    """An entity whose vectors are missing or outdated."""

    name: str
    position: ChangePosition


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A stored vector and the text it belongs to."""

    name: str
    # The id of the observation; empty if made from the name and type alone.
    observation: str
    vector: bytes


class Passages(Protocol):
    """Vectors of one model. `save` and `delete` need a Writer's transaction."""

    def newest(self) -> ChangePosition:
        """Return the position of the entity that changed last."""

    def unembedded_after(self, position: ChangePosition, limit: int) -> list[Unembedded]:
        """Return unembedded entities that changed after a position, the oldest change first."""

    def unembedded_until(self, position: ChangePosition, limit: int) -> list[Unembedded]:
        """Return unembedded entities that changed at or before a position, the latest first."""

    def count_unembedded(self) -> int:
        """Return how many entities have no up-to-date vectors."""

    def digests(self, document: int) -> set[bytes]:
        """Return the digests of an entity's stored passages."""

    def vectors_after(self, number: int, limit: int) -> list[tuple[int, bytes]]:
        """Return (number, vector) of passages with larger numbers, in ascending order."""

    def get(self, numbers: Sequence[int]) -> dict[int, StoredPassage]:
        """Return those of these passages that still exist."""

    def of_entities(self, names: Sequence[str]) -> list[StoredPassage]:
        """Return every passage of these entities."""

    def save(self, entity: Unembedded, rows: Iterable[tuple[bytes, str, bytes]]) -> None:
        """Store (digest, observation, vector) rows unless the entity has changed meanwhile."""

    def delete(self, document: int) -> None:
        """Delete the vectors of an entity, so that they are computed again."""


class Reader(Protocol):
    """One snapshot of the graph."""

    def now(self) -> int:
        """Return the time of this snapshot, never before the last change."""

    def find(self, name: str) -> str:
        """Return the current name of the entity with this name or alias, or the name unchanged."""

    def entity(self, name: str, view: View) -> EntityRecord | None:
        """Return an entity if it existed."""

    def entities_named(self, names: Sequence[str], view: View) -> list[EntityRecord]:
        """Return those entities that existed, in the order given."""

    def entity_periods(self, name: str) -> list[EntityRecord]:
        """Return the versions of an entity in the current record, not deleted, by valid time."""

    def existing_names(
        self, names: Sequence[str], view: View, types: Sequence[str] = ()
    ) -> set[str]:
        """Return the names that existed, with these types; faster than reading the entities."""

    def entities(self, view: View, page: Page) -> list[EntityRecord]:
        """Return entities in the order of their names."""

    def count_entities(self, view: View, types: tuple[str, ...] = ()) -> int:
        """Return the number of entities."""

    def observations(self, names: Sequence[str], view: View) -> list[ObservationRecord]:
        """Return the observations of these entities, the oldest first."""

    def relations(
        self, view: View, *, sources: Sequence[str] = (), targets: Sequence[str] = ()
    ) -> list[RelationRecord]:
        """Return relations from one of the sources or to one of the targets."""

    def relation(self, key: RelationKey, view: View) -> RelationRecord | None:
        """Return a relation if it and both of its entities existed."""

    def relation_keys_of(self, name: str) -> list[RelationKey]:
        """Return the keys of its relations in the current record, of any valid time."""

    def entity_rows(self, name: str) -> list[EntityRecord]:
        """Return every version ever recorded of an entity."""

    def observation_rows(self, name: str) -> list[ObservationRecord]:
        """Return every version ever recorded of an entity's observations."""

    def relation_rows(self, key: RelationKey) -> list[RelationRecord]:
        """Return every version ever recorded of a relation."""

    def names_ever(self, limit: int) -> tuple[list[str], int]:
        """Return names of past and present entities, last changed first, and their total count."""

    def rows_on(
        self, names: Sequence[str]
    ) -> tuple[list[EntityRecord], list[ObservationRecord], list[RelationRecord]]:
        """Return every version of these entities, their observations and outgoing relations."""

    def changes(self, which: ChangeFilter) -> list[Change]:
        """Return entries of the change log."""

    def last_change(self) -> int:
        """Return the sequence number of the last entry of the change log."""

    def aliases(self, name: str) -> list[str]:
        """Return the former names of an entity."""

    def match_words(self, query: str, mode: str, limit: int) -> list[Match]:
        """Search current entities by words; mode is all, any or prefix."""

    def match_prefixes(self, words: Sequence[str], limit: int) -> list[Match]:
        """Search current entities by beginnings of words, ignoring very common ones."""

    def match_spelling(self, name: str, limit: int) -> list[Match]:
        """Search current entities by similar spelling of the name."""

    def candidate_names(self, view: View, words: Sequence[str]) -> list[str]:
        """Return a superset of the entities with one of these ASCII words, at any time."""

    def names_starting_with(self, prefix: str, limit: int) -> list[str]:
        """Return names of current entities, for completion."""

    def count_types(self, view: View) -> tuple[dict[str, int], dict[str, int]]:
        """Return the number of entities and of relations by type."""

    def most_connected(self, view: View, limit: int) -> list[tuple[str, int]]:
        """Return the entities with the most relations."""

    def searched_texts(self, name: str) -> Texts | None:
        """Return the indexed texts of an entity, or None if it does not exist at any time."""

    def passages(self, model: str) -> Passages:
        """Return the vectors of a model."""

    def document(self, name: str) -> ChangePosition | None:
        """Return the position of a current entity in the order of changes."""


class Writer(Reader, Protocol):
    """A write transaction. History is kept: putting and dropping end older versions."""

    def put_entity(self, entity: EntityRecord, span: Span) -> None:
        """Record the entity as valid in this span."""

    def put_observation(self, observation: ObservationRecord, span: Span) -> None:
        """Record the observation as valid in this span."""

    def put_relation(self, relation: RelationRecord, span: Span) -> None:
        """Record the relation as valid in this span."""

    def drop_entity(self, name: str, span: Span) -> None:
        """Record that in this span the entity, its observations and relations do not exist."""

    def delete_entity(self, name: str) -> None:
        """End an entity, its observations and relations now, and mark what is left as deleted."""

    def delete_observation(self, name: str, content: str) -> None:
        """End an observation now, and mark what is left as deleted."""

    def delete_relation(self, key: RelationKey) -> None:
        """End a relation now, and mark what is left as deleted."""

    def replay(self, rows: Iterable[Record], changes: Iterable[Change]) -> None:
        """Write versions and log entries with their times; the namespace must be empty."""

    def add_alias(self, alias: str, name: str) -> None:
        """Add a former name by which the entity is found."""

    def log(self, kind: str, action: str, name: str, detail: str, by: str | None) -> None:
        """Add an entry to the change log."""

    def purge_entity(self, name: str) -> int:
        """Erase an entity with its history; return the number of erased records."""

    def purge_observation(self, name: str, content: str) -> int:
        """Erase an observation with its history; return the number of erased records."""

    def purge_relation(self, key: RelationKey) -> int:
        """Erase a relation with its history; return the number of erased records."""


class GraphStore(Protocol):
    """A store of one namespace."""

    def reading(self) -> AbstractContextManager[Reader]:
        """Open a snapshot for reading."""

    def writing(self) -> AbstractContextManager[Writer]:
        """Open a write transaction; an exception rolls it back."""

    def compact(self) -> None:
        """Rewrite the files after a purge, so that nothing of the erased data is left in them."""

    def close(self) -> None:
        """Close the files."""

"""What the tools ask of a store. Another database is another implementation of this.

A reading sees one whole state; a writing is all or nothing and sees what it has written. Reader
and Writer are only good inside their `with`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from dovetail_graph.moments import Span, View
from dovetail_graph.records import (
    Change,
    EntityRecord,
    ObservationRecord,
    RelationKey,
    RelationRecord,
)

__all__ = [
    "ChangeFilter",
    "GraphStore",
    "Match",
    "Page",
    "Passages",
    "Place",
    "Reader",
    "StoredPassage",
    "Unembedded",
    "Writer",
]


@dataclass(frozen=True, slots=True)
class Page:
    """Which entities: of these types, with names after this one."""

    types: tuple[str, ...] = ()
    after: str = ""
    # -1: all.
    limit: int = -1


@dataclass(frozen=True, slots=True)
class Match:
    """An entity that fits a query; more is better."""

    name: str
    score: float
    # How much of the query it has, by the weight of its words: 1 where it has all.
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Which lines of the log, newest first."""

    since: int
    until: int
    kinds: tuple[str, ...] = ()
    before: int | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the order of changes: the moment, and which of the entities changed then."""

    stamp: int
    document: int


@dataclass(frozen=True, slots=True)
class Unembedded:
    """An entity whose vectors are missing or of another state."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A kept vector and what it is of."""

    name: str
    # The id of the observation; empty for the name and type alone.
    observation: str
    vector: bytes


class Passages(Protocol):
    """Vectors of one model; `keep` and `forget` inside a writing only."""

    def newest(self) -> Place:
        """The entity that changed last."""

    def unembedded_after(self, place: Place, limit: int) -> list[Unembedded]:
        """Entities that changed after this and have no vectors of it, the oldest change first."""

    def unembedded_until(self, place: Place, limit: int) -> list[Unembedded]:
        """Entities that changed before this, or then, and have no vectors, the latest first."""

    def count_unembedded(self) -> int:
        """How many entities have no vectors of what they say now."""

    def digests(self, document: int) -> set[bytes]:
        """Of the passages that are kept of an entity."""

    def vectors_after(self, number: int, limit: int) -> list[tuple[int, bytes]]:
        """Passages with larger numbers, in their order."""

    def named(self, numbers: Sequence[int]) -> dict[int, StoredPassage]:
        """Those of these passages that are still there."""

    def of_entities(self, names: Sequence[str]) -> list[StoredPassage]:
        """Every passage of these entities."""

    def keep(self, of: Unembedded, made: Iterable[tuple[bytes, str, bytes]]) -> None:
        """Keep the vectors of an entity (digest, observation, vector), if it is still as it was."""

    def forget(self, document: int) -> None:
        """Drop what is kept of an entity, so that it is made anew."""


class Reader(Protocol):
    """One state of the graph."""

    def now(self) -> int:
        """The moment of this state, never before the last change."""

    def find(self, name: str) -> str:
        """The name of the entity that goes by this name now, or the name itself."""

    def entity(self, name: str, view: View) -> EntityRecord | None:
        """An entity, if it was there."""

    def entities_named(self, names: Sequence[str], view: View) -> list[EntityRecord]:
        """Those of them that were there, in the order given."""

    def names_there(self, names: Sequence[str], view: View, types: Sequence[str] = ()) -> set[str]:
        """Those of them that were there, of these types: quicker than to read them."""

    def entities(self, view: View, page: Page) -> list[EntityRecord]:
        """Entities in the order of their names."""

    def count_entities(self, view: View, types: tuple[str, ...] = ()) -> int:
        """How many there were."""

    def observations(self, names: Sequence[str], view: View) -> list[ObservationRecord]:
        """What was known of them, the oldest first."""

    def relations(
        self, view: View, *, sources: Sequence[str] = (), targets: Sequence[str] = ()
    ) -> list[RelationRecord]:
        """Relations that leave one of the sources or reach one of the targets."""

    def relation(self, key: RelationKey, view: View) -> RelationRecord | None:
        """A relation, if it and both of its ends were there."""

    def keys_touching(self, name: str) -> list[RelationKey]:
        """Relations from or to it that the record of now holds, whenever they are true."""

    def entity_rows(self, name: str) -> list[EntityRecord]:
        """Everything that was ever recorded of it."""

    def observation_rows(self, name: str) -> list[ObservationRecord]:
        """Everything that was ever recorded of it."""

    def relation_rows(self, key: RelationKey) -> list[RelationRecord]:
        """Everything that was ever recorded of it."""

    def names_ever(self, limit: int) -> tuple[list[str], int]:
        """Entities that ever were, the latest changed first, and how many there are in all."""

    def rows_on(
        self, names: Sequence[str]
    ) -> tuple[list[EntityRecord], list[ObservationRecord], list[RelationRecord]]:
        """Everything that was ever recorded of them, and of relations that leave them."""

    def changes(self, which: ChangeFilter) -> list[Change]:
        """Lines of the log."""

    def last_change(self) -> int:
        """The number of the last line of the log."""

    def aliases(self, name: str) -> list[str]:
        """Former names."""

    def match_words(self, query: str, mode: str, limit: int) -> list[Match]:
        """Entities of now by words; mode is all, any or prefix."""

    def match_beginnings(self, words: Sequence[str], limit: int) -> list[Match]:
        """Entities of now with a word that begins so; beginnings that many have are left out."""

    def match_spelling(self, name: str, limit: int) -> list[Match]:
        """Entities of now with a similar name."""

    def names_with_letters(self, view: View, words: Sequence[str]) -> list[str]:
        """Entities of any time that may have one of these ASCII words; none is missed."""

    def names_starting_with(self, prefix: str, limit: int) -> list[str]:
        """Entities of now, for completion."""

    def count_types(self, view: View) -> tuple[dict[str, int], dict[str, int]]:
        """How many entities and relations of each type."""

    def most_connected(self, view: View, limit: int) -> list[tuple[str, int]]:
        """Entities with the most relations."""

    def searched_texts(self, name: str) -> tuple[str, list[str]] | None:
        """The type and the observations that an entity is found by, the oldest first."""

    def passages(self, model: str) -> Passages:
        """The vectors of a model."""

    def document(self, name: str) -> Place | None:
        """Where in the order of changes an entity of now stands."""


class Writer(Reader, Protocol):
    """A change of the graph."""

    def put_entity(self, entity: EntityRecord, span: Span) -> None:
        """Let it be so for this span."""

    def put_observation(self, observation: ObservationRecord, span: Span) -> None:
        """Let it be so for this span."""

    def put_relation(self, relation: RelationRecord, span: Span) -> None:
        """Let it be so for this span."""

    def drop_entity(self, name: str, span: Span) -> None:
        """Let it not be there in this span, nor what was said of it."""

    def drop_observation(self, name: str, content: str, span: Span) -> None:
        """Let it not be so in this span."""

    def drop_relation(self, key: RelationKey, span: Span) -> None:
        """Let it not be so in this span."""

    def add_alias(self, alias: str, name: str) -> None:
        """Let an entity be found by a former name."""

    def log(self, kind: str, action: str, name: str, detail: str, by: str | None) -> None:
        """Add a line to the log."""

    def purge_entity(self, name: str) -> int:
        """Erase every trace; how many records that were."""

    def purge_observation(self, name: str, content: str) -> int:
        """Erase every trace; how many records that were."""

    def purge_relation(self, key: RelationKey) -> int:
        """Erase every trace; how many records that were."""


class GraphStore(Protocol):
    """A store of one namespace."""

    def reading(self) -> AbstractContextManager[Reader]:
        """Look at one whole state."""

    def writing(self) -> AbstractContextManager[Writer]:
        """Change it, all or nothing."""

    def forget_erased(self) -> None:
        """After a purge: leave nothing of it in any file."""

    def close(self) -> None:
        """Let go of the file."""

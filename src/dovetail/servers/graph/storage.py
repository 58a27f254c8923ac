"""What the tools ask of a store. Another database is another implementation of this.

A reading sees one whole state; a writing is all or nothing and sees what it has written. Reader
and Writer are only good inside their `with`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from dovetail.servers.graph.moments import Span, View
from dovetail.servers.graph.records import (
    Change,
    EntityRecord,
    ObservationRecord,
    RelationKey,
    RelationRecord,
)

__all__ = ["ChangeFilter", "GraphStore", "Match", "Page", "Reader", "Writer"]


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


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Which lines of the log, newest first."""

    since: int
    until: int
    kinds: tuple[str, ...] = ()
    before: int | None = None
    limit: int = 50


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

    def names_starting_with(self, prefix: str, limit: int) -> list[str]:
        """Entities of now, for completion."""

    def count_types(self, view: View) -> tuple[dict[str, int], dict[str, int]]:
        """How many entities and relations of each type."""

    def most_connected(self, view: View, limit: int) -> list[tuple[str, int]]:
        """Entities with the most relations."""

    def vectors(self, model: str) -> dict[str, tuple[int, bytes]]:
        """Kept vectors by name, each with the moment of what it was made from."""

    def documents(self) -> dict[str, int]:
        """Every entity of now and the moment it last changed."""


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

    def keep_vectors(self, model: str, vectors: Iterable[tuple[str, int, bytes]]) -> None:
        """Keep vectors for later."""


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

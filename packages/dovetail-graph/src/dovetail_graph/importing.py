"""Import of jsonl and json.

A json document with history restores the graph at every point of both time axes if the namespace is
empty. Otherwise what the document says now is added to the graph, and its history is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from dovetail import ToolError
from dovetail_graph import mutations
from dovetail_graph.import_export import read_lines
from dovetail_graph.inputs import MAX_CHARS, NewEntity, NewObservation, NewRelation
from dovetail_graph.records import (
    Change,
    EntityRecord,
    ObservationRecord,
    Record,
    RelationKey,
    RelationRecord,
    Times,
)
from dovetail_graph.results import Outcome, Transferred
from dovetail_graph.storage import Writer
from dovetail_graph.text_limits import check_texts
from dovetail_graph.text_normalization import normalize
from dovetail_graph.timestamps import EARLIEST, FOREVER, Span, parse_timestamp
from dovetail_graph.vocabulary import Vocabulary
from dovetail_serverkit.answer_size import AnswerBudget

__all__ = ["import_graph"]

# Invalid items after which an import fails: each takes time.
_MAX_REJECTED = 10_000
_MAX_REASONS = 20
# What parse_timestamp reads as EARLIEST and as FOREVER.
_LONG_AGO = "0001-01-01"
_NO_END = "9999-12-31T23:59:59.999999Z"


class StoredTimes(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """When a version was recorded, until when, and its marks."""

    at: str
    until: str | None = None
    reinforced: str | None = None
    changed_by: Annotated[str, Meta(max_length=200)] | None = None
    deleted: bool = False


class StoredObservation(NewObservation, kw_only=True):
    """A version of an observation."""

    record: StoredTimes | None = None


class StoredEntity(NewEntity, kw_only=True):
    """A version of an entity; the last one has the versions of all observations."""

    observations: list[str | StoredObservation] = []  # type: ignore[assignment]  # noqa: RUF012
    record: StoredTimes | None = None


class StoredRelation(NewRelation, kw_only=True):
    """A version of a relation."""

    record: StoredTimes | None = None


_Stored = StoredEntity | StoredObservation | StoredRelation
_Item = TypeVar("_Item", StoredEntity, StoredRelation)
_Shape = TypeVar("_Shape")


class StoredChange(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """An entry of the log."""

    at: str
    kind: Literal["entity", "relation", "observation"]
    action: Annotated[str, Meta(max_length=50)]
    name: Annotated[str, Meta(max_length=200)]
    detail: Annotated[str, Meta(max_length=500)] = ""
    changed_by: Annotated[str, Meta(max_length=200)] | None = None


class _Document(msgspec.Struct):
    entities: list[msgspec.Raw]
    relations: list[msgspec.Raw]
    aliases: dict[str, str] = {}
    changes: list[msgspec.Raw] = []


def import_graph(writer: Writer, text: str, kind: str, vocabulary: Vocabulary) -> Transferred:
    """Import a text in one transaction. Raises ToolError if it is not of this kind."""
    run = _Import(writer, vocabulary)
    try:
        if kind == "json":
            run.read_document(msgspec.json.decode(text, type=_Document))
        elif kind == "jsonl":
            run.add(read_lines(text))
        else:
            raise ToolError(f"{kind} can only be exported; import supports jsonl and json")
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ToolError(f"Invalid {kind} for a graph: {error}. Nothing was imported") from None
    except RecursionError:
        raise ToolError(
            f"Invalid {kind} for a graph: it is nested too deeply. Nothing was imported"
        ) from None
    return run.result(kind)


@dataclass(slots=True)
class _Import:
    """One import: what it has done so far."""

    writer: Writer
    vocabulary: Vocabulary
    entities: set[str] = field(default_factory=set)
    relations: set[RelationKey] = field(default_factory=set)
    observations: set[tuple[str, str]] = field(default_factory=set)
    added: int = 0
    rejected: int = 0
    reasons: list[str] = field(default_factory=list)
    left_out: int = 0

    def result(self, kind: str) -> Transferred:
        """Return what was imported."""
        return Transferred(
            action="import",
            format=kind,
            entities=len(self.entities),
            relations=len(self.relations),
            observations=len(self.observations) + self.added,
            rejected=self.rejected,
            reasons=AnswerBudget(MAX_CHARS).fitting(self.reasons),
            left_out=self.left_out,
        )

    def reject(self, reason: str) -> None:
        """Count an invalid item. Raises ToolError if there are too many."""
        self.rejected += 1
        if self.rejected > _MAX_REJECTED:
            raise ToolError(
                f"More than {_MAX_REJECTED} items are invalid. Nothing was imported. The last "
                f"one: {reason[:300]}"
            )
        if len(self.reasons) < _MAX_REASONS:
            self.reasons.append(reason[:300])

    def add(self, items: Iterable[NewEntity | NewRelation | str]) -> None:
        """Add items to the graph, as of now."""
        for item in items:
            if isinstance(item, str):
                self.reject(item)
                continue
            outcome = self._add(item)
            if outcome.outcome == "rejected":
                self.reject(f"{outcome.name}: {outcome.reason}")

    def _add(self, item: NewEntity | NewRelation) -> Outcome:
        if isinstance(item, NewRelation):
            outcome = mutations.create_relation(self.writer, item, self.vocabulary)
            if outcome.outcome != "rejected":
                self.relations.add(mutations.key_of(self.writer, item))
            return outcome
        outcome = mutations.create_entity(self.writer, item, self.vocabulary)
        if outcome.outcome != "rejected":
            self.entities.add(normalize(item.name))
            self.added += outcome.count or 0
        return outcome

    def read_document(self, document: _Document) -> None:
        """Restore a document with history into an empty namespace, or add what it says now."""
        entities = list(self._decode(document.entities, StoredEntity))
        relations = list(self._decode(document.relations, StoredRelation))
        has_history = any(one.record for one in entities) or any(one.record for one in relations)
        if not has_history or self.writer.names_ever(1)[1]:
            self.add(self._present(entities))
            self.add(self._present(relations))
            for alias, name in document.aliases.items():
                if self.writer.find(normalize(alias)) == normalize(alias):
                    self._add_alias(alias, name)
            return
        rows = [row for item in entities for row in self._entity_rows(item)]
        rows += [row for item in relations for row in self._relation_rows(item)]
        self.writer.replay(rows, self._changes(document.changes))
        for alias, name in document.aliases.items():
            self._add_alias(alias, name)

    def _add_alias(self, alias: str, name: str) -> None:
        if check_texts({"name": alias}) is None and self.writer.entity_rows(normalize(name)):
            self.writer.add_alias(normalize(alias), normalize(name))

    def _decode(self, pieces: Sequence[msgspec.Raw], shape: type[_Shape]) -> Iterator[_Shape]:
        for piece in pieces:
            try:
                yield msgspec.json.decode(piece, type=shape)
            except msgspec.ValidationError as error:
                self.reject(f"{bytes(memoryview(piece)[:100]).decode(errors='replace')}: {error}")

    def _present(self, items: Iterable[_Item]) -> Iterator[_Item]:
        """Yield what the document says now, with explicit times; count what is left out."""
        for item in items:
            if isinstance(item, StoredEntity):
                contents = [one for one in item.observations if _is_present(one)]
                self.left_out += len(item.observations) - len(contents)
                for one in contents:
                    _make_times_explicit(one)
                item.observations = contents
            if _is_present(item):
                _make_times_explicit(item)
                yield item
            else:
                self.left_out += 1

    def _entity_rows(self, item: StoredEntity) -> Iterator[Record]:
        name, kind = normalize(item.name), normalize(item.entity_type)
        try:
            texts = {"name": item.name, "entityType": item.entity_type}
            self._check({**texts, "changedBy": item.changed_by})
            if reason := self.vocabulary.check_entity_type(kind):
                raise ToolError(reason)
            times, _ = self._times(item)
            found: list[Record] = [
                EntityRecord(name, kind, item.changed_by, times, _is_deleted(item)),
                *(self._observation_row(name, one, times) for one in item.observations),
            ]
        except ToolError as error:
            self.reject(f"{name[:200]}: {error}")
            return
        self.entities.add(name)
        self.observations |= {
            (name, row.content) for row in found if isinstance(row, ObservationRecord)
        }
        yield from found

    def _observation_row(
        self, name: str, given: str | StoredObservation, entity: Times
    ) -> ObservationRecord:
        if isinstance(given, str):
            self._check({"content": given})
            return ObservationRecord(name, normalize(given), times=entity)
        self._check({"content": given.content, "source": given.source})
        times, reinforced = self._times(given)
        return ObservationRecord(
            name,
            normalize(given.content),
            given.source,
            given.confidence,
            reinforced,
            None if given.record is None else given.record.changed_by,
            times,
            _is_deleted(given),
        )

    def _relation_rows(self, item: StoredRelation) -> Iterator[RelationRecord]:
        key = RelationKey(
            normalize(item.source), normalize(item.target), normalize(item.relation_type)
        )
        try:
            self._check({"relationType": item.relation_type, "changedBy": item.changed_by})
            reason = self.vocabulary.check_relation_type(key.kind)
            reason = reason or mutations.check_metadata(item.metadata)
            missing = {key.source, key.target} - self.entities
            if missing or key.source == key.target:
                reason = reason or "a relation needs two entities of this document"
            if reason is not None:
                raise ToolError(reason)
            times, reinforced = self._times(item)
        except ToolError as error:
            self.reject(f"{mutations.label(key)}: {error}")
            return
        self.relations.add(key)
        yield RelationRecord(
            key,
            mutations.STRENGTH if item.strength is None else item.strength,
            mutations.CONFIDENCE if item.confidence is None else item.confidence,
            item.metadata or {},
            reinforced,
            item.changed_by,
            times,
            _is_deleted(item),
        )

    @staticmethod
    def _check(texts: Mapping[str, str | None]) -> None:
        if reason := check_texts(texts):
            raise ToolError(reason)

    def _times(self, item: _Stored) -> tuple[Times, int]:
        """Return the times of a version, and when it was reinforced."""
        now, record = self.writer.now(), item.record
        start = parse_timestamp(item.valid_from, "validFrom")
        end = parse_timestamp(item.valid_to, "validTo")
        if record is None:
            valid, recorded, reinforced = Span(now if start is None else start), Span(now), None
        else:
            valid = Span(EARLIEST if start is None else start)
            recorded = Span(
                parse_timestamp(record.at, "record.at") or 0,
                _or_forever(parse_timestamp(record.until, "record.until")),
            )
            reinforced = parse_timestamp(record.reinforced, "record.reinforced")
        valid = Span(valid.start, _or_forever(end))
        if valid.end <= valid.start or recorded.end <= recorded.start:
            raise ToolError("a period must end after it begins")
        if recorded.start > now or now < recorded.end < FOREVER:
            raise ToolError("record.at and record.until must not be in the future")
        return Times(valid, recorded), max(valid.start, 0) if reinforced is None else reinforced

    def _changes(self, pieces: Sequence[msgspec.Raw]) -> list[Change]:
        found = []
        for one in self._decode(pieces, StoredChange):
            at = parse_timestamp(one.at, "at") or 0
            if at <= self.writer.now():
                found.append(
                    Change(0, at, one.kind, one.action, one.name, one.detail, one.changed_by)
                )
        return sorted(found, key=lambda change: change.at)


def _or_forever(timestamp: int | None) -> int:
    return FOREVER if timestamp is None else timestamp


def _is_deleted(item: _Stored) -> bool:
    return item.record is not None and item.record.deleted


def _is_present(item: _Stored | str) -> bool:
    """Whether a version is what the record says now."""
    record = None if isinstance(item, str) else item.record
    return record is None or (record.until is None and not record.deleted)


def _make_times_explicit(item: _Stored | str) -> None:
    """Set the beginning and the end of a stored fact that has none.

    A new fact would begin now, and an observation would end with the version of the entity that it
    is written in. Relations keep no end: they end with their entities.
    """
    if isinstance(item, str) or item.record is None:
        return
    if item.valid_from is None:
        item.valid_from = _LONG_AGO
    if item.valid_to is None and not isinstance(item, StoredRelation):
        item.valid_to = _NO_END

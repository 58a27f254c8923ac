"""Compares the graph at any valid and recorded time with a naive model.

The model is a list of all statements in the order they were recorded; for each time, the last
statement that covers it holds.
"""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from dovetail import ToolError
from dovetail_graph.merging import merge_entities
from dovetail_graph.records import (
    EntityRecord,
    ObservationRecord,
    RelationKey,
    RelationRecord,
)
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.storage import Page, Reader
from dovetail_graph.timestamps import ANY_TIME, FOREVER, Span, View

NAMES = st.sampled_from(["a", "b", "c"])
KINDS = st.sampled_from(["red", "blue"])
TEXTS = st.sampled_from(["it is", "it was"])
MOMENTS = st.integers(0, 8)
SPANS = st.tuples(MOMENTS, st.one_of(st.none(), st.integers(1, 4))).map(
    lambda pair: Span(pair[0], FOREVER if pair[1] is None else pair[0] + pair[1])
)
Graph = tuple[dict[str, str], set[tuple[str, str]], set[tuple[str, str, str, float]]]


class Model:
    """All statements, in the order they were recorded."""

    def __init__(self) -> None:
        self.said: list[tuple[int, tuple[str, ...], Span, Any]] = []

    def say(self, stamp: int, fact: tuple[str, ...], span: Span, value: Any) -> None:
        self.said.append((stamp, fact, span, value))

    def drop_entity(self, stamp: int, name: str, span: Span) -> None:
        facts = dict.fromkeys(fact for _, fact, _, _ in self.said)
        for fact in facts:
            ends = fact[1:3] if fact[0] == "relation" else fact[1:2]
            if name in ends:
                self.say(stamp, fact, span, None)

    def forget(self, name: str) -> None:
        self.said = [
            one
            for one in self.said
            if name not in (one[1][1:3] if one[1][0] == "relation" else one[1][1:2])
        ]

    def true_at(self, recorded: int, valid: int) -> dict[tuple[str, ...], Any]:
        # Of several entries for one fact the last stays.
        held = {
            fact: value
            for stamp, fact, span, value in self.said
            if stamp <= recorded and span.start <= valid < span.end
        }
        return {fact: value for fact, value in held.items() if value is not None}

    def merge(self, stamp: int, name: str, target: str) -> None:
        """Moment by moment, everything of one name is said of the other."""
        ends = {end for _, _, span, _ in self.said for end in (span.start, span.end)}
        moments = sorted({*ends, FOREVER})
        kinds = [
            kind
            for begin in moments
            if (kind := self.true_at(stamp, begin).get(("entity", target))) is not None
        ]
        new: list[tuple[tuple[str, ...], Span, Any]] = []
        for begin, end in pairwise(moments):
            true = self.true_at(stamp, begin)
            for fact, value in true.items():
                if name not in (fact[1:3] if fact[0] == "relation" else fact[1:2]):
                    continue
                parts = 3 if fact[0] == "relation" else 2
                moved = tuple(
                    target if 0 < place < parts and part == name else part
                    for place, part in enumerate(fact)
                )
                if fact[0] == "entity":
                    value = true.get(moved) or (kinds[-1] if kinds else value)
                elif fact[0] == "relation":
                    value = max(value, true.get(moved, 0.0))
                if fact[0] != "relation" or moved[1] != moved[2]:
                    new.append((moved, Span(begin, end), value))
        self.drop_entity(stamp, name, Span())
        for fact, span, value in new:
            self.say(stamp, fact, span, value)

    def at(self, recorded: int, valid: int) -> Graph:
        true = self.true_at(recorded, valid)
        entities = {fact[1]: value for fact, value in true.items() if fact[0] == "entity"}
        return (
            entities,
            {(f[1], f[2]) for f in true if f[0] == "observation" and f[1] in entities},
            {
                (f[1], f[2], f[3], value)
                for f, value in true.items()
                if f[0] == "relation" and f[1] in entities and f[2] in entities
            },
        )


def read(reader: Reader, view: View) -> Graph:
    entities = reader.entities(view, Page())
    names = [one.name for one in entities]
    return (
        {one.name: one.kind for one in entities},
        {(one.entity, one.content) for one in reader.observations(names, view)},
        {
            (one.key.source, one.key.target, one.key.kind, one.strength)
            for one in reader.relations(view, sources=names, targets=names)
        },
    )


class TimeTravel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "graph.db"
        self.store = SqliteStore(self.path, "one")
        # Another project in the same file sees nothing of it.
        self.other = SqliteStore(self.path, "other")
        self.model = Model()
        self.stamps = [0]

    def teardown(self) -> None:
        self.store.close()
        self.other.close()
        self.folder.cleanup()

    @rule(name=NAMES, kind=KINDS, span=SPANS)
    def put_entity(self, name: str, kind: str, span: Span) -> None:
        with self.store.writing() as writer:
            writer.put_entity(EntityRecord(name, kind), span)
            self.model.say(writer.now(), ("entity", name), span, kind)
            self.stamps.append(writer.now())

    @rule(name=NAMES, text=TEXTS, span=SPANS)
    def put_observation(self, name: str, text: str, span: Span) -> None:
        with self.store.writing() as writer:
            writer.put_observation(ObservationRecord(name, text), span)
            self.model.say(writer.now(), ("observation", name, text), span, True)
            self.stamps.append(writer.now())

    @rule(source=NAMES, end=NAMES, kind=KINDS, strength=st.floats(0, 1), span=SPANS)
    def put_relation(self, source: str, end: str, kind: str, strength: float, span: Span) -> None:
        with self.store.writing() as writer:
            key = RelationKey(source, end, kind)
            writer.put_relation(RelationRecord(key, strength, 1.0), span)
            self.model.say(writer.now(), ("relation", source, end, kind), span, strength)
            self.stamps.append(writer.now())

    @rule(name=NAMES, kind=KINDS, text=TEXTS, one=SPANS, other=SPANS)
    def say_two_things_at_once(
        self, name: str, kind: str, text: str, one: Span, other: Span
    ) -> None:
        with self.store.writing() as writer:
            writer.put_entity(EntityRecord(name, kind), one)
            self.model.say(writer.now(), ("entity", name), one, kind)
            writer.put_observation(ObservationRecord(name, text), one)
            self.model.say(writer.now(), ("observation", name, text), one, True)
            writer.delete_observation(name, text)
            self.model.say(writer.now(), ("observation", name, text), Span(writer.now()), None)
            writer.put_observation(ObservationRecord(name, text), other)
            self.model.say(writer.now(), ("observation", name, text), other, True)
            self.stamps.append(writer.now())

    @rule(name=NAMES, span=SPANS)
    def drop_entity(self, name: str, span: Span) -> None:
        with self.store.writing() as writer:
            writer.drop_entity(name, span)
            self.model.drop_entity(writer.now(), name, span)
            self.stamps.append(writer.now())

    @rule(name=NAMES)
    def delete_entity(self, name: str) -> None:
        with self.store.writing() as writer:
            writer.delete_entity(name)
            self.model.drop_entity(writer.now(), name, Span(writer.now()))
            self.stamps.append(writer.now())

    @rule(source=NAMES, end=NAMES, kind=KINDS)
    def delete_relation(self, source: str, end: str, kind: str) -> None:
        with self.store.writing() as writer:
            writer.delete_relation(RelationKey(source, end, kind))
            now = writer.now()
            self.model.say(now, ("relation", source, end, kind), Span(now), None)
            self.stamps.append(now)

    @rule(name=NAMES, into=NAMES)
    def merge(self, name: str, into: str) -> None:
        with self.store.writing() as writer:
            now = writer.now()
            source = writer.find(name)
            there = {one.name for one in writer.entities(ANY_TIME, Page())}
            if source not in there or source == into:
                with pytest.raises(ToolError):
                    merge_entities(writer, into, [name], dry_run=False)
                return
            self.model.merge(now, source, into)
            merged = merge_entities(writer, into, [name], dry_run=False)
            assert merged.created == (into not in there) and merged.merged == [source]
            self.stamps.append(now)
        with self.store.reading() as reader:
            assert reader.find(source) == into

    @rule(name=NAMES)
    def purge_entity(self, name: str) -> None:
        with self.store.writing() as writer:
            writer.purge_entity(name)
        self.model.forget(name)

    @rule(name=NAMES, kind=KINDS)
    def change_half_and_fail(self, name: str, kind: str) -> None:
        try:
            with self.store.writing() as writer:
                writer.drop_entity(name, Span())
                writer.put_entity(EntityRecord("half", kind), Span())
                raise KeyError(name)
        except KeyError:
            pass

    @rule()
    def open_it_again(self) -> None:
        self.store.close()
        self.store = SqliteStore(self.path, "one")

    @rule(data=st.data(), valid=MOMENTS, off=st.sampled_from([-1, 0, 1]))
    def look_back(self, data: st.DataObject, valid: int, off: int) -> None:
        recorded = data.draw(st.sampled_from(self.stamps)) + off
        with self.store.reading() as reader:
            assert read(reader, View(valid, recorded)) == self.model.at(recorded, valid)

    @invariant()
    def now_is_what_was_said_last(self) -> None:
        with self.store.reading() as reader:
            now = reader.now()
            for valid in (0, 4, now):
                assert read(reader, View(valid)) == self.model.at(now, valid)
            found = {match.name for match in reader.match_words("red blue", "any", 10)}
            there = {one.name for one in reader.entities(ANY_TIME, Page())}
            assert found == there and self.model.at(now, now)[0].keys() <= there
        with self.other.reading() as reader:
            assert read(reader, View(4)) == ({}, set(), set())


TestTimeTravel = TimeTravel.TestCase
# A fifth of the usual: each is a file and thirty changes. make fuzz makes thousands.
EXAMPLES = settings().max_examples // 5
TestTimeTravel.settings = settings(max_examples=EXAMPLES, stateful_step_count=30, deadline=None)

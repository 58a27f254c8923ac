from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from dovetail_graph.records import EntityRecord, RelationKey, RelationRecord
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.timestamps import Span, View


def fill(path: Path, pairs: list[tuple[str, str]]) -> SqliteStore:
    store = SqliteStore(path, "default")
    with store.writing() as writer:
        for name in sorted({end for pair in pairs for end in pair}):
            writer.put_entity(EntityRecord(name, "thing"), Span(0))
        for source, target in dict.fromkeys(pairs):
            key = RelationKey(source, target, "knows")
            writer.put_relation(RelationRecord(key, 1.0, 1.0), Span(0))
    return store


def test_an_entity_at_the_top_of_neither_list_can_be_the_most_connected(tmp_path: Path) -> None:
    # Forty with five outward, forty with five inward, and one with four of each.
    pairs = [(f"out{n}", f"x{n}-{m}") for n in range(40) for m in range(5)]
    pairs += [(f"y{n}-{m}", f"in{n}") for n in range(40) for m in range(5)]
    pairs += [("both", f"z{m}") for m in range(4)] + [(f"w{m}", "both") for m in range(4)]
    store = fill(tmp_path / "graph.db", pairs)
    with store.reading() as reader:
        assert reader.most_connected(View(reader.now()), 1) == [("both", 8)]
    store.close()


@pytest.mark.parametrize("seed", range(3))
def test_degrees_are_exact_in_any_graph(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"n{number}" for number in range(60)]
    pairs = [(chance.choice(names), chance.choice(names[: 10 + 20 * seed])) for _ in range(300)]
    store = fill(tmp_path / "graph.db", pairs)
    degrees = Counter(end for pair in set(pairs) for end in pair)
    due = sorted(degrees.values(), reverse=True)[:10]
    with store.reading() as reader:
        for view in (View(reader.now()), View(reader.now(), reader.now())):
            found = reader.most_connected(view, 10)
            assert [degree for _, degree in found] == due
            assert all(degrees[name] == degree for name, degree in found)
            assert reader.count_types(view)[1] == {"knows": len(set(pairs))}
            assert reader.count_entities(view) == len(degrees)
    store.close()

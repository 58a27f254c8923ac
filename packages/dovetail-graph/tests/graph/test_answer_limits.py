"""No answer of any tool is longer than its limit, with structured content and text together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from dovetail_graph.examples import EXAMPLES
from dovetail_graph.inputs import MAX_CHARS
from tests.graph.driving import command, entity, relation
from tests.graph.official import Official, official, size_of

# Long names, of characters that take more room in JSON, and in JSON inside of a string.
KNOWN = [
    f"{number:03} {mark}"
    for number, mark in enumerate(['"' * 190, "\U0001f642" * 190, "x" * 190] * 40)
]
TEXT = '"quoted" \\ and\nlong ' * 200
NAMES = st.one_of(st.sampled_from(KNOWN), st.sampled_from(["nobody", "\\" * 5_000, ""]))
LISTS = st.lists(NAMES, min_size=1, max_size=60)
TIMES = st.sampled_from(["now", "2016-01-01", "2100-01-01", "ever", "never"])
LIMITS = st.sampled_from([1_000, 1_500, 5_000, 24_000, 60_000])
LINKS = st.builds(lambda one, other: relation(one, other, '"' * 100), NAMES, NAMES)
NEW_LINKS = st.builds(lambda one: {**one, "metadata": {"why": '"' * 1_900}}, LINKS)
NEW = st.builds(lambda name: entity(name, TEXT, "ok"), NAMES)
NEW_TEXTS = st.builds(lambda name: {"entityName": name, "contents": [TEXT + name[:3]]}, NAMES)
GONE = st.builds(
    lambda name, text: {"entityName": name, "observations": [text, "no" * 2_000]},
    NAMES,
    st.just("ok"),
)
BAD_LINES = '{"type": "\\"\\""}\n' * 30
BAD_ITEM = '{"name": "' + "\\\\" * 400 + '"}'
BAD_DOCUMENT = '{"entities": [' + ",".join([BAD_ITEM] * 30) + '], "relations": []}'


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return arguments of which each may be missing."""
    return st.fixed_dictionaries({}, optional=fields)


def many(field: str, items: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {field: st.lists(items, min_size=1, max_size=80)}, optional={"atomic": st.booleans()}
    )


def needs(
    field: str, items: st.SearchStrategy[Any], **more: Any
) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({field: items}, optional=more)


PAGES = {
    "limit": st.integers(0, 1_000),
    "maxChars": LIMITS,
    "fields": st.just(["details", "relations", "times"]),
    "center": NAMES,
}
SEARCHES = {"limit": st.integers(1, 200), "asOf": TIMES, "maxChars": LIMITS}
QUERIES = st.sampled_from(["quoted", "long", "001", "x" * 2_000, '"', "ok"])
CALLS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "create_entities": many("entities", NEW),
    "create_relations": many("relations", NEW_LINKS),
    "add_observations": many("observations", NEW_TEXTS),
    "delete_observations": needs("deletions", st.lists(GONE, min_size=1, max_size=40)),
    "delete_relations": needs("relations", st.lists(LINKS, min_size=1, max_size=80)),
    "update_relation": needs("relation", NEW_LINKS),
    "get_relation": LINKS,
    "get_relation_history": LINKS,
    "read_graph": some(**PAGES),
    "get_graph_at_time": needs("timestamp", TIMES, recorded_at=TIMES, **PAGES),
    "get_decayed_graph": some(reference_time=TIMES, **PAGES),
    "open_nodes": needs("names", LISTS, depth=st.integers(0, 3), asOf=TIMES, maxChars=LIMITS),
    "search_nodes": needs(
        "query", QUERIES, match=st.sampled_from(["words", "prefix", "fuzzy", "exact"]), **SEARCHES
    ),
    "semantic_search": needs("query", QUERIES, explain=st.booleans(), **SEARCHES),
    "get_entity_embedding": needs("entity_name", NAMES),
    "get_entity_history": needs("entityName", NAMES),
    "traverse_graph": needs(
        "start", LISTS, depth=st.integers(1, 10), limit=st.just(500), asOf=TIMES
    ),
    "recent_changes": some(limit=st.just(500)),
    "graph_stats": some(changes=st.integers(0, 100)),
    "transfer_graph": st.one_of(
        st.builds(
            lambda kind: {"action": "export", "format": kind},
            st.sampled_from(["jsonl", "json", "graphml", "mermaid"]),
        ),
        st.just({"action": "import", "data": BAD_LINES}),
        st.just({"action": "import", "format": "json", "data": BAD_DOCUMENT}),
    ),
    "merge_entities": st.builds(
        lambda into, others: {"into": into, "from": others, "dryRun": True}, NAMES, LISTS
    ),
    "memory_search": needs("query", QUERIES, by=st.sampled_from(["meaning", "words"]), asOf=TIMES),
    "memory_read": st.one_of(
        some(names=LISTS, depth=st.integers(0, 3), target=NAMES, asOf=TIMES),
        some(overview=st.sampled_from(["stats", "changes"])),
    ),
    "memory_edit": some(
        entities=st.lists(NEW, max_size=40), relations=st.lists(NEW_LINKS, max_size=40)
    ),
    "delete_entities": needs(
        "entityNames", st.lists(NAMES, min_size=1, max_size=5), validTo=st.just("now")
    ),
    "force_generate_embedding": needs("entity_name", NAMES),
    "debug_embedding_config": some(),
    "diagnose_vector_search": some(),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Official]:
    path: Path = tmp_path_factory.mktemp("limits") / "graph.db"
    with official(command(path, "--debug-tools", "--tools", "compact")) as client:
        for start in range(0, len(KNOWN), 30):
            names = KNOWN[start : start + 30]
            kinds = [f"{name[:3]}" + '"' * 90 for name in names]
            both = [
                entity(name, "ok", TEXT, kind=kind) for name, kind in zip(names, kinds, strict=True)
            ]
            client.call("create_entities", {"entities": both})
        hub = [relation(KNOWN[0], name, "\U0001f642" * 100) for name in KNOWN[1:]]
        client.call("create_relations", {"relations": hub})
        for number in range(8):
            changed = relation(
                KNOWN[0], KNOWN[1], "\U0001f642" * 100, metadata={"n": f"{number}" * 3_000}
            )
            client.call("update_relation", {"relation": changed})
            client.call(
                "add_observations",
                {"observations": [{"entityName": KNOWN[0], "contents": [f"{number} {TEXT}"]}]},
            )
        yield client


# Each example calls every tool. make fuzz makes thousands.
@settings(max_examples=settings().max_examples // 20, deadline=None)
@given(calls=st.fixed_dictionaries(CALLS))
def test_no_answer_exceeds_its_limit(client: Official, calls: dict[str, dict[str, Any]]) -> None:
    assert calls.keys() == EXAMPLES.keys()
    for tool, arguments in calls.items():
        size = size_of(client.call(tool, arguments))
        assert size <= arguments.get("maxChars", MAX_CHARS), (tool, size)


def test_answers_use_most_of_their_limit(client: Official) -> None:
    for limit in (5_000, 24_000, 100_000):
        result = client.call("read_graph", {"maxChars": limit})
        assert limit // 3 < size_of(result) <= limit

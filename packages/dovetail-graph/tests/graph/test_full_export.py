"""Export as json and import again: equal at every point of both time axes."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from dovetail.testing import connect
from dovetail_graph import build_server
from dovetail_graph.server import GraphOptions
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.storage import ChangeFilter, Page, Reader
from dovetail_graph.timestamps import EARLIEST, EVER, FOREVER, View
from tests.driving import good
from tests.graph.driving import entity, relation

NAMES = st.sampled_from(["Ann", "Bo", "Cy"])
TEXTS = st.sampled_from(["sails", "cooks \u2028 well", 'is "here"'])
DAYS = st.sampled_from(["0001-01-01", "1969-05-01", "2015-01-01", "2018-01-01", "2100-01-01"])
SPANS: st.SearchStrategy[dict[str, str]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"validFrom": DAYS}),
    st.tuples(DAYS, DAYS)
    .filter(lambda pair: pair[0] < pair[1])
    .map(lambda pair: {"validFrom": pair[0], "validTo": pair[1]}),
)
CONFIDENCE = st.sampled_from([0.1, 1 / 3, 1.0])
OBSERVATIONS = st.builds(
    lambda text, span, sure: {"content": text, "confidence": sure, "source": "s", **span},
    TEXTS,
    SPANS,
    CONFIDENCE,
)
ENTITIES = st.builds(
    lambda name, text, span, kind: entity(name, text, kind=kind, changedBy="me", **span),
    NAMES,
    TEXTS,
    SPANS,
    st.sampled_from(["person", "robot"]),
)
RELATIONS = st.builds(
    lambda one, other, span, sure: relation(
        one, other, confidence=sure, metadata={"n": [1, 0.5, None]}, **span
    ),
    NAMES,
    NAMES,
    SPANS,
    CONFIDENCE,
)
CALLS = st.one_of(
    st.tuples(
        st.just("create_entities"),
        st.fixed_dictionaries({"entities": st.lists(ENTITIES, max_size=2, min_size=1)}),
    ),
    st.builds(
        lambda name, one: (
            "add_observations",
            {"observations": [{"entityName": name, "contents": [one]}]},
        ),
        NAMES,
        OBSERVATIONS,
    ),
    st.builds(
        lambda name, one, other: (
            "add_observations",
            {
                "observations": [
                    {"entityName": name, "contents": [{"content": one, "replaces": other}]}
                ]
            },
        ),
        NAMES,
        TEXTS,
        TEXTS,
    ),
    st.tuples(st.just("create_relations"), st.builds(lambda one: {"relations": [one]}, RELATIONS)),
    st.tuples(st.just("update_relation"), st.builds(lambda one: {"relation": one}, RELATIONS)),
    st.builds(lambda name: ("delete_entities", {"entityNames": [name]}), NAMES),
    st.builds(
        lambda name, day: ("delete_entities", {"entityNames": [name], "validTo": day}), NAMES, DAYS
    ),
    st.builds(
        lambda name, text: (
            "delete_observations",
            {"deletions": [{"entityName": name, "observations": [text]}]},
        ),
        NAMES,
        TEXTS,
    ),
    st.builds(lambda one, other: ("merge_entities", {"into": one, "from": [other]}), NAMES, NAMES),
)


def everything(reader: Reader, view: View) -> Any:
    """Return all that is true in a view, without when it was recorded."""
    entities = reader.entities(view, Page())
    names = [one.name for one in entities]
    return (
        [(one.name, one.kind, one.changed_by, one.times, one.deleted) for one in entities],
        sorted(map(repr, reader.observations(names, view))),
        sorted(map(repr, reader.relations(view, sources=names))),
    )


def moments(reader: Reader) -> tuple[list[int], list[int]]:
    """Return the times at which something changes, on both axes; in between nothing does."""
    names, _ = reader.names_ever(-1)
    rows = [row.times for some in reader.rows_on(names) for row in some]
    valid = {at for one in rows for at in (one.valid.start, one.valid.end)}
    recorded = {at for one in rows for at in (one.recorded.start, one.recorded.end)}
    return sorted({EARLIEST, *valid}), sorted({EARLIEST, *recorded})


async def export_and_import(path: Path, calls: list[tuple[str, dict[str, Any]]]) -> None:
    """Make the calls, export as json, and import into another namespace of the file."""
    options = [GraphOptions(embeddings="ngrams", namespace=name) for name in ("one", "two")]
    async with connect(build_server(path, options[0])) as client:
        for tool, arguments in calls:
            await client.call(tool, arguments)
        saved = await good(
            client, "transfer_graph", action="export", format="json", saveTo="all.json"
        )
    text = (path.parent / "graph-exports" / "one" / "all.json").read_text()
    async with connect(build_server(path, options[1])) as client:
        done = await good(client, "transfer_graph", action="import", format="json", data=text)
    counts = ("entities", "relations", "observations", "rejected")
    assert [done[key] for key in counts] == [saved[key] for key in counts]


# Each example is two files and up to fifteen changes. make fuzz makes thousands.
@settings(max_examples=settings().max_examples // 10, deadline=None)
@given(calls=st.lists(CALLS, min_size=3, max_size=15))
def test_an_export_restores_every_point_of_both_time_axes(
    calls: list[tuple[str, dict[str, Any]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.db"
        asyncio.run(export_and_import(path, calls))
        one, two = SqliteStore(path, "one"), SqliteStore(path, "two")
        with one.reading() as before, two.reading() as after:
            valid, recorded = moments(before)
            assert moments(after) == (valid, recorded)
            for view in (
                View(None),
                EVER,
                *(View(at, known) for at in valid for known in recorded),
            ):
                assert everything(before, view) == everything(after, view), view
            logs = [
                reader.changes(ChangeFilter(EARLIEST, FOREVER, limit=-1))
                for reader in (before, after)
            ]
            plain = [[(c.at, c.kind, c.action, c.name, c.detail) for c in log] for log in logs]
            assert plain[0] == plain[1]
            for name in ("Ann", "Bo", "Cy"):
                assert before.find(name) == after.find(name)
            found = [
                [match.name for match in reader.match_words("sails cooks", "any", 9)]
                for reader in (before, after)
            ]
            assert sorted(found[0]) == sorted(found[1])
        one.close()
        two.close()


def test_an_import_into_a_graph_with_content_adds_what_is_said_now(tmp_path: Path) -> None:
    past = {"content": "sailed", "validFrom": "2015-01-01", "validTo": "2018-01-01"}

    async def run() -> None:
        options = [GraphOptions(embeddings="ngrams", namespace=name) for name in ("one", "two")]
        async with connect(build_server(tmp_path / "graph.db", options[0])) as client:
            await good(client, "create_entities", entities=[entity("Ann", past, "gone", "here")])
            gone = {"entityName": "Ann", "observations": ["gone"]}
            await good(client, "delete_observations", deletions=[gone])
            exported = await good(client, "transfer_graph", action="export", format="json")
        async with connect(build_server(tmp_path / "graph.db", options[1])) as client:
            await good(client, "create_entities", entities=[entity("Bo")])
            done = await good(
                client, "transfer_graph", action="import", format="json", data=exported["data"]
            )
            assert (done["entities"], done["observations"], done["rejected"]) == (1, 2, 0)
            # Two closed versions (of the entity and of the deleted text), and the deleted one.
            assert done["leftOut"] >= 2
            [ann] = (await good(client, "open_nodes", names=["Ann"]))["entities"]
            texts = {one["content"]: one.get("status") for one in ann["details"]}
            assert texts == {"sailed": "ended", "here": None}

    asyncio.run(run())


def test_an_observation_outlives_the_version_of_its_entity_that_it_is_exported_in(
    tmp_path: Path,
) -> None:
    texts = {"Bo": "sails", "Cy": "cooks"}

    async def run() -> None:
        options = [GraphOptions(embeddings="ngrams", namespace=name) for name in ("one", "two")]
        async with connect(build_server(tmp_path / "graph.db", options[0])) as client:
            made = [entity(name, text, validFrom="2015-01-01") for name, text in texts.items()]
            await good(client, "create_entities", entities=made)
            # Written last, so it is the version that carries the observations.
            older = [entity(name, validFrom="1969-05-01") for name in texts]
            await good(client, "create_entities", entities=older)
            exported = await good(client, "transfer_graph", action="export", format="json")
        for number in (0, 1):
            async with connect(build_server(tmp_path / "graph.db", options[number])) as client:
                # The other namespace is not empty, so the document is added to what is there.
                await good(client, "create_entities", entities=[entity("Ann")])
                done = await good(
                    client, "transfer_graph", action="import", format="json", data=exported["data"]
                )
                assert done["rejected"] == 0, done["reasons"]
                found = (await good(client, "open_nodes", names=list(texts)))["entities"]
                told = {
                    one["name"]: [(each["content"], each.get("status")) for each in one["details"]]
                    for one in found
                }
                assert told == {name: [(text, None)] for name, text in texts.items()}

    asyncio.run(run())


def test_a_forged_history_is_rejected_or_made_consistent(tmp_path: Path) -> None:
    def version(name: str, **record: Any) -> dict[str, Any]:
        return {"name": name, "entityType": "x", "validFrom": "2015-01-01", "record": record}

    document = {
        "entities": [
            version("future", at="2200-01-01"),
            version("backwards", at="2020-01-02", until="2020-01-01"),
            version("broken", at="soon"),
            # Two versions of one fact at the same time: the later one holds.
            version("twice", at="2020-01-01"),
            {**version("twice", at="2020-02-01"), "entityType": "y"},
            {**version("a" * 201, at="2020-02-01")},
        ],
        "relations": [{"from": "twice", "to": "nobody", "relationType": "r"}],
        "changes": [{"at": "2200-01-01", "kind": "entity", "action": "created", "name": "later"}],
    }

    async def run() -> None:
        server = build_server(tmp_path / "graph.db", GraphOptions(embeddings="ngrams"))
        async with connect(server) as client:
            done = await good(
                client, "transfer_graph", action="import", format="json", data=json.dumps(document)
            )
            assert (done["entities"], done["rejected"]) == (1, 5)
            page = await good(client, "read_graph")
            assert [(one["name"], one["entityType"]) for one in page["entities"]] == [
                ("twice", "y")
            ]
            then = {"timestamp": "2020-01-15", "recorded_at": "2020-01-15"}
            page = await good(client, "get_graph_at_time", **then)
            assert [one["entityType"] for one in page["entities"]] == ["x"]
            assert (await good(client, "recent_changes"))["changes"] == []
            made = await good(client, "create_entities", entities=[entity("Ann")])
            assert made["recordedAt"] < "2200"

    asyncio.run(run())

"""Facts about the past, through the official client: recorded, found, marked, corrected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcp import ClientSession

from tests.driving import use_over_stdio
from tests.graph.driving import command, entity, relation

INITECH = {"content": "Worked at Initech", "validFrom": "2015-01-01", "validTo": "2018-01-01"}


async def call(session: ClientSession, tool: str, **arguments: Any) -> Any:
    result = await session.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(session: ClientSession, tool: str, **arguments: Any) -> str:
    result = await session.call_tool(tool, arguments)
    assert result.is_error, result.content
    return result.content[0].text  # type: ignore[union-attr]


async def observe(session: ClientSession, name: str, *contents: Any) -> Any:
    return await call(
        session, "add_observations", observations=[{"entityName": name, "contents": contents}]
    )


async def names(session: ClientSession, query: str, **more: Any) -> list[str]:
    found = await call(session, "search_nodes", query=query, **more)
    return [hit["entity"]["name"] for hit in found["results"]]


def test_a_fact_about_the_past_is_found_everywhere(tmp_path: Path) -> None:
    async def use(session: ClientSession) -> None:
        await session.initialize()
        people = [entity("Ann", "Works at Acme", kind="person"), entity("Initech", kind="company")]
        await call(session, "create_entities", entities=[*people, entity("Bo", "Met Initech")])
        added = await observe(session, "Ann", INITECH)
        # The entity begins with its oldest fact, and the answer says so.
        assert "'Ann' now begins at 2015-01-01" in added["items"][0]["reason"]
        span = {"validFrom": "2015-01-01", "validTo": "2018-01-01"}
        linked = relation("Ann", "Initech", "worked_at", **span)
        made = await call(session, "create_relations", relations=[linked])
        assert "'Initech' now begins" in made["items"][0]["reason"]

        found = await call(session, "search_nodes", query="worked Initech", limit=1)
        [past] = found["results"][0]["entity"]["otherTimes"]
        assert past["content"] == "Worked at Initech" and past["status"] == "ended"
        assert past["validTo"] == "2018-01-01T00:00:00.000000Z"
        similar = await call(session, "semantic_search", query="Ann worked at Initech")
        [best] = [one for one in similar["results"] if one["entity"]["name"] == "Ann"]
        assert best["matchedObservation"] == "Worked at Initech"
        assert best["matchedStatus"] == "ended"

        opened = await call(session, "open_nodes", names=["Ann"])
        statuses = {one["content"]: one.get("status") for one in opened["entities"][0]["details"]}
        assert statuses == {"Works at Acme": None, "Worked at Initech": "ended"}
        assert [one["status"] for one in opened["relations"]] == ["ended"]
        got = await call(session, "get_relation", **relation("Ann", "Initech", "worked_at"))
        assert got["relation"]["status"] == "ended"
        told = await call(session, "get_entity_history", entityName="Ann")
        assert told["history"][0]["otherTimes"][0]["content"] == "Worked at Initech"
        then = await call(
            session, "get_graph_at_time", timestamp="2016-06-01", recorded_at="now", center="Ann"
        )
        assert {one["name"] for one in then["entities"]} == {"Ann", "Initech"}
        assert then["entities"][0]["observations"] == ["Worked at Initech"]
        exported = await call(session, "transfer_graph", action="export", format="json")
        assert "Worked at Initech" in exported["data"] and "worked_at" in exported["data"]
        # Formats without times leave it out, and say how much.
        lines = await call(session, "transfer_graph", action="export", format="jsonl")
        assert "Worked at Initech" not in lines["data"] and lines["leftOut"] == 1
        read = await session.read_resource("graph://entity/Ann")
        assert "Worked at Initech" in read.contents[0].text  # type: ignore[union-attr]

        # The present, and another time.
        for tool in ("search_nodes", "semantic_search"):
            then = await call(session, tool, query="worked at Initech", asOf="2016-06-01")
            hits = {one["entity"]["name"]: one["entity"] for one in then["results"]}
            assert hits["Ann"]["observations"] == ["Worked at Initech"]
        opened = await call(session, "open_nodes", names=["Ann"], asOf="2016-06-01")
        assert [one["to"] for one in opened["relations"]] == ["Initech"]
        assert "Ann" not in await names(session, "worked Initech", asOf="now", match="prefix")
        step = await call(session, "traverse_graph", start=["Ann"])
        assert [one["name"] for one in step["nodes"]] == ["Ann"]
        step = await call(session, "traverse_graph", start=["Ann"], asOf="ever")
        assert [one["name"] for one in step["nodes"]] == ["Ann", "Initech"]

        # It can be deleted; after that only "ever" finds it.
        gone = {"entityName": "Ann", "observations": ["Worked at Initech"]}
        assert (await call(session, "delete_observations", deletions=[gone]))["deleted"] == 1
        assert await names(session, "worked at Initech", match="exact") == []
        found = await call(session, "search_nodes", query="worked", as_of="ever")
        assert found["results"][0]["entity"]["otherTimes"][0]["status"] == "deleted"
        ever = await call(session, "semantic_search", query="worked at Initech", asOf="ever")
        assert ever["results"][0]["matchedStatus"] == "deleted"

    use_over_stdio(command(tmp_path / "graph.db"), use)


def test_an_entity_that_has_ended_is_found_after_those_that_have_not(tmp_path: Path) -> None:
    async def use(session: ClientSession) -> None:
        await session.initialize()
        both = [entity("Old bakery", "Sells rye bread"), entity("New bakery", "Sells rye bread")]
        await call(session, "create_entities", entities=both)
        assert set(await names(session, "rye bread")) == {"Old bakery", "New bakery"}
        await call(session, "delete_entities", entityNames=["Old bakery"], validTo="now")
        for tool, query in (("search_nodes", "rye bread"), ("semantic_search", "rye bread")):
            found = await call(session, tool, query=query)
            hits = [
                (one["entity"]["name"], one["entity"].get("status")) for one in found["results"]
            ]
            assert hits == [("New bakery", None), ("Old bakery", "ended")], tool
        # A fact without times about an entity that has ended is true while it was there.
        await observe(session, "Old bakery", "Had an oven of 1890")
        assert await names(session, "oven 1890") == ["Old bakery"]
        opened = await call(session, "open_nodes", names=["Old bakery"])
        assert {one["status"] for one in opened["entities"][0]["details"]} == {"ended"}
        later = {"content": "Sells cake", "validTo": "2200-01-01"}
        said = await refused(
            session,
            "add_observations",
            observations=[{"entityName": "Old bakery", "contents": ["x", later]}],
        )
        assert "is there until" in said and "later validTo" in said
        assert await names(session, "x", match="exact") == []
        assert "asOf" in await refused(session, "traverse_graph", start=["Old bakery"])
        # Deleted entities are found only in "ever".
        await call(session, "delete_entities", entityNames=["Old bakery"])
        assert await names(session, "rye bread") == ["New bakery"]
        assert await names(session, "rye bread", asOf="ever") == ["New bakery", "Old bakery"]

    use_over_stdio(command(tmp_path / "graph.db"), use)


def test_facts_of_the_future_are_found_and_marked(tmp_path: Path) -> None:
    async def use(session: ClientSession) -> None:
        await session.initialize()
        await call(session, "create_entities", entities=[entity("Ann")])
        await observe(session, "Ann", {"content": "Moves to Oslo", "validFrom": "2200-01-01"})
        found = await call(session, "search_nodes", query="Oslo")
        assert found["results"][0]["entity"]["otherTimes"][0]["status"] == "upcoming"
        # A planned end stays if the fact is recorded again without times.
        leased = {"content": "Rents a flat", "confidence": 0.5, "validTo": "2200-01-01"}
        await observe(session, "Ann", leased)
        await observe(session, "Ann", {"content": "Rents a flat", "confidence": 0.9})
        [ann] = (await call(session, "open_nodes", names=["Ann"]))["entities"]
        [flat] = [one for one in ann["details"] if one["content"] == "Rents a flat"]
        assert flat["validTo"].startswith("2200") and flat["confidence"] == 0.9
        said = await refused(
            session,
            "create_entities",
            entities=[entity("Bo", INITECH, validFrom="2020-01-01")],
        )
        assert "before the validFrom of its entity" in said
        assert "pass validFrom too" in await refused(
            session,
            "add_observations",
            observations=[
                {"entityName": "Ann", "contents": [{"content": "x", "validTo": "2018-01-01"}]}
            ],
        )

    use_over_stdio(command(tmp_path / "graph.db"), use)

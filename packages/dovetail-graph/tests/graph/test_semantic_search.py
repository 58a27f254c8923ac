"""Semantic search with the built-in model, through the server process."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from dovetail.client import Client
from tests.driving import good
from tests.graph.driving import entity, over_stdio
from tests.patience import CAP

MODEL = "all-MiniLM-L6-v2"
THINGS = [
    entity("Garage", "The car would not start on Monday", kind="place"),
    entity("Kitchen", "Rosa bakes plum cake on Sundays", "The oven door is loose", kind="place"),
    entity("Oleg", "Phones his mother every evening", kind="person"),
]


def run(
    database: Path, use: Callable[[Client], Awaitable[None]], *options: str, model: str = "minilm"
) -> None:
    async def drive() -> None:
        async with (
            asyncio.timeout(CAP),
            over_stdio(database, "--embeddings", model, *options) as client,
        ):
            await use(client)

    asyncio.run(drive())


async def ask(client: Client, query: str, **more: Any) -> list[str]:
    # On a slow machine a search does not wait for the vectors of the last changes.
    await settle(client)
    found = await good(client, "semantic_search", query=query, **more)
    assert (found["mode"], found["model"]) == ("semantic", MODEL)
    return [one["entity"]["name"] for one in found["results"]]


async def settle(client: Client) -> None:
    """Wait until every entity has its vectors."""
    while (await good(client, "semantic_search", query="x")).get("notEmbedded"):
        await asyncio.sleep(0.02)


def count(database: Path, table: str = "passages") -> int:
    with contextlib.closing(sqlite3.connect(database)) as file:
        return int(file.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_the_next_call_finds_a_new_entity_by_meaning(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        await good(client, "create_entities", entities=THINGS)
        await settle(client)
        found = await good(client, "semantic_search", query="a broken automobile", explain=True)
        first = found["results"][0]
        assert found["mode"] == "semantic" and "notEmbedded" not in found
        assert first["entity"]["name"] == "Garage" and 0.2 < first["similarity"] < 0.9
        assert first["matchedObservation"] == "The car would not start on Monday"
        assert "by similarity: rank 1" in first["explanation"]
        assert (await ask(client, "who is close to a parent"))[0] == "Oleg"
        assert await ask(client, "who is close to a parent", entity_types=["place"]) == []
        assert await ask(client, "pastry", hybrid_search=False) == ["Kitchen"]
        assert await ask(client, "a broken automobile", min_similarity=0.9) == []
        # By words alone the same question finds nothing.
        assert (await good(client, "search_nodes", query="automobile"))["count"] == 0

    run(tmp_path / "graph.db", use)


def test_deleted_observations_are_not_found_by_meaning(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        await good(client, "create_entities", entities=THINGS)
        assert await ask(client, "cake", min_similarity=0.3) == ["Kitchen"]
        gone = {"entityName": "Kitchen", "observations": ["Rosa bakes plum cake on Sundays"]}
        await good(client, "delete_observations", deletions=[gone])
        assert await ask(client, "cake", min_similarity=0.3) == []
        added = {"entityName": "Garage", "contents": ["Bert sells cakes and biscuits there"]}
        await good(client, "add_observations", observations=[added])
        assert await ask(client, "cake", min_similarity=0.3) == ["Garage"]
        await good(client, "delete_entities", entityNames=["Garage"])
        assert await ask(client, "cake", min_similarity=0.3) == []

    run(tmp_path / "graph.db", use)
    # The kitchen keeps two of its three texts, and nothing deleted is left.
    assert count(tmp_path / "graph.db") == 2


def test_vectors_are_computed_in_the_background_without_a_search(tmp_path: Path) -> None:
    database = tmp_path / "graph.db"

    async def use(client: Client) -> None:
        await good(client, "create_entities", entities=THINGS)
        while count(database) < 4:
            await asyncio.sleep(0.02)

    run(database, use)


def test_new_entities_are_found_by_words_at_once_and_by_meaning_later(tmp_path: Path) -> None:
    many = [entity(f"Item{number}", f"box {number} on the shelf") for number in range(97)]

    async def use(client: Client) -> None:
        await good(client, "create_entities", entities=[*THINGS, *many])
        words = await good(client, "search_nodes", query="box 42")
        assert words["results"][0]["entity"]["name"] == "Item42"
        await settle(client)
        assert (await ask(client, "a broken automobile"))[0] == "Garage"

    run(tmp_path / "graph.db", use)


def test_vectors_are_stored_and_not_computed_twice(tmp_path: Path) -> None:
    database = tmp_path / "graph.db"

    async def write(client: Client) -> None:
        await good(client, "create_entities", entities=THINGS)
        assert (await ask(client, "a broken automobile"))[0] == "Garage"

    async def read(client: Client) -> None:
        await settle(client)
        assert (await ask(client, "a broken automobile"))[0] == "Garage"

    run(database, write)
    with contextlib.closing(sqlite3.connect(database)) as file:
        before = file.execute("SELECT id, vector FROM passages ORDER BY id").fetchall()
    run(database, read)
    with contextlib.closing(sqlite3.connect(database)) as file:
        assert file.execute("SELECT id, vector FROM passages ORDER BY id").fetchall() == before


def test_processes_share_vectors(tmp_path: Path) -> None:
    database = tmp_path / "graph.db"

    async def use(client: Client) -> None:
        async with over_stdio(database, "--embeddings", "minilm") as other:
            assert await ask(other, "a broken automobile") == []
            await good(client, "create_entities", entities=THINGS)
            assert (await ask(client, "a broken automobile"))[0] == "Garage"
            assert (await ask(other, "a broken automobile"))[0] == "Garage"
            await good(other, "delete_entities", entityNames=["Garage"])
            assert "Garage" not in await ask(client, "a broken automobile")
        async with over_stdio(
            database, "--embeddings", "minilm", "--namespace", "second"
        ) as second:
            assert await ask(second, "pastry") == []

    run(database, use)
    assert count(database) == 3


def test_a_change_of_model_embeds_the_graph_again(tmp_path: Path) -> None:
    database = tmp_path / "graph.db"

    async def write(client: Client) -> None:
        await good(client, "create_entities", entities=THINGS)
        assert (await ask(client, "a broken automobile"))[0] == "Garage"

    async def read(client: Client) -> None:
        await settle(client)
        assert (await ask(client, "a broken automobile"))[0] == "Garage"

    run(database, write)
    with contextlib.closing(sqlite3.connect(database)) as file, file:
        # As if an older model had computed them.
        file.execute("UPDATE passages SET model = 'older', vector = x'00'")
        file.execute("UPDATE embedded SET model = 'older'")
    run(database, read)
    assert count(database) == 8


def test_purging_erases_vectors_of_every_model(tmp_path: Path) -> None:
    database = tmp_path / "graph.db"

    async def write(client: Client) -> None:
        await good(client, "create_entities", entities=THINGS)
        await ask(client, "anything")

    async def purge(client: Client) -> None:
        await good(client, "delete_entities", entityNames=["Kitchen"], purge=True)

    run(database, write)
    with contextlib.closing(sqlite3.connect(database)) as file, file:
        file.execute("UPDATE passages SET model = 'older'")
        file.execute("UPDATE embedded SET model = 'older'")
    run(database, purge, "--purge-unasked", model="off")
    assert (count(database), count(database, "embedded")) == (2, 2)


def test_without_a_model_the_mode_is_lexical(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        await good(client, "create_entities", entities=THINGS)
        found = await good(client, "semantic_search", query="a broken automobile")
        assert (found["mode"], found["results"]) == ("lexical", [])

    run(tmp_path / "graph.db", use, model="ngrams")
    assert count(tmp_path / "graph.db") == 0


def test_a_file_of_version_1_is_upgraded(tmp_path: Path) -> None:
    database = tmp_path / "graph.db"

    async def write(client: Client) -> None:
        await good(client, "create_entities", entities=THINGS)
        past = {"validFrom": "2015-01-01", "validTo": "2018-01-01"}
        ended = {"name": "Initech", "entityType": "place", "observations": ["Made printers"]}
        await good(client, "create_entities", entities=[{**ended, **past}])
        gone = {"name": "Typo", "entityType": "place", "observations": ["Made printers"]}
        await good(client, "create_entities", entities=[gone])
        await good(client, "delete_entities", entityNames=["Typo"])

    async def read(client: Client) -> None:
        await settle(client)
        assert (await ask(client, "a broken automobile"))[0] == "Garage"
        found = await good(client, "search_nodes", query="printers")
        assert [one["entity"]["name"] for one in found["results"]] == ["Initech"]

    run(database, write, model="off")
    with contextlib.closing(sqlite3.connect(database)) as file, file:
        for table in ("entities", "observations", "relations"):
            file.execute(f"ALTER TABLE {table} DROP COLUMN deleted")
        file.execute("DROP INDEX documents_due")
        for column in ("current", "due"):
            file.execute(f"ALTER TABLE documents DROP COLUMN {column}")
        ended = "SELECT id FROM documents WHERE name = 'Initech'"
        file.execute(f"DELETE FROM spellings WHERE rowid IN ({ended})")
        file.execute(f"DELETE FROM documents WHERE id IN ({ended})")
        file.execute("DROP INDEX documents_stamp")
        file.execute("DROP TABLE passages")
        file.execute("DROP TABLE embedded")
        file.execute(
            "CREATE TABLE vectors(document INTEGER NOT NULL, model TEXT NOT NULL, "
            "stamp INTEGER NOT NULL, vector BLOB NOT NULL, PRIMARY KEY(document, model)) "
            "WITHOUT ROWID"
        )
        file.execute("PRAGMA user_version = 1")
    run(database, read)
    with contextlib.closing(sqlite3.connect(database)) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (3,)

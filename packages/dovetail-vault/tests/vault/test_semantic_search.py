"""Semantic search, with the built-in model and without a model."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Client
from tests.driving import eventually, good, refused
from tests.vault.driving import over_stdio, write

NOTES = {
    "Workshop/Puncture.md": (
        "# Puncture\n\nTools are in the shed.\n\n## Repair\n\nTake the wheel off, pull out the "
        "inner tube, find the hole under water and glue a patch over it. Pump it up again.\n"
    ),
    "Kitchen/Sourdough.md": (
        "# Sourdough\n\nFeed the starter at night, knead the dough in the morning, let it rise and "
        "bake the loaf in a hot oven.\n"
    ),
    "Garden/Tomatoes.md": "# Tomatoes\n\nWater the plants at the roots and tie them to a stick.\n",
    "Office/Taxes.md": "# Taxes\n\nThe return is due in May; receipts are in the blue folder.\n",
    "Office/Invoice 4711.md": "# Invoice 4711\n\nPaid to the printer, reference QX-88.\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    for path, text in NOTES.items():
        write(folder, path, text)
    return folder


def paths(found: dict[str, Any]) -> list[str]:
    return [file["path"] for file in found["files"]]


async def by_meaning(client: Client, query: str, mode: str = "semantic", **more: Any) -> Any:
    """Search again until every note is indexed, and then until every note is embedded."""
    found: dict[str, Any] = {}

    async def is_indexed() -> bool:
        found.clear()
        found.update(await good(client, "search-vault", query=query, mode=mode, **more))
        return "indexing" not in found

    async def is_complete() -> bool:
        return await is_indexed() and "remark" not in found

    await eventually(is_indexed)
    await eventually(is_complete)
    return found


def test_a_note_is_found_by_meaning_without_shared_words(vault: Path) -> None:
    async def script() -> None:
        async with over_stdio(vault, "--embeddings", "auto") as client:
            found = await by_meaning(client, "how do I mend a flat bicycle tyre?")
            assert found["mode"] == "semantic"
            assert paths(found)[0] == "Workshop/Puncture.md"
            first = found["files"][0]
            # The most similar passage, not the note's first line.
            assert first["matches"][0]["line"] == 3
            text = await good(client, "search-vault", query="bicycle tyre")
            assert "mode" not in text and text["files"] == []
            baked = await by_meaning(client, "recipe for bread", path="Kitchen")
            assert paths(baked) == ["Kitchen/Sourdough.md"]
            assert paths(await by_meaning(client, "recipe for bread", path="Office")) == []

    asyncio.run(script())


def test_hybrid_finds_what_either_finds(vault: Path) -> None:
    async def script() -> None:
        async with over_stdio(vault, "--embeddings", "auto") as client:
            # Words find the number, the model finds the topic.
            found = await by_meaning(client, "QX-88", "hybrid")
            assert (found["mode"], paths(found)[0]) == ("hybrid", "Office/Invoice 4711.md")
            assert found["files"][0]["matches"][0]["line"] == 3
            found = await by_meaning(client, "declaring income to the government", "hybrid")
            assert paths(found)[0] == "Office/Taxes.md"
            assert found["total"] == len(paths(found)) and "nextOffset" not in found
            second = await by_meaning(
                client, "declaring income to the government", "hybrid", limit=1, offset=1
            )
            assert paths(second) == paths(found)[1:2]

    asyncio.run(script())


def test_a_changed_note_is_found_by_its_new_text(vault: Path) -> None:
    async def script() -> None:
        async with over_stdio(vault, "--embeddings", "minilm") as client:
            await by_meaning(client, "anything")
            await good(
                client,
                "write-note",
                path="Garden/Tomatoes.md",
                mode="overwrite",
                content="# Violin\n\nIt needs new strings before the concert.\n",
            )

            async def is_found() -> bool:
                found = await by_meaning(client, "a musical instrument")
                return paths(found)[:1] == ["Garden/Tomatoes.md"]

            await eventually(is_found)
            again = await by_meaning(client, "growing vegetables")
            assert "Garden/Tomatoes.md" not in paths(again)[:1]

    asyncio.run(script())


def test_vectors_are_stored_and_shared_between_servers(vault: Path) -> None:
    def numbers() -> list[int]:
        file = vault.parent / "vault-index" / "index.sqlite"
        with contextlib.closing(sqlite3.connect(file)) as database:
            return [number for (number,) in database.execute("SELECT id FROM vectors ORDER BY id")]

    async def script() -> None:
        async with (
            over_stdio(vault, "--embeddings", "auto") as one,
            over_stdio(vault, "--embeddings", "auto") as other,
        ):
            query = "how do I mend a flat bicycle tyre?"
            assert paths(await by_meaning(one, query)) == paths(await by_meaning(other, query))
        before = numbers()
        assert before
        async with over_stdio(vault, "--embeddings", "auto") as client:
            await by_meaning(client, "anything")
        assert numbers() == before

    asyncio.run(script())


def test_without_a_model_the_mode_is_lexical(vault: Path) -> None:
    async def script() -> None:
        async with over_stdio(vault) as client:
            for mode in ("semantic", "hybrid"):
                found = await good(client, "search-vault", query="the receipts, please!", mode=mode)
                assert found["mode"] == "lexical"
                assert "dovetail-vault[embeddings]" in found["remark"]
                assert paths(found)[0] == "Office/Taxes.md"

    asyncio.run(script())


def test_semantic_modes_reject_other_sort_orders(vault: Path) -> None:
    async def script() -> None:
        async with over_stdio(vault) as client:
            said = await refused(client, "search-vault", query="x", mode="hybrid", sort="path")
            assert "sort must be 'relevance', got 'path'" in said

    asyncio.run(script())

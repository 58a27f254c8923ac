"""Notes and arguments that attack the server: one caller's note must not end it for all."""

from __future__ import annotations

import asyncio
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Client
from tests.deep.vault.test_nothing_lost import process_of
from tests.driving import good, refused
from tests.vault.driving import over_stdio, read, write
from tests.vault.hostile import BOMBS, SLOW, hostile_documents

# 10,000 in the long run (make fuzz).
DOCUMENTS = int(os.environ.get("HOSTILE_DOCUMENTS", "150"))
MAX_MEMORY_MB = 400


def most_memory_mb(vault: Path) -> int:
    status = Path(f"/proc/{process_of(vault)}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


async def problem_of(client: Client, path: str) -> str:
    [note] = (await good(client, "get-note-metadata", path=path))["notes"]
    return str(note["frontmatterProblem"])


def test_frontmatter_beyond_the_limits_is_reported_when_written_and_at_start(
    tmp_path: Path,
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()

    async def run() -> None:
        async with over_stdio(vault) as client:
            for name, (text, problem) in BOMBS.items():
                await good(client, "write-note", path=f"{name}.md", content=text)
                assert problem in await problem_of(client, name), name
        for file in (tmp_path / "vault-index").glob("index.sqlite*"):
            file.unlink()
        async with over_stdio(vault) as client:
            assert (await good(client, "list-notes"))["total"] == len(BOMBS)
            for name, (_, problem) in BOMBS.items():
                assert problem in await problem_of(client, name), name

    asyncio.run(run())


def test_notes_that_would_be_slow_to_parse_are_written_and_read(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()

    async def run() -> None:
        async with over_stdio(vault) as client:
            for number, text in enumerate(SLOW):
                await good(client, "write-note", path=f"{number}.md", content=text)
                edit = {"op": "set", "target": {"frontmatter": "k"}, "content": 1}
                await good(client, "edit-note", path=f"{number}.md", edits=[edit])
                await read(client, path=f"{number}.md", view="full")

    asyncio.run(run())


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_property_values_beyond_the_limits_are_refused(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    write(vault, "a.md", "---\nk: v\n---\ntext\n")

    async def run() -> None:
        async with over_stdio(vault) as client:
            for value, problem in (
                (nested(60), "nested too deeply"),
                ([1] * 30_000, "too many values"),
                ("x" * 300_000, "too long"),
            ):
                edit = {"op": "set", "target": {"frontmatter": "k"}, "content": value}
                text = await refused(client, "edit-note", path="a.md", edits=[edit])
                assert problem in text
                text = await refused(
                    client, "write-note", path="b.md", content="x", frontmatter={"k": value}
                )
                assert problem in text
            many = {f"key{number}": number for number in range(5_000)}
            await good(client, "write-note", path="b.md", content="x", frontmatter=many)
            found = await good(client, "get-note-metadata", path="b.md", maxChars=1_000_000)
            assert found["notes"][0]["frontmatter"] == many

    asyncio.run(run())


@pytest.mark.slow
def test_hostile_documents_end_no_server(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    draw = random.Random(16)
    documents = list(hostile_documents(draw, DOCUMENTS))
    for number, text in enumerate(documents[::2]):
        write(vault, f"start/{number}.md", text)

    async def run() -> None:
        async with over_stdio(vault) as client:
            process = process_of(vault)
            for number, text in enumerate(documents[1::2]):
                path = f"written/{number}.md"
                result = await client.call("write-note", {"path": path, "content": text})
                assert "Internal error" not in result.text, (number, text[:200])
                if not result.is_error:
                    await client.call("read-note", {"path": path, "view": "full"})
            stats = json.loads((await client.read("vault://stats")).text)
            assert stats["notes"] >= len(documents) // 2
            assert process_of(vault) == process
            assert most_memory_mb(vault) < MAX_MEMORY_MB

    asyncio.run(run())

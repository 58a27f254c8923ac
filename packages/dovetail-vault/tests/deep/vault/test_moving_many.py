"""Moving a note with many backlinks breaks no link.

Some hundred links by default; 1,000 with DURABILITY_RUNS=100 (make durability).
"""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Client
from tests.driving import good
from tests.vault.driving import over_stdio, write

BACKLINKS = max(250, 10 * int(os.environ.get("DURABILITY_RUNS", "0")))

FORMS = (
    "[[Target]]",
    "[[target|shown]]",
    "![[Target#Part]]",
    "[[Deep/Target#^block]]",
    "[[Deep/Target.md]]",
    "[text]({up}Deep/Target.md)",
    "[text](<{up}Deep/Target.md>)",
    '[text]({up}Deep/Target.md#part "title")',
)


async def broken(client: Client) -> set[tuple[str, int, str]]:
    found = await good(client, "get-links", kind="broken", limit=5000)
    return {(edge["source"], edge["line"], edge["written"]) for edge in found.get("broken", ())}


async def leads_to(client: Client, path: str) -> int:
    links = await good(client, "get-links", path=path, direction="in", limit=5000)
    total: int = links["total"]
    return total


@pytest.mark.slow
@pytest.mark.parametrize("target", ["Elsewhere/Renamed note.md", "Elsewhere/Target.md", "Other.md"])
def test_all_backlinks_survive_a_move(tmp_path: Path, target: str) -> None:
    vault = tmp_path / "vault"
    draw = random.Random(target)
    write(
        vault, "Deep/Target.md", "# Target\n\n## Part\n\nText ^block\n\n[[Note 1]] [n](Near.md)\n"
    )
    write(vault, "Deep/Near.md", "near\n")
    # A note elsewhere already has the new name; links to it must not change.
    write(vault, "Shelf/Other.md", "other\n")
    write(vault, "Links to other.md", "[[Other]] [[Nowhere]] [gone](Gone.md)\n")
    for number in range(BACKLINKS):
        folder = draw.choice(["", "A/", "A/B/"])
        form = draw.choice(FORMS).format(up="../" * folder.count("/"))
        write(vault, f"{folder}Note {number}.md", f"# {number}\n\nSee {form} and `[[Target]]`.\n")

    async def run() -> dict[str, Any]:
        async with over_stdio(vault) as client:
            before = await broken(client)
            assert {written for _, _, written in before} == {"Nowhere", "Gone.md"}
            count = await leads_to(client, "Deep/Target.md")
            assert count == BACKLINKS
            # More than fit on a page, each listed once.
            listed = [one.uri for one in await client.list_resources()]
            assert len(set(listed)) == len(listed) == BACKLINKS + 4 + 3
            moved = await good(client, "move-note", **{"from": "Deep/Target.md", "to": target})
            assert await broken(client) == before
            assert await leads_to(client, target) == BACKLINKS
            assert await leads_to(client, "Shelf/Other.md") == 1
            assert await leads_to(client, "Deep/Near.md") == 1
            return moved

    moved = asyncio.run(run())
    assert "failed" not in moved
    assert all("`[[Target]]`" in path.read_text() for path in vault.rglob("Note *.md"))

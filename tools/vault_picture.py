"""Draws docs/images/vault.svg: real calls to the notes server on the sample vault.

usage: python -m tools.vault_picture
"""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from dovetail.client import Client

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "images" / "vault.svg"
EDITS = [
    {"op": "set", "target": {"frontmatter": "status"}, "content": "done"},
    {"op": "append", "target": {"heading": "Tasks"}, "content": "- [ ] paint it"},
]


async def draw(folder: Path) -> None:
    """Record a search, an edit and an error with their real results."""
    vault = folder / "vault"
    shutil.copytree(ROOT / "examples" / "vault", vault)
    # Only the recording is used; the text output is discarded.
    console = Console(record=True, width=100, file=io.StringIO())
    words = ["-m", "dovetail", "serve", "vault", str(vault), "--index-dir", str(folder / "index")]
    async with Client([sys.executable, *words]) as client:
        await _show_search(console, client, "tomatoes AND (barrel OR tag:kitchen) NOT title:soup")
        await _show_edit(console, client)
        wrong = await client.call("read-note", {"path": "../../etc/passwd"})
        console.print("\n[bold cyan]read-note[/] path=../../etc/passwd")
        console.print(f"  [red]{wrong.text}[/]")
    TARGET.write_text(console.export_svg(title="dovetail serve vault examples/vault"), "utf-8")


async def _show_search(console: Console, client: Client, query: str) -> None:
    console.print(f"[bold cyan]search-vault[/] query={json.dumps(query)}")
    found: Any = (await client.call("search-vault", {"query": query})).data
    console.print(f"  [dim]read as {found['interpreted']}: {found['total']} notes[/]")
    for file in found["files"]:
        console.print(f"  [green]{file['path']}[/]")
        for match in file["matches"][:2]:
            line = f"    {match['line']:>3}: {match['text']}"
            console.print(line, markup=False, highlight=False)


async def _show_edit(console: Console, client: Client) -> None:
    console.print("\n[bold cyan]edit-note[/] path='Rain barrel', two edits, dryRun=true")
    arguments = {"path": "Rain barrel", "edits": EDITS, "dryRun": True}
    edited: Any = (await client.call("edit-note", arguments)).data
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in edited["diff"].splitlines()[2:]:
        style = colours.get(line[:1])
        console.print(f"  {line}", style=style, markup=False, highlight=False)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(draw(Path(name)))

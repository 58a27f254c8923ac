"""Start `dovetail serve vault` as a process and connect clients to it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from dovetail.client import Client
from dovetail.spec.models import TextContent
from tests.driving import eventually, good
from tests.patience import CAP


def command(vault: Path, *options: str) -> list[str]:
    """Return the command line of a server, with the index next to the vault.

    Embeddings are off by default, because the model would slow down every other test.
    """
    index = vault.parent / f"{vault.name}-index"
    words = ["-m", "dovetail", "serve", "vault", str(vault), "--index-dir", str(index)]
    return [sys.executable, *words, "--embeddings", "off", *options]


@contextlib.asynccontextmanager
async def over_stdio(vault: Path, *options: str, **client: Any) -> AsyncIterator[Client]:
    """Connect a client to a server process on stdio."""
    async with Client(command(vault, *options), timeout=CAP, **client) as connected:
        await wait_until_indexed(connected)
        yield connected


async def wait_until_indexed(client: Client) -> None:
    """Wait until the index contains all notes."""

    async def is_indexed() -> bool:
        return "indexing" not in await good(client, "list-notes", limit=1)

    await eventually(is_indexed)


async def read(client: Client, **arguments: Any) -> tuple[str, str]:
    """Return the text that read-note returns for one note, and the line about the note."""
    text, remark = await read_several(client, **arguments)
    return text, remark


async def read_several(client: Client, **arguments: Any) -> list[str]:
    """Return the texts that read-note returns."""
    result = await client.call("read-note", arguments)
    assert not result.is_error, result.text
    return [block.text for block in result.content if isinstance(block, TextContent)]


def write(vault: Path, path: str, text: str) -> Path:
    """Write a file of the vault like an editor."""
    file = vault / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its content; symbolic links with their target."""
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root) / name
            data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            found[str(path.relative_to(folder))] = data
    return found

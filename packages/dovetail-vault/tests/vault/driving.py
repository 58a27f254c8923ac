"""The real server, `dovetail serve vault`, as a process of its own, and clients of it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from dovetail.client import Client
from tests.driving import PATIENCE, eventually, good


def command(vault: Path, *options: str) -> list[str]:
    """The command line that serves a vault, with its index beside it.

    Without a model unless told: it would be at work beside every other test.
    """
    index = vault.parent / f"{vault.name}-index"
    words = ["-m", "dovetail", "serve", "vault", str(vault), "--index-dir", str(index)]
    return [sys.executable, *words, "--embeddings", "off", *options]


@contextlib.asynccontextmanager
async def over_stdio(vault: Path, *options: str, **client: Any) -> AsyncIterator[Client]:
    """A client of a server process on stdio."""
    async with Client(command(vault, *options), timeout=PATIENCE, **client) as connected:
        await wait_until_indexed(connected)
        yield connected


async def wait_until_indexed(client: Client) -> None:
    """A search sees all notes from here on."""

    async def is_indexed() -> bool:
        return not (await good(client, "list-notes", limit=1))["indexing"]

    await eventually(is_indexed)


def write(vault: Path, path: str, text: str) -> Path:
    """A file of the vault, written as an editor would."""
    file = vault / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, symbolic links as what they say."""
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root) / name
            data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            found[str(path.relative_to(folder))] = data
    return found

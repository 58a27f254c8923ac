"""The real server, `dovetail serve vault`, as a process of its own, and clients of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from dovetail.client import CallResult, Client

PATIENCE = 15.0


def command(vault: Path, *options: str) -> list[str]:
    """The command line that serves a vault, with its index beside it."""
    index = vault.parent / f"{vault.name}-index"
    words = ["-m", "dovetail", "serve", "vault", str(vault), "--index-dir", str(index)]
    return [sys.executable, *words, *options]


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


@contextlib.asynccontextmanager
async def serving_http(words: list[str], count: int = 1) -> AsyncIterator[list[str]]:
    """A server process over HTTP; the URLs it says it has."""
    process = await asyncio.create_subprocess_exec(
        *words, stderr=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(PATIENCE):
            urls: list[str] = []
            while len(urls) < count:
                line = (await process.stderr.readline()).decode()
                assert line, "the server ended before it served"
                urls += re.findall(r"serving (http://\S+);", line)
        yield urls
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def good(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The data of a call that must succeed."""
    result = await client.call(tool, arguments)
    assert not result.is_error, result.text
    # Before there was structured content, the same JSON came as the first text.
    first = result.text.partition("\n")[0]
    data: dict[str, Any] = result.data if isinstance(result.data, dict) else json.loads(first)
    return data


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The words of a call that must fail."""
    result: CallResult = await client.call(tool, arguments)
    assert result.is_error, result.text
    return result.text


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not await condition():
            await asyncio.sleep(0)


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

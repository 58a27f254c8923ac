"""The server over HTTP, with other servers on one port, and with the official client."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession

from dovetail.client import Client
from tests.driving import (
    good,
    refused,
    refused_command,
    serving_http,
    use_over_http,
    use_over_stdio,
)
from tests.patience import CAP
from tests.vault.driving import command, over_stdio, read, wait_until_indexed, write


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    write(root, "Oak.md", "# Oak\n\nHard wood #tree\n")
    write(root, "Sub/Pine.md", "# Pine\n\nSoft wood, see [[Oak]]\n")
    return root


async def use(session: ClientSession) -> None:
    await session.initialize()
    names = [tool.name for tool in (await session.list_tools()).tools]
    assert len(names) == 13
    while True:
        listed: Any = (await session.call_tool("list-notes", {})).structured_content
        if "indexing" not in listed:
            break
    found = await session.call_tool("search-vault", {"query": "wood NOT soft"})
    data: Any = found.structured_content
    assert [file["path"] for file in data["files"]] == ["Oak.md"]
    assert [block.type for block in found.content] == ["text"]
    made = await session.call_tool("write-note", {"path": "New", "content": "by the official"})
    assert not made.is_error
    again = await session.call_tool("write-note", {"path": "New", "content": "twice"})
    assert again.is_error
    read = await session.read_resource("obsidian-note:///New.md")
    assert read.contents[0].text == "by the official"  # type: ignore[union-attr]
    prompts = await session.list_prompts()
    assert prompts.prompts[0].name == "daily-note"


def test_the_official_client_over_stdio(vault: Path) -> None:
    use_over_stdio(command(vault), use)


def test_the_official_client_over_http(vault: Path) -> None:
    use_over_http(command(vault, "--http", "0"), use)


@pytest.mark.parametrize("mode", ["2025-03-26", "2025-11-25", "2026-07-28"])
def test_our_client_over_http(vault: Path, mode: str) -> None:
    async def run() -> None:
        async with (
            serving_http(command(vault, "--http", "0")) as [url],
            Client(url, mode=mode, timeout=CAP) as client,
        ):
            await wait_until_indexed(client)
            found = await good(client, "search-vault", query="wood")
            assert found["total"] == 2
            await refused(client, "read-note", path="../x")

    asyncio.run(run())


def test_serve_all_on_one_port(vault: Path) -> None:
    home = vault.parent
    words = [sys.executable, "-m", "dovetail", "serve", "all", "--http", "0"]
    words += ["--vault", f"trees={vault}", "--index-dir", str(home / "index")]
    words += ["--db", str(home / "graph.db"), "--embeddings", "off"]

    async def run() -> None:
        async with serving_http(words) as urls:
            assert urls[0].endswith("/vault/mcp")
            async with Client(urls[0], timeout=CAP) as client:
                await wait_until_indexed(client)
                assert (await good(client, "search-vault", query="wood"))["total"] == 2

    asyncio.run(run())


def test_several_vaults_are_selected_by_name(vault: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    write(second, "Oak.md", "another oak\n")

    async def run() -> None:
        async with over_stdio(vault, "--vault", f"boats={second}") as client:
            assert (await read(client, path="Oak"))[0].startswith("# Oak")
            assert (await read(client, path="Oak", vault="boats"))[0] == "another oak\n"
            text = (await client.read("obsidian-note://boats/Oak.md")).text
            assert text == "another oak\n"
            assert "'vault', 'boats'" in await refused(client, "read-note", path="Oak", vault="x")

    asyncio.run(run())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["vault"], "Missing argument"),
        (["vault", "/nowhere/at/all"], "no folder"),
        (["vault", ".", "--allow-host", "x"], "requires --http"),
        (["vault", ".", "--http", "x:y"], "expected PORT"),
        (["vault", ".", "--embeddings", "nothing-like-it"], "not installed"),
    ],
)
def test_command_line_errors(words: list[str], said: str, tmp_path: Path) -> None:
    assert said in refused_command(tmp_path, *words)

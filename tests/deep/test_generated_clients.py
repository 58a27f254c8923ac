"""Modules of `dovetail generate client` for the ready-made servers and one with awkward names."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dovetail.cli.app import app
from dovetail.client import Client
from tests.contracts.source_tree import ROOT
from tests.deep.test_ready_servers import SERVERS
from tests.patience import CAP

AWKWARD = ROOT / "packages" / "dovetail" / "tests" / "peers" / "awkward_server.py"
COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    **SERVERS,
    "awkward": lambda _: [sys.executable, "-m", "dovetail", "run", str(AWKWARD)],
}


async def use_vault(made: Any, client: Client) -> None:
    note = await made.read_note(client, made.ReadNoteArguments(path="Oak.md"))
    assert "Hard wood" in str(note)


async def use_graph(made: Any, client: Client) -> None:
    seen = made.NewObservation(content="tall")
    oak = made.NewEntity(name="Oak", entityType="tree", observations=["old", seen])
    await made.create_entities(client, made.CreateEntitiesArguments(entities=[oak]))
    # The list of this server has no output schemas.
    stats = (await made.graph_stats(client)).data
    assert (stats["entities"], stats["entityTypes"]) == (1, {"tree": 1})


async def use_browser(made: Any, client: Client) -> None:
    tabs = await made.manage_tabs(client, made.ManageTabsArguments(action="list"))
    assert isinstance(tabs, made.TabList)


async def use_design(made: Any, client: Client) -> None:
    created = (await made.create_design(client, made.CreateDesignArguments(name="Card"))).data
    listed = (await made.list_designs(client)).data
    assert [design["id"] for design in listed["designs"]] == [created["designId"]]


async def use_awkward(made: Any, client: Client) -> None:
    assert await made.tool_2_half(client, made.Type2HalfArguments(of=3)) == 1.5


USES: dict[str, Callable[[Any, Client], Awaitable[None]]] = {
    "vault": use_vault,
    "graph": use_graph,
    "browser": use_browser,
    "design": use_design,
    "awkward": use_awkward,
}


@pytest.mark.slow
def test_modules_are_stable_typed_and_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    files = []
    for name, make_command in COMMANDS.items():
        folder = tmp_path / name
        folder.mkdir()
        files.append(asyncio.run(generate_and_use(name, make_command(folder), tmp_path)))
    words = ["--strict", "--config-file=", "--no-pretty", "--cache-dir=mypy"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words, *files],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


async def generate_and_use(name: str, command: list[str], folder: Path) -> str:
    """Write the module twice, as both eras see the server, and use it; returns its file."""
    file = f"{name}_client.py"
    words = ["generate", "client", "-o", str(folder / file), "--timeout", str(CAP)]
    for more in ([], ["--check", "--mode", "legacy"]):
        run = partial(CliRunner().invoke, app, [*words, *more], obj=command)
        result = await asyncio.to_thread(run)
        assert result.exit_code == 0, result.output
    made = importlib.import_module(f"{name}_client")
    async with Client(command, timeout=CAP) as client:
        await USES[name](made, client)
    return file

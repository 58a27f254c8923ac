"""The ready-made servers through `dovetail serve`, and what the checker finds in them: nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from dovetail.auth.api_keys import KeyFile
from dovetail.cli.app import app
from dovetail.cli.plugins import SERVERS as INSTALLED
from dovetail.client import Client
from dovetail.errors import DovetailError
from tests.deep.browser.driving import command as serve_browser
from tests.deep.design.driving import command as serve_design
from tests.driving import run_check, serving_http
from tests.graph.driving import command as serve_graph
from tests.patience import CAP
from tests.vault.driving import command as serve_vault
from tests.vault.driving import write


def _vault(folder: Path) -> list[str]:
    root = folder / "vault"
    write(root, "Oak.md", "---\ntags: [moc]\n---\n# Oak\n\nHard wood, see [[Pine]]\n")
    write(root, "Sub/Pine.md", "# Pine\n\nSoft wood\n")
    return serve_vault(root)


SERVERS: dict[str, Callable[[Path], list[str]]] = {
    "vault": _vault,
    "graph": lambda folder: serve_graph(folder / "graph.db", "--debug-tools"),
    "browser": lambda _: serve_browser("--enable-scripts"),
    "design": serve_design,
}


def test_every_ready_server_is_checked() -> None:
    assert SERVERS.keys() == INSTALLED.installed.keys()


def test_every_server_has_what_the_command_needs() -> None:
    for name in SERVERS:
        module = INSTALLED.load(name)
        assert module.SUMMARY and module.OPTIONS and callable(module.build)


def test_help_names_the_servers_and_their_options() -> None:
    assert "vault" in CliRunner().invoke(app, ["serve", "--help"]).output
    assert "--read-only" in CliRunner().invoke(app, ["serve", "vault", "--help"]).output
    assert "/vault/mcp" in CliRunner().invoke(app, ["serve", "all", "--help"]).output


def test_tokens_are_for_one_server(tmp_path: Path) -> None:
    words = ["serve", "all", "--db", str(tmp_path / "g.db"), "--vault", str(tmp_path)]
    words += ["--dir", str(tmp_path / "designs"), "--index-dir", str(tmp_path / "index")]
    words += ["--issuer", "https://id.example", "--resource", "https://a.example/mcp"]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 2 and "run each server separately" in said.output


def test_a_server_asks_for_a_key_and_lists_only_what_reads(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    key = keys.add("me")[1]
    words = [*serve_graph(tmp_path / "g.db"), "--http", "0", "--keys", str(keys.path)]

    async def run() -> None:
        async with serving_http([*words, "--read-only"]) as [url]:
            with pytest.raises(DovetailError):
                async with Client(url, timeout=CAP):
                    pass
            headers = {"Authorization": f"Bearer {key}"}
            async with Client(url, headers=headers, timeout=CAP) as client:
                names = {tool.name for tool in await client.list_tools()}
        assert "search_nodes" in names and "create_entities" not in names

    asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVERS)
def test_the_checker_finds_nothing_on_stdio(name: str, tmp_path: Path) -> None:
    report = asyncio.run(run_check("--", *SERVERS[name](tmp_path)))
    assert "0 failed, 0 warnings" in report, report


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVERS)
def test_the_checker_finds_nothing_over_http(name: str, tmp_path: Path) -> None:
    async def run() -> str:
        async with serving_http([*SERVERS[name](tmp_path), "--http", "0"]) as [url]:
            return await run_check(url)

    report = asyncio.run(run())
    assert "0 failed, 0 warnings" in report, report

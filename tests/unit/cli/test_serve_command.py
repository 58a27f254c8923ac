from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dovetail.cli import serve_command
from dovetail.cli.app import app
from dovetail.client import Client
from dovetail.errors import DovetailError
from dovetail.guard.key_file import KeyFile
from tests.servers.driving import PATIENCE, serving_http


def test_every_ready_server_has_what_the_command_needs() -> None:
    for place in serve_command.READY.values():
        module = importlib.import_module(place)
        assert module.SUMMARY and module.OPTIONS and callable(module.build)


def test_help_names_the_ready_servers_and_their_options() -> None:
    assert "vault" in CliRunner().invoke(app, ["serve", "--help"]).output
    assert "--read-only" in CliRunner().invoke(app, ["serve", "vault", "--help"]).output
    assert "/vault/mcp" in CliRunner().invoke(app, ["serve", "all", "--help"]).output
    assert CliRunner().invoke(app, ["serve", "nothing"]).exit_code == 2


def test_a_missing_library_is_told_with_the_extra_that_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(name: str) -> Any:
        raise ModuleNotFoundError("No module named 're2'", name="re2")

    monkeypatch.setattr(importlib, "import_module", fail)
    said = CliRunner().invoke(serve_command.serve, ["vault", "."])
    assert said.exit_code == 2 and "pip install 'dovetail[vault]'" in said.output


def test_what_is_for_http_alone_is_refused_without_it() -> None:
    said = CliRunner().invoke(app, ["serve", "graph", "--stateless"])
    assert said.exit_code == 2 and "only together with --http" in said.output


def test_tokens_are_for_one_server(tmp_path: Path) -> None:
    words = ["serve", "all", "--db", str(tmp_path / "g.db"), "--vault", str(tmp_path)]
    words += ["--dir", str(tmp_path / "designs"), "--index-dir", str(tmp_path / "index")]
    words += ["--issuer", "https://id.example", "--resource", "https://a.example/mcp"]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 2 and "serve them one by one" in said.output


def test_a_ready_server_asks_for_a_key_and_lists_only_what_reads(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    key = keys.add("me")[1]
    words = [sys.executable, "-m", "dovetail", "serve", "graph", "--db", str(tmp_path / "g.db")]
    words += ["--http", "0", "--keys", str(keys.path), "--read-only"]

    async def run() -> None:
        async with serving_http(words) as [url]:
            with pytest.raises(DovetailError):
                async with Client(url, timeout=PATIENCE):
                    pass
            headers = {"Authorization": f"Bearer {key}"}
            async with Client(url, headers=headers, timeout=PATIENCE) as client:
                names = {tool.name for tool in await client.list_tools()}
        assert "search_nodes" in names and "create_entities" not in names

    asyncio.run(run())


def test_a_server_starts_without_what_only_other_commands_need() -> None:
    code = (
        "import sys; sys.argv = ['dovetail', 'serve', 'graph', '--help']\n"
        "from dovetail.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('rich', 'uvicorn', 'dovetail.client') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_all_goes_without_what_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = importlib.import_module

    def import_module(name: str) -> Any:
        if name == serve_command.READY["vault"]:
            raise ModuleNotFoundError("No module named 're2'", name="re2")
        return real(name)

    served: list[str] = []

    def serve_http(servers: dict[str, Any], *_others: Any) -> int:
        served.extend(servers)
        return 0

    monkeypatch.setattr(importlib, "import_module", import_module)
    monkeypatch.setattr(serve_command, "_serve_http", serve_http)
    words = ["all", "--db", str(tmp_path / "g.db"), "--dir", str(tmp_path / "d")]
    said = CliRunner().invoke(serve_command.serve, words)
    assert said.exit_code == 0, said.output
    assert served == ["graph", "browser", "design"]
    assert "left out: dovetail serve vault needs the library 're2'" in said.output

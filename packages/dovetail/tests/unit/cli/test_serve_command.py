"""`dovetail serve`: one ready-made server, or all of them on one port."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import types
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from click.testing import CliRunner

from dovetail import Server
from dovetail.cli import plugins, serve_command
from dovetail.cli.app import app
from dovetail.client import Client
from tests.driving import serving_http
from tests.patience import CAP

GROUP = "dovetail.servers"


def make_module(name: str, **members: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(members)
    return module


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Two installed servers, one that needs an option, and one that cannot be imported."""
    garden = make_module(
        "garden_command",
        SUMMARY="Plants and beds.",
        ARGUMENTS=(),
        OPTIONS=(click.Option(["--beds"], type=int, default=1),),
        build=lambda **given: Server("garden"),
    )
    shed = make_module(
        "shed_command",
        SUMMARY="Tools.",
        ARGUMENTS=(),
        OPTIONS=(click.Option(["--shed"]),),
        build=lambda shed=None, **given: Server("shed") if shed else None,
    )
    monkeypatch.setitem(sys.modules, "garden_command", garden)
    monkeypatch.setitem(sys.modules, "shed_command", shed)
    found = [
        EntryPoint("garden", "garden_command", GROUP),
        EntryPoint("shed", "shed_command", GROUP),
        EntryPoint("broken", "no_such_module_anywhere", GROUP),
        EntryPoint("crashing", "garden_command:no_such_name", GROUP),
    ]
    monkeypatch.setattr(plugins, "_entry_points", lambda group: found)
    monkeypatch.setattr(
        serve_command, "SERVERS", plugins.Plugins(GROUP, {"vault": "dovetail-vault"})
    )
    served: list[Any] = []

    def serve_http(built: dict[str, Any], *_others: Any) -> int:
        served.extend(built)
        return 0

    monkeypatch.setattr(serve_command, "_serve_http", serve_http)
    yield served


def test_help_lists_what_is_installed_what_is_missing_and_what_is_broken(
    servers: list[Any],
) -> None:
    said = CliRunner().invoke(serve_command.serve, ["--help"], terminal_width=200)
    assert said.exit_code == 0
    commands = said.output.partition("Commands:")[2].strip().splitlines()
    lines = dict(line.split(maxsplit=1) for line in commands)
    assert lines["garden"] == "Plants and beds."
    assert lines["vault"] == "(not installed: pip install dovetail-vault)"
    assert "'no_such_module_anywhere' is missing" in lines["broken"]
    assert "cannot be loaded: AttributeError" in lines["crashing"]


def test_a_broken_server_says_what_is_wrong(servers: list[Any]) -> None:
    said = CliRunner().invoke(serve_command.serve, ["broken"])
    assert said.exit_code == 2
    assert "dovetail: broken cannot be loaded, 'no_such_module_anywhere' is missing" in said.output


@pytest.mark.parametrize("words", [["vault"], ["vault", "--name", "x", "notes"]])
def test_a_server_that_is_not_installed_says_how_to_install_it(
    servers: list[Any], words: list[str]
) -> None:
    said = CliRunner().invoke(serve_command.serve, words)
    assert said.exit_code == 2
    assert "vault is not installed: pip install dovetail-vault" in said.output


def test_an_unknown_server_is_rejected(servers: list[Any]) -> None:
    assert CliRunner().invoke(serve_command.serve, ["nothing"]).exit_code == 2


def test_all_serves_installed_servers_and_names_the_others(servers: list[Any]) -> None:
    said = CliRunner().invoke(serve_command.serve, ["all"])
    assert said.exit_code == 0, said.output
    assert servers == ["garden"]
    assert "skipped: vault is not installed: pip install dovetail-vault" in said.output
    assert "skipped: shed requires --shed" in said.output


def test_a_server_may_have_an_argument_named_like_a_setting(
    servers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []

    def build(**given: Any) -> Server:
        seen.append(given)
        return Server("garden")

    garden = sys.modules["garden_command"]
    monkeypatch.setattr(garden, "ARGUMENTS", (click.Argument(["path"], required=False),))
    monkeypatch.setattr(garden, "build", build)
    said = CliRunner().invoke(serve_command.serve, ["garden", "plot", "--http", "0", "--read-only"])
    assert said.exit_code == 0, said.output
    assert seen == [{"beds": 1, "path": "plot", "read_only": True, "over_http": True}]


def test_a_server_without_its_required_option_is_rejected(servers: list[Any]) -> None:
    said = CliRunner().invoke(serve_command.serve, ["shed"])
    assert said.exit_code == 2 and "dovetail serve shed PATH" in said.output


def test_http_options_require_http(servers: list[Any]) -> None:
    said = CliRunner().invoke(serve_command.serve, ["garden", "--stateless"])
    assert said.exit_code == 2 and "requires --http" in said.output


def test_help_of_the_command_line_works_without_any_plugin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plugins, "_entry_points", lambda group: [])
    monkeypatch.setattr(plugins.COMMANDS, "_found", None)
    said = CliRunner().invoke(app, ["--help"], terminal_width=200)
    monkeypatch.setattr(plugins.COMMANDS, "_found", None)
    assert said.exit_code == 0
    assert "(not installed: pip install dovetail-check)" in said.output


def test_serve_imports_neither_rich_nor_the_client() -> None:
    code = (
        "import sys; sys.argv = ['dovetail', 'serve', '--help']\n"
        "from dovetail.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('rich', 'uvicorn', 'dovetail.client') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


@pytest.mark.parametrize("words", [("--workers", "2"), ("--cluster", "redis://a/0"), ()])
def test_a_ready_server_runs_in_one_process_and_says_so(
    servers: list[Any], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not words:
        monkeypatch.setenv("DOVETAIL_CLUSTER", "redis://a/0")
    said = CliRunner().invoke(serve_command.serve, ["garden", "--http", "0", *words])
    assert said.exit_code == 2
    assert "a ready-made server runs in one process, because its tabs and indexes" in said.stderr
    assert (words[0] if words else "DOVETAIL_CLUSTER") in said.stderr
    assert not servers
    monkeypatch.delenv("DOVETAIL_CLUSTER", raising=False)
    said = CliRunner().invoke(serve_command.serve, ["garden", "--http", "0", "--workers", "1"])
    assert said.exit_code == 0


PROGRAM = """
from dovetail import Server
from dovetail.cli.settings import HttpSettings
from dovetail.cli.run_http import run_many

servers = {}
for name in ("oak", "pine"):
    server = servers[name] = Server(name)
    server.tools.add(lambda name=name: f"I am {name}", name="who")
run_many(servers, HttpSettings())
"""


def test_several_servers_have_their_own_paths(tmp_path: Path) -> None:
    program = tmp_path / "several.py"
    program.write_text(PROGRAM)

    async def run() -> None:
        async with serving_http([sys.executable, str(program)], count=2) as urls:
            assert [url.rpartition(":")[2].partition("/")[2] for url in urls] == [
                "oak/mcp",
                "pine/mcp",
            ]
            for name, url in zip(("oak", "pine"), urls, strict=True):
                for mode in ("2025-11-25", "2026-07-28"):
                    async with Client(url, mode=mode, timeout=CAP) as client:
                        assert (await client.call("who")).text == f"I am {name}"
            async with httpx.AsyncClient(timeout=CAP) as plain:
                missing = await plain.post(urls[0].replace("oak", "elm"))
                assert missing.status_code == 404

    asyncio.run(run())

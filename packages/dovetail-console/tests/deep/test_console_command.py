from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urljoin

import pytest

from dovetail.client import Client
from tests.console.console_client import ConsoleClient
from tests.console.serving import serve_command, serve_console, serve_file
from tests.patience import CAP
from tests.peers.scripted import run

SOURCE = """
from dovetail import Server

server = Server("shop", version="1")

@server.tool
def add(a: int, b: int) -> int:
    return a + b
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "shop.py"
    found.write_text(SOURCE)
    return found


def refuse(*words: str) -> str:
    command = [sys.executable, "-m", "dovetail", "console", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=CAP, check=False)
    assert done.returncode == 2, done.stderr
    return done.stderr


def test_a_page_that_uses_credentials_is_for_this_machine_only() -> None:
    assert "this machine only" in refuse("--http", "0.0.0.0:0", "http://127.0.0.1:1/mcp")


def test_a_target_is_needed() -> None:
    assert "Missing target" in refuse()


def test_options_for_other_targets_are_refused_for_a_file(file: Path) -> None:
    assert "not for FILE.py" in refuse(str(file), "-H", "A: b")


@pytest.mark.slow
def test_a_command_is_served_behind_the_page(file: Path) -> None:
    with serve_console("--", sys.executable, "-m", "dovetail", "run", str(file)) as served:
        with ConsoleClient(served.base) as client:
            config = client.config()
            own = {"X-Console-Token": client.token}
        assert config["mode"] == "target"
        assert config["watch"] is True
        [server] = config["servers"]
        assert server["name"] == "shop"
        assert server["target"].startswith("-- ")
        assert server["clients"][0]["text"].startswith("claude mcp add shop -- ")

        async def use() -> None:
            for path in (server["endpoint"], *server["endpoints"].values()):
                async with Client(
                    urljoin(served.console, path), headers=own, timeout=CAP
                ) as client:
                    assert (await client.call("add", {"a": 1, "b": 2})).data in (3, "3")

        run(use())


@pytest.mark.slow
def test_a_url_and_an_entry_of_a_configuration_file_are_targets(file: Path) -> None:
    with serve_file(file) as upstream:
        config = file.parent / "mcp.json"
        config.write_text(json.dumps({"mcpServers": {"mine": {"url": upstream.urls[0]}}}))
        for words in ([upstream.urls[0]], ["--config", str(config), "mine"]):
            with serve_console(*words) as served, ConsoleClient(served.base) as client:
                [server] = client.config()["servers"]
                assert upstream.urls[0] in server["clients"][0]["text"]
                body = {"server": server["name"], "revision": "2025-11-25"}
                event, report = list(client.events("check", body))[-1]
                assert event == "report", report
                assert report["targets"] == [upstream.urls[0]]
        assert server["name"] == "mine"
        assert server["target"] == f"--config {config} mine"


@pytest.mark.slow
def test_a_file_is_served_directly(file: Path) -> None:
    words = ["console", str(file), "--no-open"]
    with serve_command(words) as served, ConsoleClient(served.base) as client:
        config = client.config()
        assert (config["mode"], config["watch"]) == ("server", True)

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from tests.console.console_client import ConsoleClient
from tests.console.serving import serve_command
from tests.patience import wait_until

SOURCE = """
from dovetail import Server

server = Server("shop", version="{version}")

@server.tool
def add(a: int, b: int) -> int:
    return a + b
"""


@pytest.mark.slow
def test_a_changed_file_is_served_to_the_same_page(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(SOURCE.format(version="1"))
    browser = tmp_path / "browser"
    opened = tmp_path / "opened"
    browser.write_text(f"#!/bin/sh\necho $1 >> {opened}\n")
    browser.chmod(0o755)
    # What the standard library opens instead of a real browser.
    env = {"BROWSER": str(browser), "DISPLAY": ":0"}
    with serve_command(["dev", str(file), "--http", "0"], env=env) as served:
        assert f"Console: {served.base}/" in wait_until(
            lambda: [line for line in served.lines if "Console" in line]
        )
        with ConsoleClient(served.base) as client:
            assert client.config()["servers"][0]["version"] == "1"
            file.write_text(SOURCE.format(version="2"))
            os.utime(file, (1, 1))

            def is_new() -> bool:
                try:
                    # With the token of the page that was opened before the change.
                    return bool(client.config()["servers"][0]["version"] == "2")
                except (httpx.TransportError, AssertionError):
                    return False

            assert wait_until(is_new)
        # Once, and not after each change.
        assert wait_until(opened.exists)
        assert opened.read_text().split() == [f"{served.base}/"]

"""The guard of the server, and the guard of the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.auth import Guard, GuardSettings
from dovetail.cli.loading import Loaded, choose_guard, load
from dovetail.errors import UsageError
from tests.patience import CAP

HEAD = """
from dovetail import Server
from dovetail.auth import Guard

guard = Guard(read_only=True)
server = Server("shop")
"""
UNUSED = "the guard 'guard' in '{}' is not used; pass it as Server(guard=guard)"


def load_text(folder: Path, text: str) -> Loaded:
    file = folder / "shop.py"
    file.write_text(HEAD + text, "utf-8")
    return load(f"{file}:{'app' if 'app =' in text else 'server'}")


def test_a_guard_that_nothing_uses_is_a_warning_unless_options_replace_it(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "")
    for over_http in (True, False):
        guard, warnings = choose_guard(loaded, GuardSettings(), over_http=over_http)
        assert guard is None
        assert warnings == [UNUSED.format(loaded.source)]
    guard, warnings = choose_guard(loaded, GuardSettings(rate="1/s"), over_http=True)
    assert isinstance(guard, Guard)
    assert warnings == []


def test_the_guard_of_the_server_is_used(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "server.guard = guard\n")
    assert choose_guard(loaded, GuardSettings(), over_http=False) == (None, [])
    with pytest.raises(UsageError, match=r"has its own guard, so --read-only, --rate cannot be"):
        choose_guard(loaded, GuardSettings(read_only=True, rate="1/s"), over_http=False)


def test_the_guard_of_an_application_is_used_over_http_only(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "app = server.http_app(guard=guard)\n")
    assert choose_guard(loaded, GuardSettings(), over_http=True) == (None, [])
    _, warnings = choose_guard(loaded, GuardSettings(), over_http=False)
    assert warnings == [UNUSED.format(loaded.source)]


def test_dovetail_run_warns_and_refuses(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "")
    command = [sys.executable, "-m", "dovetail", "run", loaded.source]
    done = subprocess.run(
        command, input="", capture_output=True, text=True, timeout=CAP, check=False
    )
    assert done.returncode == 0
    assert done.stderr == f"Warning: {UNUSED.format(loaded.source)}\n"
    load_text(tmp_path, "server.guard = guard\n")
    for words in (["--rate", "1/s"], ["--rate", "1/s", "--http", "0"]):
        done = subprocess.run(
            [*command, *words], input="", capture_output=True, text=True, timeout=CAP, check=False
        )
        assert done.returncode == 2
        assert "has its own guard, so --rate cannot be applied" in done.stderr

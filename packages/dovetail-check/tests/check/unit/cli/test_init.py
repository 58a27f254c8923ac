"""The standalone command `dovetail-check`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dovetail_check.cli import group, main

PEERS = Path(__file__).parents[5] / "dovetail/tests/peers"
FILE = str(PEERS / "own_server.py")
FAULTY = [sys.executable, str(PEERS / "crooked_server.py")]
ONE_RULE = ("--revision", "2025-11-25", "--only", "ping.empty-result")


@pytest.fixture(autouse=True)
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATTER", "calm")


def exit_code(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_a_target_without_a_command_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(FILE, *ONE_RULE) == 0
    assert "✓ 0 failed, 0 warnings" in capsys.readouterr().out


def test_options_without_a_command_are_those_of_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(*ONE_RULE, "--", *FAULTY) == 1
    assert "FAIL  ping.empty-result" in capsys.readouterr().out


def test_a_server_command_without_options_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--", "no-such-server") == 4
    assert "'no-such-server' did not start" in capsys.readouterr().err


def test_wrong_usage_exits_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("nothing.py") == 2
    assert "nothing.py" in capsys.readouterr().err
    assert exit_code("check", "--no-such-option") == 2


def test_a_subcommand_is_run_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("explain", "ping.empty-result") == 0
    assert "MUST (keyword)" in capsys.readouterr().out
    assert exit_code("check", *ONE_RULE, FILE) == 0


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_the_subcommands(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(option) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Usage: dovetail-check ")
    for name in ("check", "report", "verify", "diff", "explain", "rules", "badge"):
        assert name in group.commands
        assert f"\n  {name} " in shown


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--version") == 0
    assert capsys.readouterr().out.startswith("dovetail-check, version ")


def test_the_installed_script_returns_the_exit_code() -> None:
    script = str(Path(sys.executable).parent / "dovetail-check")
    done = subprocess.run([script, "--", "no-such-server"], capture_output=True, text=True)
    assert done.returncode == 4
    assert done.stdout == ""

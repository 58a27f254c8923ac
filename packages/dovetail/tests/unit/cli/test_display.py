"""Progress and log messages during a call."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from dovetail.cli.app import app
from tests.terminal import open_terminal

FILE = str(Path(__file__).parents[2] / "peers" / "survey_server.py")


def test_a_terminal_shows_a_bar_and_log_messages_above_it() -> None:
    with open_terminal("call", FILE, "work") as terminal:
        assert terminal.wait() == 0
    first = terminal.output.index("1/4 first \\x1b[31mstep")
    log = terminal.output.index("[info] half\\x1bway")
    third = terminal.output.index("3/4 third step")
    assert first < log < third
    assert "━" in terminal.output
    assert terminal.output.rstrip().endswith("done")


def test_a_pipe_gets_lines_without_colours() -> None:
    result = CliRunner().invoke(app, ["call", FILE, "work"], obj=[])
    assert result.stdout == "done\n"
    assert result.stderr == "[1/4] first step\n[info] half\x1bway\n[3/4] third step\n"


def test_ctrl_c_during_a_call_ends_the_command() -> None:
    with open_terminal("call", FILE, "wait", "--stdio") as terminal:
        terminal.expect("[info] waiting")
        terminal.press("C")
        assert terminal.wait() == 130
    assert "Traceback" not in terminal.output

"""Progress is shown on stderr, and only on a terminal or if a program asks for it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

CROOKED = str(Path(__file__).parents[5] / "dovetail/tests/peers/crooked_server.py")
CHECK = [
    *(sys.executable, "-m", "dovetail", "check"),
    *("--only", "ping.empty-result", "--revision", "2025-11-25"),
    *("--", sys.executable, CROOKED),
]


def read_all(descriptor: int) -> str:
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(descriptor, 65536)
        except OSError:
            # Linux raises this after the last writer of a terminal has closed it.
            part = b""
        if not part:
            return b"".join(parts).decode()
        parts.append(part)


def test_progress_is_shown_on_a_terminal_and_leaves_stdout_alone() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen(CHECK, stdout=subprocess.PIPE, stderr=theirs, env=environment) as running:
        os.close(theirs)
        shown = read_all(ours)
        assert running.stdout is not None
        printed = running.stdout.read().decode()
    os.close(ours)
    assert running.returncode == 1
    assert "stdio 2025-11-25: ping" in shown
    assert "FAIL  ping.empty-result" in printed
    assert "\x1b" not in printed


def test_without_a_terminal_there_is_neither_progress_nor_colour() -> None:
    done = subprocess.run(CHECK, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


def test_a_terminal_gets_colours() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(CHECK, stdout=theirs, stderr=subprocess.DEVNULL, env=environment):
        os.close(theirs)
        shown = read_all(ours)
    os.close(ours)
    assert "\x1b[1;31mFAIL" in shown


def test_a_program_can_ask_for_progress_and_verdicts_as_lines_of_json() -> None:
    words = [*CHECK[:4], "--progress", "json", *CHECK[4:]]
    done = subprocess.run(words, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    states = [line["progress"] for line in lines if "progress" in line]
    assert all(set(state) == {"done", "total", "text"} for state in states)
    assert states[-1]["done"] == states[-1]["total"] > 0
    assert "stdio 2025-11-25: ping" in [state["text"] for state in states]
    verdicts = [line["verdict"] for line in lines if "verdict" in line]
    assert verdicts == [{"id": "ping.empty-result", "verdict": "fail"}]
    assert "FAIL  ping.empty-result" in done.stdout

"""A check of a server that sends without end needs little memory, ends, and names the flood."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dovetail_check import budget
from dovetail_check.recording import Recording
from tests.patience import CAP

SERVER = Path(__file__).with_name("flooding_server.py")
# Runs a check and prints its exit code and the largest memory that it used, in KiB.
MEASURED = """
import resource, sys
from dovetail_check.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as end:
    code = end.code
print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
# Far more than is needed, and far less than a flood sends meanwhile.
MAX_MEMORY = 900 * 1024


class Checked(NamedTuple):
    code: int
    report: dict[str, Any]
    recording: Recording


def check(folder: Path, *words: str) -> Checked:
    output = ("--evidence", str(folder), "-o", str(folder / "report.json"))
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *output, "--revision", "2025-11-25", *words],
        capture_output=True,
        timeout=10 * CAP,
        check=True,
    )
    code, memory = map(int, done.stdout.split()[-2:])
    assert memory < MAX_MEMORY
    report = json.loads((folder / "report.json").read_text())
    return Checked(code, report, Recording.read(folder / "frames.ndjson"))


@contextmanager
def serving(mode: str) -> Iterator[str]:
    command = [sys.executable, str(SERVER), "http", mode]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        process.kill()


def assert_flooded(checked: Checked) -> None:
    assert checked.code == 1
    floods = [crash for crash in checked.report["crashes"] if crash.get("is_flood")]
    assert floods
    assert all("more than the checker keeps" in flood["text"] for flood in floods)
    assert {one["reason"] for one in checked.report["untested"]} == {"the server sent too much"}
    kept = [f for f in checked.recording.frames if f.kind in ("received", "event", "stderr")]
    # A little more than a few connections, because messages of several lines are kept twice.
    assert len(kept) < 6 * budget.MAX_MESSAGES
    assert sum(len(frame.data) for frame in kept) < 6 * budget.MAX_BYTES


@pytest.mark.parametrize(
    "mode", ["requests", "notifications", "wrong-ids", "line", "parts", "blank", "nested"]
)
def test_a_flood_on_stdout(mode: str, tmp_path: Path) -> None:
    assert_flooded(check(tmp_path, "--", sys.executable, str(SERVER), "stdio", mode))


def test_a_flood_on_stderr(tmp_path: Path) -> None:
    checked = check(tmp_path, "--", sys.executable, str(SERVER), "stdio", "stderr")
    assert checked.code == 1
    [text, *_] = {crash["text"] for crash in checked.report["crashes"]}
    assert text.endswith("bytes to stderr, more than the checker keeps")
    lines = [frame for frame in checked.recording.frames if frame.kind == "stderr"]
    starts = sum(frame.kind == "started" for frame in checked.recording.frames)
    assert sum(len(line.data) for line in lines) < starts * 300_000
    assert any("bytes of stderr are left out" in (line.text or "") for line in lines)


@pytest.mark.parametrize(
    "mode", ["requests", "notifications", "wrong-ids", "body", "line", "comments", "ids", "nested"]
)
def test_a_flood_over_http(mode: str, tmp_path: Path) -> None:
    with serving(mode) as url:
        assert_flooded(check(tmp_path, url))


def test_a_check_ends_at_its_time_limit_and_names_what_it_did_not_test(tmp_path: Path) -> None:
    with serving("drip") as url:
        # No response to tools/list ends before its timeout.
        checked = check(tmp_path, "--time-limit", "4", "--timeout", "3600", url)
    assert checked.code == 1
    [untested] = checked.report["untested"]
    assert untested["reason"] == "the time limit has passed (--time-limit)"
    assert "walk" in untested["probes"]
    # What was not finished is no violation.
    assert "crashes" not in checked.report or checked.report["crashes"] == []
    found = {row["id"] for row in checked.report["rows"] if row["verdict"] in ("fail", "warn")}
    assert not any(id.startswith(("tools.", "pagination.", "stdio.")) for id in found)

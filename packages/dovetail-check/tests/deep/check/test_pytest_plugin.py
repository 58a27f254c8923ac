"""The pytest fixture in another test suite."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SERVER = """\
from dovetail import Server

server = Server("shop", version="1.0")


@server.tool
async def add(a: int, b: int) -> int:
    return a + b
"""

TESTS = """\
import sys

CROOKED = [sys.executable, "{crooked}"]
ROWS = {{"revision": "2025-11-25", "only": ["ping.empty-result"]}}


def test_good(mcp_check):
    report = mcp_check("server.py", **ROWS)
    assert report.server == "shop 1.0"


def test_bad(mcp_check):
    mcp_check(CROOKED, **ROWS)


def test_skipped(mcp_check):
    mcp_check(CROOKED, revision="2025-11-25", only=["ping.e*", "base.result.*"], skip=["ping.*"])


def test_lenient(mcp_check):
    mcp_check(CROOKED, **ROWS, fail_on="never")
"""

LIGHT = """\
import sys


def test_nothing_is_loaded():
    assert not [name for name in sys.modules if name.partition(".")[0] == "dovetail"]
"""

CROOKED = Path(__file__).parents[4] / "dovetail/tests/peers" / "crooked_server.py"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "dovetail_pytest", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_the_fixture_fails_with_the_report_and_takes_options(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "test_compliance.py").write_text(TESTS.format(crooked=CROOKED))
    done = run(tmp_path)
    assert "1 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    assert "the server does not comply with the specification" in done.stdout
    assert "FAIL  ping.empty-result  MUST" in done.stdout
    # The failure shows the report, not a traceback of the checker.
    assert "pytest_plugin.py" not in done.stdout


def test_the_plugin_loads_nothing_until_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "test_light.py").write_text(LIGHT)
    done = run(tmp_path)
    assert "1 passed" in done.stdout, done.stdout + done.stderr

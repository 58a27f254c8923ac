"""Our own servers keep every clause that can be seen from outside: no fail, no warn."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dovetail.spec.revisions import REVISIONS
from dovetail_check.audit import Audit, AuditOptions
from dovetail_check.judging import RowReport, judge_recording
from dovetail_check.recording import Recording
from dovetail_check.rules import tasks_results
from dovetail_check.targets import find_target
from dovetail_check.verdicts import Verdict
from tests.check.serving import free_port, wait_until_it_listens
from tests.patience import CAP

ROOT = Path(__file__).resolve().parents[5]
SERVERS = [*sorted(ROOT.glob("examples/*.py")), ROOT / "qa" / "conformance" / "server.py"]
DEVIATIONS = (Verdict.FAIL, Verdict.WARN)


@contextmanager
def reached(path: Path, transport: str) -> Iterator[str]:
    """What to check: the file, or the URL at which it is served."""
    if transport == "stdio":
        yield str(path)
        return
    port = free_port()
    command = [sys.executable, "-m", "dovetail", "run", str(path), "--http", f"127.0.0.1:{port}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until_it_listens(process, port)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine every answer is slow."""
    monkeypatch.setattr(tasks_results, "SLOW", CAP)


def check(target: str) -> tuple[Recording, list[RowReport]]:
    recording = asyncio.run(Audit(find_target(target, []), AuditOptions(timeout=60.0)).run())
    return recording, judge_recording(recording)


def show(report: RowReport) -> str:
    notes = [note.text for finding in report.findings for note in finding.notes if note.text]
    return f"{report.row.id}: {report.verdict.value} {notes[:3]}"


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("path", SERVERS, ids=lambda path: path.stem)
def test_our_servers_deviate_nowhere(path: Path, transport: str) -> None:
    with reached(path, transport) as target:
        recording, reports = check(target)
    sessions = {frame.session for frame in recording.frames}
    assert {f"{transport} {revision}" for revision in REVISIONS} <= sessions
    assert [show(report) for report in reports if report.verdict in DEVIATIONS] == []
    assert any(report.verdict is Verdict.PASS for report in reports)


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_two_checks_come_to_the_same_verdicts(transport: str) -> None:
    with reached(ROOT / "examples" / "weather.py", transport) as target:
        first, second = (
            {
                (report.row.id, finding.session): finding.verdict
                for report in check(target)[1]
                for finding in report.findings
            }
            for _ in range(2)
        )
    assert first == second

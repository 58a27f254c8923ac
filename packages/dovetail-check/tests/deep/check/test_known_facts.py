"""What is known of other people's servers is found: each fact was seen by hand before."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from dovetail.spec.revisions import REVISIONS, Revision
from dovetail_check.audit import Audit, AuditOptions
from dovetail_check.judging import RowReport, judge_recording
from dovetail_check.targets import CheckTarget, find_target
from dovetail_check.verdicts import Observation, Verdict
from tests.check.serving import free_port, wait_until_it_listens
from tests.patience import CAP

ROOT = Path(__file__).resolve().parents[5]
SMALL = ROOT / "qa" / "audits" / "small"
FASTMCP = (sys.executable, str(SMALL / "with_fastmcp.py"))
# An environment of its own, which `make test` sets up: it runs on mcp 1 only.
MINIMCP = (str(ROOT / ".venv-minimcp" / "bin" / "python"), str(SMALL / "with_minimcp.py"))
# The last that it speaks, and one that it does not.
MINIMCP_REVISIONS = REVISIONS[-2:]

pytestmark = pytest.mark.slow

Found = dict[str, RowReport]


def check(target: CheckTarget, revisions: Collection[Revision] = REVISIONS) -> Found:
    options = AuditOptions(revisions=revisions, start_timeout=CAP)
    recording = asyncio.run(Audit(target, options).run())
    return {report.row.id: report for report in judge_recording(recording)}


def check_stdio(command: tuple[str, ...], revisions: Collection[Revision]) -> Found:
    """Check some revisions: each starts processes, which import a whole framework."""
    return check(CheckTarget(transport="stdio", command=command), revisions)


def serve(command: tuple[str, ...]) -> Iterator[str]:
    """Where it serves on a port of its own."""
    port = free_port()
    with subprocess.Popen(
        [*command, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_until_it_listens(process, port)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def fastmcp_stdio() -> Found:
    # One of its facts is about batches.
    return check_stdio(FASTMCP, [revision for revision in REVISIONS if revision.batching])


@pytest.fixture(scope="module")
def fastmcp_url() -> Iterator[str]:
    yield from serve(FASTMCP)


@pytest.fixture(scope="module")
def fastmcp_http(fastmcp_url: str) -> Found:
    return check(find_target(fastmcp_url, []))


@pytest.fixture(scope="module")
def minimcp_stdio() -> Found:
    return check_stdio(MINIMCP, MINIMCP_REVISIONS)


@pytest.fixture(scope="module")
def minimcp_http() -> Iterator[Found]:
    for url in serve(MINIMCP):
        yield check(find_target(url, []))


def faults_of(found: Found, row: str, verdict: Verdict) -> list[str]:
    """The texts of what was seen, where the row ended in this verdict."""
    report = found[row]
    assert report.verdict is verdict, (row, report.verdict, report.reason)
    observations = (Observation.VIOLATED, Observation.AMBIGUOUS)
    notes = [note for finding in report.findings for note in finding.notes]
    return [note.text for note in notes if note.observation in observations]


# -- FastMCP 4.1 -----------------------------------------------------------------------------------


def test_fastmcp_serves_a_foreign_origin(fastmcp_http: Found) -> None:
    for row in ("http.origin.validate", "http.origin.403"):
        assert faults_of(fastmcp_http, row, Verdict.FAIL)


@pytest.mark.parametrize(
    "row",
    ["base.core-components", "lifecycle.version.echo", "http2.legacy.ignore-session"],
)
def test_fastmcp_meets_what_a_second_request_shows(row: str, fastmcp_http: Found) -> None:
    assert fastmcp_http[row].verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE)


def test_fastmcp_answers_an_unknown_tool_with_a_result(
    fastmcp_stdio: Found, fastmcp_http: Found
) -> None:
    for found in (fastmcp_stdio, fastmcp_http):
        texts = faults_of(found, "tools.call.unknown", Verdict.WARN)
        assert all("a result; expected a protocol error" in text for text in texts)


def test_fastmcp_does_not_answer_a_batch(fastmcp_stdio: Found, fastmcp_http: Found) -> None:
    for found in (fastmcp_stdio, fastmcp_http):
        [text] = faults_of(found, "batch.receive", Verdict.FAIL)
        assert "without answer" in text


def test_fastmcp_ignores_a_cursor_that_it_never_gave_out(
    fastmcp_stdio: Found, fastmcp_http: Found
) -> None:
    for found in (fastmcp_stdio, fastmcp_http):
        texts = faults_of(found, "pagination.invalid-32602", Verdict.WARN)
        assert all("expected -32602" in text for text in texts)


def test_fastmcp_stays_silent_on_broken_json_over_stdio(fastmcp_stdio: Found) -> None:
    # The specification does not say whether a truncated message needs a response.
    assert all(
        "no answer" in text
        for text in faults_of(fastmcp_stdio, "base.error.parse-error", Verdict.INFO)
    )
    texts = faults_of(fastmcp_stdio, "base.error.invalid-request", Verdict.FAIL)
    assert all("no answer" in text for text in texts)


def verdicts_of(found: Found) -> dict[tuple[str, str], Verdict]:
    return {
        (report.row.id, finding.session): finding.verdict
        for report in found.values()
        for finding in report.findings
    }


def test_a_second_check_comes_to_the_same_verdicts_over_stdio(minimcp_stdio: Found) -> None:
    # Not FastMCP: it takes three times as long to start.
    assert verdicts_of(check_stdio(MINIMCP, MINIMCP_REVISIONS)) == verdicts_of(minimcp_stdio)


def test_a_second_check_comes_to_the_same_verdicts_over_http(
    fastmcp_http: Found, fastmcp_url: str
) -> None:
    assert verdicts_of(check(find_target(fastmcp_url, []))) == verdicts_of(fastmcp_http)


# -- MiniMCP ---------------------------------------------------------------------------------------


def test_minimcp_accepts_a_hostile_origin(minimcp_http: Found) -> None:
    for row in ("http.origin.validate", "http.origin.403"):
        assert faults_of(minimcp_http, row, Verdict.FAIL)


def test_minimcp_takes_an_unknown_method_for_its_own_fault(
    minimcp_stdio: Found, minimcp_http: Found
) -> None:
    for found in (minimcp_stdio, minimcp_http):
        texts = faults_of(found, "base.error.method-not-found", Verdict.FAIL)
        assert all("error -32603" in text for text in texts)


def test_minimcp_answers_notifications_that_it_does_not_know(
    minimcp_stdio: Found, minimcp_http: Found
) -> None:
    for found in (minimcp_stdio, minimcp_http):
        texts = faults_of(found, "base.notification.no-reply", Verdict.FAIL)
        assert any("notifications/dovetail-check-unknown" in text for text in texts)

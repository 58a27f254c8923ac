"""Full checks of real servers: consistent formats, repeatable verdicts, crashes."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import jsonschema
import pytest

from dovetail_check.audit import Progress
from dovetail_check.compiling import Selection
from dovetail_check.documents import Claims, read_claims
from dovetail_check.report import Report
from dovetail_check.reports import FORMATS, render
from dovetail_check.running import CheckOptions, find_revisions, run_check
from dovetail_check.targets import CheckTarget
from dovetail_check.verdicts import Verdict
from tools.report_schema import COPIES

WEATHER = str(Path(__file__).parents[4] / "examples" / "weather.py")
STDIO = CheckTarget(
    transport="stdio", command=(sys.executable, "-m", "dovetail", "run", WEATHER), name="weather.py"
)
LATEST = CheckOptions(revisions=find_revisions("2025-11-25"))

# Answers the handshake, and ends at the first ping.
FRAGILE = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "ping":
        print("no ping, please", file=sys.stderr)
        sys.exit(7)
    if "id" in message:
        info = {"name": "fragile", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture(scope="module")
def weather() -> Report:
    return asyncio.run(run_check([STDIO], LATEST))


def test_a_whole_check_can_be_written_in_every_format(weather: Report) -> None:
    for format in FORMATS:
        assert render(weather, format)
    schema = json.loads(COPIES[0].read_text("utf-8"))
    jsonschema.validate(json.loads(render(weather, "json")), schema)
    assert read_claims(render(weather, "md"), "C.md") == Claims.of(weather)
    assert weather.faults == ()


def test_every_requirement_gets_one_verdict(weather: Report) -> None:
    assert {row.id for row in weather.rows} == Selection().ids()
    for row in weather.rows:
        for finding in row.findings:
            for note in finding.notes:
                assert set(note.frames) <= weather.frames_by_number.keys()
    [must, _, _] = weather.coverage
    assert (
        must.passed + must.violated + must.info + must.attested + must.not_observed
        == must.applicable
    )


@pytest.mark.slow
def test_the_same_server_twice_gets_the_same_verdicts(weather: Report) -> None:
    again = asyncio.run(run_check([STDIO], LATEST))
    assert [(row.id, row.verdict) for row in again.rows] == [
        (row.id, row.verdict) for row in weather.rows
    ]


def test_both_transports_of_one_server_are_checked_and_compared(saboteur_url: str) -> None:
    # Not the same server: the comparison has something to find.
    http = CheckTarget(transport="http", url=f"{saboteur_url}/ping.empty-result/mcp")
    options = CheckOptions(
        revisions=LATEST.revisions, selection=Selection(("ping.empty-result", "prompts.capability"))
    )
    report = asyncio.run(run_check([http, STDIO], options))
    assert report.transports == ("http", "stdio")
    row = report.by_id["ping.empty-result"]
    assert {finding.session: finding.verdict for finding in row.findings} == {
        "http 2025-11-25": Verdict.FAIL,
        "stdio 2025-11-25": Verdict.PASS,
    }
    reported = {difference.what: difference.sides for difference in report.differences}
    assert reported["verdict of ping.empty-result"] == {"http": "fail", "stdio": "pass"}
    assert reported["tools: forecast"]["http"] == "not listed"


def test_a_server_that_crashes_is_restarted_and_the_crash_is_a_finding() -> None:
    target = CheckTarget(transport="stdio", command=(sys.executable, "-c", FRAGILE))
    options = CheckOptions(revisions=LATEST.revisions, selection=Selection(("ping.empty-result",)))
    report = asyncio.run(run_check([target], options))
    assert report.crashes
    crash = report.crashes[0]
    assert (crash.probe, crash.text) == ("ping", "the process exited with status 7")
    assert crash.stderr_tail == "no ping, please"
    assert report.findings("must") >= 1
    assert "CRASH  stdio 2025-11-25, during ping" in render(report, "text")


def test_progress_reports_done_and_total() -> None:
    reported: list[tuple[int, int, str]] = []
    progress = Progress()
    progress.on_change = lambda now: reported.append((now.done, now.total, now.activity))
    options = CheckOptions(revisions=LATEST.revisions, selection=Selection(("ping.empty-result",)))
    asyncio.run(run_check([STDIO], options, progress))
    assert reported[0][2] == "offering 2025-11-25"
    assert reported[-1][0] == reported[-1][1] > 0

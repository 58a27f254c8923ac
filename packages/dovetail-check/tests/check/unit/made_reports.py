"""Sample reports: one requirement of each verdict, with frames."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from dovetail_check.compiling import describe_tool
from dovetail_check.faults import Fault
from dovetail_check.frames import Frame
from dovetail_check.inventory import Level
from dovetail_check.report import (
    Crash,
    Difference,
    Report,
    ReportNote,
    ReportRow,
    RowFinding,
    SessionInfo,
    count_coverage,
)
from dovetail_check.verdicts import Observation, Verdict

HTTP, STDIO = "http 2025-11-25", "stdio 2026-07-28"
# Text of a hostile server: markup and control characters.
NASTY = '</script><img src=x onerror="alert(1)"> | `x` \x1b[31m\u202e'

FRAMES = (
    Frame(
        n=4,
        at=0.5,
        session=HTTP,
        connection="main",
        kind="sent",
        tag="ping",
        text='{"jsonrpc":"2.0","id":1,"method":"ping"}',
        method="POST",
        url="http://127.0.0.1:8000/mcp",
        headers=(("Accept", "application/json"),),
    ),
    Frame(
        n=5,
        at=0.6,
        session=HTTP,
        connection="main",
        kind="received",
        tag="ping",
        of=4,
        text='{"jsonrpc":"2.0","id":1,"result":{"extra":true}}',
        status=200,
        headers=(("content-type", "application/json"),),
    ),
    Frame(n=9, at=0.9, session=STDIO, connection="main", kind="received", text=NASTY),
)


def row(
    id: str, verdict: Verdict, observation: Observation | None = None, **more: Any
) -> ReportRow:
    notes = () if observation is None else (ReportNote(observation, more.pop("text", ""), (4, 5)),)
    findings = (RowFinding(HTTP, verdict, notes, 1),) if notes else ()
    usual: dict[str, Any] = {
        "area": "base",
        "level": "MUST",
        "strength": Level.MUST,
        "basis": "keyword",
        "testable": "yes",
        "transport": "any",
        "revisions": ("2025-11-25", "2026-07-28"),
        "clause": "basic/index#messages",
        "url": "https://modelcontextprotocol.io/specification/2025-11-25/basic#messages",
        "paraphrase": f"what {id} asks",
        "findings": findings,
    }
    return ReportRow(id=id, verdict=verdict, **{**usual, **more})


ROWS = (
    row("base.jsonrpc.valid", Verdict.PASS, Observation.SATISFIED),
    row(
        "ping.empty-result",
        Verdict.FAIL,
        Observation.VIOLATED,
        text=f"extra members {NASTY}",
        area="ping",
    ),
    row(
        "tools.name.charset",
        Verdict.WARN,
        Observation.VIOLATED,
        text="a space in 'my tool'",
        level="SHOULD",
        strength=Level.SHOULD,
        area="tools",
        revisions=("2026-07-28",),
    ),
    row("base.error.parse-error", Verdict.INFO, Observation.AMBIGUOUS, text="both readings"),
    row(
        "tools.capability",
        Verdict.NOT_APPLICABLE,
        Observation.NOT_APPLICABLE,
        text="no tools",
        area="tools",
    ),
    row("prompts.capability", Verdict.NOT_OBSERVED, reason="nothing was seen"),
    row("auth.secret", Verdict.NOT_TESTABLE, reason="inside", testable="no"),
    row("sbp.rate", Verdict.ATTESTED, reason="100 a minute (Jo Doe)", testable="no"),
)
CRASH = Crash(
    session=STDIO,
    connection="main",
    probe="errors/truncated",
    text="the process exited with status 1",
)
DIFFERENCE = Difference("2025-11-25", "tools: add", {"stdio": "not listed", "http": "{}"})
FAULT = Fault("rule ping.removed", "KeyError: 'x'", "Traceback ...")


def make_report(*rows: ReportRow, **changes: Any) -> Report:
    chosen = rows or ROWS
    report = Report(
        tool=describe_tool(),
        date="2026-11-15T12:00:00+00:00",
        seconds=1.5,
        targets=("http://127.0.0.1:8000/mcp", "python server.py"),
        transports=("http", "stdio"),
        eras=("legacy", "modern"),
        revisions=("2025-11-25", "2026-07-28"),
        offered=("2025-11-25", "2026-07-28"),
        calls="readonly",
        sessions=(
            SessionInfo(
                name=HTTP, transport="http", revision="2025-11-25", era="legacy", server="shop 1.0"
            ),
            SessionInfo(name=STDIO, transport="stdio", revision="2026-07-28", era="modern"),
        ),
        coverage=count_coverage(chosen),
        rows=chosen,
        frames=FRAMES,
    )
    return structs.replace(report, **changes)

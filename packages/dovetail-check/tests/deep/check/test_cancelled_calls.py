"""Servers whose tools are slow, and can be cancelled or not, get no finding for cancelled calls."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from dovetail_check.audit import Audit, AuditOptions
from dovetail_check.judging import judge_recording
from dovetail_check.targets import CheckTarget
from dovetail_check.verdicts import Verdict
from tests.patience import CAP

TOOL = """
@{decorator}(annotations=READ_ONLY)
{define} slow() -> str:
    {wait}(1.5)
    return "done"
"""
OWN = """
from dovetail import Server, ToolAnnotations
READ_ONLY = ToolAnnotations(read_only_hint=True)
server = Server("slow", version="1")
"""
FAST = """
from fastmcp import FastMCP
READ_ONLY = {"readOnlyHint": True}
server = FastMCP("slow")
"""
OFFICIAL = """
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations
READ_ONLY = ToolAnnotations(read_only_hint=True)
server = MCPServer("slow")
"""
SERVERS = {
    "own": (OWN, "server.tool", ""),
    "fastmcp": (FAST, "server.tool", "server.run(show_banner=False)"),
    "official": (OFFICIAL, "server.tool", "server.run()"),
}
IDS = ("cancel.no-response",)


@pytest.mark.parametrize("kind", ["async", "blocking"])
@pytest.mark.parametrize("library", SERVERS)
def test_a_slow_call_that_is_cancelled(library: str, kind: str, tmp_path: Path) -> None:
    head, decorator, run = SERVERS[library]
    define, wait = (
        ("async def", "await asyncio.sleep") if kind == "async" else ("def", "time.sleep")
    )
    path = tmp_path / "server.py"
    tool = TOOL.format(decorator=decorator, define=define, wait=wait)
    path.write_text(f"import asyncio, time\n{head}\n{tool}\n{run}\n")
    command = [sys.executable, "-m", "dovetail", "run"] if library == "own" else [sys.executable]
    target = CheckTarget(transport="stdio", command=(*command, str(path)))
    options = AuditOptions(probes=("tool-calls", "cancel-call"), timeout=CAP)
    recording = asyncio.run(Audit(target, options).run())
    # It was cancelled in every revision.
    sent = [frame for frame in recording.frames if frame.tag == "cancel-call/cancelled"]
    assert len({frame.session for frame in sent}) >= 4
    [report] = judge_recording(recording, only=IDS)
    notes = [note for finding in report.findings for note in finding.notes]
    assert report.verdict is Verdict.PASS, notes

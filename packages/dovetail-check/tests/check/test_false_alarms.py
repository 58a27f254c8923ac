"""Requests that the checker must not send, because they would cause false alarms."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from dovetail.spec.revisions import LEGACY, Revision
from dovetail_check.audit import Audit, AuditOptions
from dovetail_check.targets import CheckTarget
from tests.patience import CAP

# As some servers of the official SDK for TypeScript do: tasks are declared at every revision.
TASKS_EVERYWHERE = """
import json, sys

TOOL = {
    "name": "look",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
    "execution": {"taskSupport": "optional"},
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    given = asked.get("params", {})
    results = {
        "initialize": {
            "protocolVersion": given.get("protocolVersion"),
            "capabilities": {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}},
            "serverInfo": {"name": "tasks", "version": "1"},
        },
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": []},
        "ping": {},
    }
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] in results:
        answer["result"] = results[asked["method"]]
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
"""


@pytest.mark.parametrize("revision", LEGACY, ids=str)
def test_tools_are_called_as_tasks_only_where_there_are_tasks(
    revision: Revision, tmp_path: Path
) -> None:
    path = tmp_path / "server.py"
    path.write_text(TASKS_EVERYWHERE)
    target = CheckTarget(transport="stdio", command=(sys.executable, str(path)))
    probes = ("task-progress", "tasks", "task-questions", "progress")
    options = AuditOptions(revisions=(revision,), probes=probes, timeout=CAP)
    recording = asyncio.run(Audit(target, options).run())
    sent = [json.loads(f.text) for f in recording.frames if f.kind == "sent" and f.text]
    calls = [message["params"] for message in sent if message.get("method") == "tools/call"]
    assert calls
    assert any("task" in params for params in calls) == revision.tasks

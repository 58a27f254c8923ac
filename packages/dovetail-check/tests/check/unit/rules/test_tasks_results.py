"""How fast tasks are returned."""

from __future__ import annotations

import json

import pytest
from msgspec import structs

from dovetail_check.recording import Recording
from dovetail_check.verdicts import Verdict
from tests.check.unit.rules.test_tasks_requests import DECLARED, Script


def creating(*seconds: float, ends: bool = True) -> Script:
    """Tasks of one tool that were returned after so many seconds; the first one is looked at."""
    script = Script(DECLARED)
    status = "completed" if ends else "working"
    for number, _ in enumerate(seconds):
        task = {"taskId": f"t{number}", "status": "working"}
        params = {"name": "survey", "task": {}}
        script.ask("tasks/create", "tools/call", params, {"result": {"task": task}})
    script.ask(
        "tasks/get", "tasks/get", {"taskId": "t0"}, {"result": {"taskId": "t0", "status": status}}
    )
    took = {f"t{number}": each for number, each in enumerate(seconds)}
    frames = []
    for frame in script.recording.frames:
        result = json.loads(frame.text or "{}").get("result", {})
        late = took.get(result.get("task", {}).get("taskId"), 0.0)
        frames.append(structs.replace(frame, at=frame.n / 1000 + late))
    script.recording = Recording(frames)
    return script


@pytest.mark.parametrize(
    ("script", "verdict"),
    [
        (creating(0.1), Verdict.PASS),
        (creating(1.4), Verdict.WARN),
        (creating(1.4, 1.6), Verdict.WARN),
        # Late once: the machine was busy.
        (creating(1.4, 0.1), Verdict.PASS),
        # The task was not over, so the server did not wait for its end.
        (creating(1.4, ends=False), Verdict.NOT_OBSERVED),
    ],
)
def test_a_task_is_returned_before_the_work_ends(script: Script, verdict: Verdict) -> None:
    assert script.verdict("tasks.create-fast") is verdict

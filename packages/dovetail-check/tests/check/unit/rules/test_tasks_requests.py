"""Lists of tasks, which the healthy server does not offer over HTTP without credentials."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail.spec.revisions import LATEST_LEGACY
from dovetail_check.judging import judge_recording
from dovetail_check.probes.pagination import NO_CURSOR
from dovetail_check.recording import Recording
from dovetail_check.verdicts import Verdict

DECLARED: dict[str, Any] = {
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
}
NAMES = {"protocolVersion": LATEST_LEGACY.date, "serverInfo": {"name": "x", "version": "1"}}
REFUSED = {"error": {"code": -32602, "message": "no such cursor"}}


class Script:
    """A recording of requests and responses."""

    def __init__(self, capabilities: dict[str, Any]) -> None:
        self.recording = Recording()
        self.ask("opening", "initialize", {}, {"result": {**NAMES, "capabilities": capabilities}})

    def ask(
        self, tag: str, method: str, params: Any, answer: Any, connection: str = "main"
    ) -> None:
        where = (f"http {LATEST_LEGACY}", connection)
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        sent = self.recording.add(*where, "sent", json.dumps(message).encode(), tag=tag)
        data = json.dumps({"jsonrpc": "2.0", "id": 1, **answer}).encode()
        self.recording.add(*where, "received", data, of=sent.n, status=200)

    def create(self, id: str) -> None:
        task = {"taskId": id, "status": "working"}
        self.ask("tasks/create", "tools/call", {"task": {}}, {"result": {"task": task}})

    def get(self, id: str) -> None:
        result = {"taskId": id, "status": "completed"}
        self.ask("tasks/get/listed", "tasks/get", {"taskId": id}, {"result": result})

    def verdict(self, id: str) -> Verdict:
        [report] = judge_recording(self.recording, only=[id])
        return report.verdict


def listing(*pages: list[str]) -> Script:
    """Two tasks, the pages of a list, and tasks/get of both tasks."""
    script = Script(DECLARED)
    script.create("one")
    script.create("two")
    for index, ids in enumerate(pages):
        following = {"nextCursor": f"page {index + 1}"} if index < len(pages) - 1 else {}
        given = {"cursor": f"page {index}"} if index else {}
        result = {"tasks": [{"taskId": id} for id in ids], **following}
        script.ask("tasks/list", "tasks/list", given, {"result": result})
    script.get("one")
    script.get("two")
    return script


def test_a_full_list_is_complete_and_its_pages_end() -> None:
    script = listing(["one"], ["two"])
    assert script.verdict("tasks.list-complete") is Verdict.PASS
    assert script.verdict("tasks.list-next-cursor") is Verdict.PASS


def test_a_list_without_an_existing_task_is_not_complete() -> None:
    assert listing(["one"]).verdict("tasks.list-complete") is Verdict.FAIL


def test_a_rejected_list_is_not_judged_for_completeness() -> None:
    script = listing(["one"])
    script.ask("tasks/list", "tasks/list", {"cursor": "page 1"}, REFUSED)
    assert script.verdict("tasks.list-complete") is Verdict.NOT_OBSERVED
    assert script.verdict("tasks.list-next-cursor") is Verdict.FAIL


def test_an_unknown_cursor_is_rejected() -> None:
    script = Script(DECLARED)
    script.ask("tasks/list-cursor", "tasks/list", {"cursor": NO_CURSOR}, REFUSED)
    assert script.verdict("tasks.bad-cursor-32602") is Verdict.PASS


@pytest.mark.parametrize(("shown", "verdict"), [([], Verdict.PASS), (["one"], Verdict.WARN)])
def test_another_client_does_not_see_tasks(shown: list[str], verdict: Verdict) -> None:
    script = listing(["one", "two"])
    result = {"tasks": [{"taskId": id} for id in shown]}
    script.ask("tasks/list-other", "tasks/list", {}, {"result": result}, connection="other-tasks")
    assert script.verdict("tasks.list-not-anonymous") is verdict


@pytest.mark.parametrize("id", ["tasks.list-complete", "tasks.bad-cursor-32602"])
def test_without_the_capability_the_list_is_not_applicable(id: str) -> None:
    assert Script({"tasks": {}}).verdict(id) is Verdict.NOT_APPLICABLE

from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail.spec import keys
from dovetail.spec.revisions import LATEST_LEGACY
from dovetail_check.exchanges import Exchange
from dovetail_check.frames import Frame
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.task_traffic import (
    TaskSnapshot,
    call_of,
    created_tasks,
    declares_extension,
    describe_task,
    id_of,
    is_over,
    offers_extension,
    related_id,
    task_in,
    task_snapshots,
)

TASK = {"taskId": "t", "status": "working"}
KNOWS: dict[str, Any] = {"extensions": {keys.TASKS: {}}}


def made(method: str, params: Any, result: Any, n: int = 0) -> Exchange:
    """A request and its result."""
    common: dict[str, Any] = {"at": 0.0, "session": f"stdio {LATEST_LEGACY}", "connection": "main"}
    sent = {"jsonrpc": "2.0", "id": n, "method": method, "params": params}
    came = {"jsonrpc": "2.0", "id": n, "result": result}
    asked = Frame(n=n, kind="sent", text=json.dumps(sent), **common)
    return Exchange(asked, [Frame(n=n + 1, kind="received", of=n, text=json.dumps(came), **common)])


@pytest.mark.parametrize(
    ("method", "result", "found"),
    [
        ("tools/call", {"task": TASK}, TASK),
        ("tools/call", {"resultType": "task", **TASK}, {"resultType": "task", **TASK}),
        # A tool may have results of its own.
        ("tools/call", {"resultType": "complete", "task": TASK}, None),
        ("tools/call", {"content": []}, None),
        ("tools/call", {"task": "t"}, None),
        ("prompts/get", {"task": TASK}, None),
        ("tasks/get", TASK, TASK),
        ("tasks/cancel", {"resultType": "complete"}, None),
    ],
)
def test_a_task_is_found_where_its_shape_has_it(method: str, result: Any, found: Any) -> None:
    assert task_in(made(method, {}, result)) == found


def test_an_id_that_is_no_text_cannot_be_used() -> None:
    assert id_of(made("tasks/get", {}, TASK)) == "t"
    assert id_of(made("tasks/get", {}, {**TASK, "taskId": 7})) is None


@pytest.mark.parametrize(
    ("status", "over"),
    [("working", False), ("input_required", False), ("failed", True), (["failed"], False)],
)
def test_what_has_ended_is_over(status: Any, over: bool) -> None:
    assert is_over(made("tasks/get", {}, {**TASK, "status": status})) is over


def test_snapshots_are_in_the_order_of_the_responses() -> None:
    late, early = made("tasks/get", {}, {**TASK, "taskId": "late"}, 10), made("tasks/get", {}, TASK)
    call = made("tools/call", {}, {"task": {**TASK, "taskId": "created"}}, 20)
    frames = [frame for one in (late, call, early) for frame in (one.sent, *one.replies)]
    seen = ProbeSession("stdio", LATEST_LEGACY, frames)
    assert [snapshot.id for snapshot in task_snapshots(seen)] == ["t", "late", "created"]
    assert [snapshot.id for snapshot in created_tasks(seen)] == ["created"]


def test_a_snapshot_without_members_is_returned() -> None:
    snapshot = TaskSnapshot(made("tasks/get", {}, TASK), {})
    assert (snapshot.id, snapshot.status, snapshot.is_final) == (None, None, False)
    assert "tasks/get" in describe_task(snapshot)


def test_a_call_is_the_same_with_and_without_a_task() -> None:
    call = {"name": "add", "arguments": {"a": 1}}
    plain, task = made("tools/call", call, {}), made("tools/call", {**call, "task": {}}, {})
    other = made("tools/call", {**call, "arguments": {"a": 2}}, {})
    assert call_of(plain) == call_of(task) != call_of(other)


@pytest.mark.parametrize("meta", [None, [], {}, {keys.RELATED_TASK: "t"}])
def test_metadata_that_names_no_task_names_none(meta: Any) -> None:
    assert related_id({"_meta": meta}) is None


def test_metadata_names_a_task() -> None:
    assert related_id({"_meta": {keys.RELATED_TASK: {"taskId": "t"}}}) == "t"


@pytest.mark.parametrize("declared", [{}, {"extensions": []}, {"extensions": {keys.TASKS: True}}])
def test_the_extension_is_an_object_of_the_map(declared: dict[str, Any]) -> None:
    assert offers_extension(KNOWS)
    assert not offers_extension(declared)


def test_each_request_says_for_itself_that_its_client_knows_tasks() -> None:
    meta = {"_meta": {keys.CLIENT_CAPABILITIES: KNOWS}}
    assert declares_extension(made("tools/call", meta, {}))
    assert not declares_extension(made("tools/call", {"_meta": {}}, {}))

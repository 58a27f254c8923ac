"""Tasks of the upstream: their ids, and what is remembered about them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from dovetail import Client, Proxy
from dovetail.client.local_caller import LocalCaller
from dovetail.compose.proxy.tasks import ProxyTasks
from dovetail.core.call import Call
from dovetail.core.principal import Principal
from dovetail.errors import InvalidParamsError, MethodNotFoundError, RpcError, ToolError
from dovetail.spec.keys import TASKS
from dovetail.wire.messages import Notification
from tests.peers.scripted import DISCOVERED, INITIALIZED, ScriptedServer, run
from tests.unit.fakes import make_call

TASK = {
    "taskId": "t1",
    "status": "working",
    "createdAt": "2026-01-01T00:00:00Z",
    "lastUpdatedAt": "not a time",
    "ttlMs": 1000,
    "pollIntervalMs": 1,
}
MODERN: dict[str, Any] = {
    "server/discover": {
        **DISCOVERED,
        "capabilities": {"tools": {}, "extensions": {TASKS: {}}},
    },
    "tools/call": {"resultType": "task", **TASK},
    "tasks/get": {"resultType": "complete", **TASK},
    "tasks/cancel": {"resultType": "complete"},
}
LEGACY: dict[str, Any] = {
    "initialize": {
        **INITIALIZED,
        "capabilities": {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}},
    },
    "tools/list": {
        "tools": [
            {"name": "t", "inputSchema": {}, "execution": {"taskSupport": "required"}},
        ]
    },
    "tools/call": {"task": TASK},
    "tasks/get": {**TASK, "status": "failed"},
}


def called_by(id: str | None) -> Call:
    call = make_call()
    call.principal = None if id is None else Principal(id)
    return call


def test_ids_are_bound_to_the_principal() -> None:
    tasks = ProxyTasks(None, lambda: [b"k" * 32])  # type: ignore[arg-type]
    public = tasks._publish("ada", "t1")
    assert tasks._resolve(called_by("ada"), public) == ("t1", "")
    for id in (public, "t1", "t1.", "größe"):
        with pytest.raises(InvalidParamsError):
            tasks._resolve(called_by("eve"), id)
    assert tasks._publish(None, "t1") == "t1"
    assert tasks._resolve(called_by(None), "t1") == ("t1", "")


def test_ids_stay_valid_while_a_new_key_is_introduced() -> None:
    keys = [b"k" * 32]
    tasks = ProxyTasks(None, lambda: keys)  # type: ignore[arg-type]
    public = tasks._publish("ada", "t1")
    keys = [b"n" * 32, b"k" * 32]
    assert tasks._resolve(called_by("ada"), public) == ("t1", "")
    assert tasks._publish("ada", "t1") != public
    keys = [b"n" * 32]
    with pytest.raises(InvalidParamsError):
        tasks._resolve(called_by("ada"), public)


def test_questions_are_reserved_for_one_sender() -> None:
    tasks = ProxyTasks(None, lambda: [b"k" * 32])  # type: ignore[arg-type]
    assert tasks.take("t1", "a")
    assert not tasks.take("t1", "a")
    tasks.give_back("t1", "a")
    assert tasks.take("t1", "a")
    tasks.refuse("t1", "a", ToolError("no"))


def test_notifications_of_unknown_tasks_are_dropped() -> None:
    tasks = ProxyTasks(None, lambda: [b"k" * 32])  # type: ignore[arg-type]
    for params in (None, Raw(b"[]"), Raw(json.dumps(TASK).encode())):
        assert tasks.read_status(Notification("notifications/tasks/status", params)) is None


def test_a_task_of_a_modern_upstream_for_a_legacy_caller() -> None:
    async def scenario() -> None:
        server = ScriptedServer(MODERN)
        proxy = Proxy(server, mode="modern")
        async with Client(LocalCaller(proxy, "ada"), mode="legacy") as client:
            created = await client.request("tools/call", {"name": "t", "task": {"ttl": 5}})
            id = created["task"]["taskId"]
            assert id.startswith("t1.")
            assert (created["task"]["ttl"], created["task"]["pollInterval"]) == (1000, 1)
            assert "task" not in server.last("tools/call")["params"]
            shown = await client.request("tasks/get", {"taskId": id})
            assert shown["createdAt"] == "2026-01-01T00:00:00.000Z"
            done = {**TASK, "status": "completed", "result": {"content": [], "isError": True}}
            server.script = {**MODERN, "tasks/get": {"resultType": "complete", **done}}
            # A failed tool is a failed task in this revision.
            assert (await client.request("tasks/get", {"taskId": id}))["status"] == "failed"
            assert (await client.request("tasks/result", {"taskId": id}))["isError"] is True
            with pytest.raises(InvalidParamsError):
                await client.request("tasks/cancel", {"taskId": id})
            with pytest.raises(MethodNotFoundError, match="tell its callers apart"):
                await client.request("tasks/list")
            failed = {**TASK, "status": "failed", "error": {"code": -5, "message": "broken"}}
            server.script = {**MODERN, "tasks/get": {"resultType": "complete", **failed}}
            with pytest.raises(RpcError, match="broken"):
                await client.request("tasks/result", {"taskId": id})
            server.script = {**MODERN, "tasks/get": {"resultType": "complete", "status": 7}}
            with pytest.raises(RpcError, match="sent an invalid task"):
                await client.request("tasks/get", {"taskId": id})
        await proxy.close()

    run(scenario())


def test_a_tool_that_needs_a_task_at_a_legacy_upstream() -> None:
    async def scenario() -> None:
        server = ScriptedServer({**LEGACY, "tasks/result": RpcError("broken", {"why": 1}, code=-5)})
        proxy = Proxy(server, mode="legacy")
        async with Client(proxy, mode="modern") as client:
            with pytest.raises(RpcError) as caught:
                await client.call("t")
            assert caught.value.code == -32021
            task = await client.start("t")
            assert server.last("tools/call")["params"]["task"] == {}
            with pytest.raises(RpcError, match="broken"):
                await task.result()
            assert (await task.refresh()).status == "failed"
        await proxy.close()

    run(scenario())

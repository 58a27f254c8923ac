"""Tasks of the upstream: their ids, and which callers have them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from dovetail import Client, Proxy
from dovetail.client.targets import LocalCaller
from dovetail.errors import InvalidParamsError, MethodNotFoundError, RpcError
from dovetail.spec.keys import TASKS
from dovetail.wire.messages import Notification
from tests.peers.scripted import DISCOVERED, INITIALIZED, ScriptedServer, run

TASK = {
    "taskId": "t1",
    "status": "working",
    "createdAt": "2026-01-01T00:00:00Z",
    "lastUpdatedAt": "not a time",
}
MODERN_TASK: dict[str, Any] = {**TASK, "ttlMs": 1000, "pollIntervalMs": 1}
LEGACY_TASK: dict[str, Any] = {**TASK, "ttl": 1000, "pollInterval": 1}
MODERN: dict[str, Any] = {
    "server/discover": {
        **DISCOVERED,
        "capabilities": {"tools": {}, "extensions": {TASKS: {}}},
    },
    "tools/call": {"resultType": "task", **MODERN_TASK},
    "tasks/get": {"resultType": "complete", **MODERN_TASK},
    "tasks/cancel": {"resultType": "complete"},
    "tasks/update": {"resultType": "complete"},
}
LEGACY: dict[str, Any] = {
    "initialize": {
        **INITIALIZED,
        "capabilities": {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}},
    },
    "tools/list": {
        "tools": [{"name": "t", "inputSchema": {}, "execution": {"taskSupport": "required"}}]
    },
    "tools/call": {"task": LEGACY_TASK},
    "tasks/get": {**LEGACY_TASK, "status": "failed"},
}
AN_ANSWER: dict[str, Any] = {"content": [{"type": "text", "text": "done"}]}


def test_a_task_of_a_modern_upstream() -> None:
    async def scenario() -> None:
        server = ScriptedServer(MODERN)
        proxy = Proxy(server, mode="modern")
        async with (
            Client(LocalCaller(proxy, "ada"), mode="modern") as ada,
            Client(LocalCaller(proxy, "eve"), mode="modern") as eve,
        ):
            task = await ada.start("t")
            assert task.id.startswith("t1.") and task.state.ttl_ms == 1000
            for id in ("t1", "t1.", "größe"):
                with pytest.raises(InvalidParamsError):
                    await ada.task(id)
            with pytest.raises(InvalidParamsError):
                await eve.task(task.id)
            shown = await ada.task(task.id)
            assert shown.id == task.id
            assert server.last("tasks/get")["params"]["taskId"] == "t1"
            asked = {"a": {"method": "roots/list"}}
            waiting = {**MODERN_TASK, "status": "input_required", "inputRequests": asked}
            server.script = {**MODERN, "tasks/get": {"resultType": "complete", **waiting}}
            assert list((await task.refresh()).asks) == ["a"]
            done = {**MODERN_TASK, "status": "completed", "result": AN_ANSWER}
            server.script = {**MODERN, "tasks/get": {"resultType": "complete", **done}}
            await task.refresh()
            assert (await task.result()).text == "done"
        await proxy.close()

    run(scenario())


def test_a_task_of_a_legacy_upstream() -> None:
    async def scenario() -> None:
        failure = RpcError("broken", {"why": 1}, code=-5)
        server = ScriptedServer({**LEGACY, "tasks/result": failure})
        proxy = Proxy(server, mode="legacy")
        async with Client(LocalCaller(proxy, "ada"), mode="legacy") as client:
            task = await client.start("t")
            assert server.last("tools/call")["params"]["task"] == {}
            assert task.id.startswith("t1.")
            with pytest.raises(RpcError, match="broken"):
                await task.result()
            server.script = {**LEGACY, "tasks/result": AN_ANSWER}
            result = await client.request("tasks/result", {"taskId": task.id})
            related = result["_meta"]["io.modelcontextprotocol/related-task"]
            assert related == {"taskId": task.id}
            with pytest.raises(MethodNotFoundError, match="tell its callers apart"):
                await client.request("tasks/list")
        await proxy.close()

    run(scenario())


def test_tasks_are_listed_if_callers_have_credentials_of_their_own() -> None:
    async def scenario() -> None:
        server = ScriptedServer({**LEGACY, "tasks/list": {"tasks": [LEGACY_TASK]}})
        proxy = Proxy(server, mode="legacy", auth=lambda principal: None)
        async with Client(LocalCaller(proxy, "ada"), mode="legacy") as client:
            [listed] = (await client.request("tasks/list"))["tasks"]
            assert listed["taskId"].startswith("t1.")
            assert (await client.task(listed["taskId"])).state.status == "failed"
            server.script = {**LEGACY, "tasks/list": {"tasks": 7}}
            with pytest.raises(RpcError, match="invalid list of tasks"):
                await client.request("tasks/list")
        await proxy.close()

    run(scenario())


@pytest.mark.parametrize(
    ("script", "own", "other"), [(MODERN, "modern", "legacy"), (LEGACY, "legacy", "modern")]
)
def test_between_eras_a_call_is_an_ordinary_one(
    script: dict[str, Any], own: str, other: str
) -> None:
    async def scenario() -> None:
        answer = AN_ANSWER if own == "legacy" else {"resultType": "complete", **AN_ANSWER}
        server = ScriptedServer({**script, "tools/call": answer})
        proxy = Proxy(server, mode=own)
        async with Client(proxy, mode=other) as client:
            assert "tasks" not in client.capabilities and "extensions" not in client.capabilities
            task = await client.start("t")
            assert (task.id, (await task.result()).text) == ("", "done")
            sent = server.last("tools/call")["params"]
            assert "task" not in sent and TASKS not in json.dumps(sent)
            with pytest.raises(InvalidParamsError):
                await client.task("t1")
        await proxy.close()

    run(scenario())


def test_ids_stay_valid_while_a_new_key_is_introduced() -> None:
    async def scenario() -> None:
        proxy = Proxy(ScriptedServer(MODERN), mode="modern")
        keys = [b"k" * 32]
        proxy.upstream_tasks.join(lambda: keys)
        async with Client(LocalCaller(proxy, "ada"), mode="modern") as client:
            id = (await client.start("t")).id
            keys = [b"n" * 32, b"k" * 32]
            assert (await client.task(id)).id == id
            keys = [b"n" * 32]
            with pytest.raises(InvalidParamsError):
                await client.task(id)
        await proxy.close()

    run(scenario())


def test_notifications_of_unknown_tasks_are_dropped() -> None:
    async def scenario() -> None:
        proxy = Proxy(ScriptedServer(LEGACY), mode="legacy")
        for params in (None, Raw(b"[]"), Raw(json.dumps(TASK).encode())):
            status = Notification("notifications/tasks/status", params)
            assert proxy.upstream_tasks.read_status(status) is None
        await proxy.close()

    run(scenario())

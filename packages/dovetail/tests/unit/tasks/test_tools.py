"""Whether a call becomes a task, and what is declared of it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from dovetail import Context, Options, Server
from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.spec.keys import TASKS
from tests.unit.talk import LEGACY, MODERN, answer, refusal, run

KNOWS: dict[str, Any] = {"extensions": {TASKS: {}}}


@pytest.mark.parametrize(
    ("support", "how", "text"),
    [
        ("always", {}, "task is one of optional, required, never, got 'always'"),
        ("never", {"resumable": True}, "resumable is for tools that run as tasks"),
        ("never", {"before_task": print}, "before_task is for tools that run as tasks"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused(
    support: str, how: dict[str, Any], text: str
) -> None:
    with pytest.raises(UsageError, match=text):
        Server("s").tools.add(lambda: "x", name="dig", task=support, **how)  # type: ignore[arg-type]  # one is none


def test_a_tool_that_makes_none_says_nothing_of_tasks() -> None:
    server = make_server(a="never", b="required")
    plain, task = server.tools.list()
    assert plain.execution is None
    assert task.execution is not None and task.execution.task_support == "required"


def make_server(**support: Any) -> Server:
    server = Server("s", options=Options(state="memory://"))
    for name, task in support.items():

        @server.tool(name=name, task=task)
        async def tool() -> str:
            return "done"

    return server


CALL = {"name": "a", "arguments": {}}


@pytest.mark.parametrize(
    ("support", "revision", "capabilities", "extra", "kind"),
    [
        ("optional", LEGACY, {}, {"task": {}}, "task"),
        ("optional", LEGACY, {}, {}, "plain"),
        ("optional", MODERN, KNOWS, {}, "task"),
        ("optional", MODERN, {}, {"task": {}}, "plain"),
        ("optional", MODERN, {"extensions": {TASKS: None}}, {}, "plain"),
        ("optional", MODERN, {"extensions": []}, {}, "plain"),
        ("never", MODERN, KNOWS, {"task": {}}, "plain"),
        ("never", LEGACY, {}, {"task": {}}, -32601),
        ("required", LEGACY, {}, {}, -32601),
        ("required", MODERN, {}, {}, -32021),
        ("required", MODERN, KNOWS, {}, "task"),
    ],
)
def test_who_gets_a_task(
    support: str, revision: str, capabilities: Any, extra: Any, kind: str | int
) -> None:
    server = make_server(a=support, b="optional")
    response = run(
        answer(
            server,
            "tools/call",
            {**CALL, **extra},
            revision=revision,
            capabilities=capabilities,
        )
    )
    if isinstance(kind, int):
        assert response["error"]["code"] == kind
    else:
        result = response["result"]
        is_task = "task" in result or result.get("resultType") == "task"
        assert is_task is (kind == "task")


def test_where_no_tool_makes_tasks_a_request_for_one_means_nothing() -> None:
    server = make_server(a="never")
    response = run(answer(server, "tools/call", {**CALL, "task": {}}))
    assert response["result"]["content"][0]["text"] == "done"
    assert refusal(server, "tasks/get", {"taskId": "x"})["code"] == -32601
    assert "tasks" not in server.capabilities()


def test_a_server_without_such_tools_imports_nothing_for_tasks() -> None:
    program = """
import asyncio, sys
from dovetail import Server
server = Server("s")
@server.tool
async def dig() -> str:
    return "dug"
call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dig","arguments":{}}}'
assert b"dug" in asyncio.run(server.handle(call))
found = [name for name in sys.modules if name.startswith("dovetail.tasks")]
assert not found, found
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_task_is_nobody_elses(revision: str) -> None:
    async def scenario() -> None:
        server = make_server(a="optional")
        how: dict[str, Any] = {"revision": revision, "capabilities": KNOWS}
        call = {**CALL, "task": {}}
        created = (await answer(server, "tools/call", call, principal="ada", **how))["result"]
        id = {"taskId": created.get("task", created)["taskId"]}
        assert "result" in await answer(server, "tasks/get", id, principal="ada", **how)
        for method in ("tasks/get", "tasks/cancel"):
            for other in ("bob", None):
                response = await answer(server, method, id, principal=other, **how)
                assert response["error"]["code"] == -32602
        # One of another revision is another client's business, whoever that is.
        how["revision"] = LEGACY if revision == MODERN else MODERN
        response = await answer(server, "tasks/get", id, principal="ada", **how)
        assert response["error"]["code"] == -32602

    run(scenario())


def test_a_task_may_what_its_caller_may() -> None:
    async def scenario() -> None:
        server = make_server(b="optional")
        seen: list[Principal | None] = []

        @server.tool(task="optional", scopes=["dig"])
        async def dig(ctx: Context) -> str:
            seen.append(ctx.principal)
            return "dug"

        ada = Principal("ada", ["dig"])
        how: dict[str, Any] = {"revision": MODERN, "capabilities": KNOWS, "principal": ada}
        created = await answer(server, "tools/call", {"name": "dig", "arguments": {}}, **how)
        id = {"taskId": created["result"]["taskId"]}
        while (await answer(server, "tasks/get", id, **how))["result"]["status"] == "working":
            await asyncio.sleep(0)
        assert seen == [ada]

    run(scenario())

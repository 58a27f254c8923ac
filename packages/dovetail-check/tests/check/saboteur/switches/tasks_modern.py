from __future__ import annotations

from itertools import count
from typing import Any

from dovetail_check.task_traffic import NO_SUCH_TASK
from tests.check.saboteur.switch import Message, on_reply, on_request
from tests.check.saboteur.switches.tasks_legacy import answer, is_first_time, refuse, shown_in

CALL, GET, UPDATE, CANCEL = "tools/call", "tasks/get", "tasks/update", "tasks/cancel"
TASK = {
    "taskId": "VTrwfJc8ZGGj4hV0tQq_diRkEx8v-JLb",
    "status": "working",
    "createdAt": "2026-07-28T10:30:00Z",
    "lastUpdatedAt": "2026-07-28T10:30:00Z",
    "ttlMs": None,
}
_counter = count(1)
# Input requests of tasks, by task id.
_asked: dict[Any, Any] = {}


def _knows_tasks(request: Message) -> bool:
    meta = request.get("params", {}).get("_meta", {})
    return "extensions" in meta.get("io.modelcontextprotocol/clientCapabilities", {})


@on_request("xtasks.opt-in")
def every_client_gets_a_task(request: Message) -> list[Message] | None:
    if request.get("method") == CALL and not _knows_tasks(request):
        return answer(request, {"resultType": "task", **TASK})
    return None


@on_reply("xtasks.missing-capability-32021", to=CALL)
def missing_capability_is_not_named(reply: Message, request: Message) -> None:
    if reply.get("error", {}).get("code") == -32021:
        reply["error"]["data"] = {"requiredCapabilities": {}}


@on_reply("xtasks.non-declaring", to=GET)
def undeclared_clients_may_query(reply: Message, request: Message) -> list[Message] | None:
    shown = answer(request, {"resultType": "complete", **TASK})
    return None if _knows_tasks(request) else shown


@on_request("xtasks.result-removed")
def tasks_result_still_works(request: Message) -> list[Message] | None:
    is_old = request.get("method") == "tasks/result"
    return refuse(request, -32602, "no such task") if is_old else None


@on_reply("xtasks.resulttype-task", to=GET)
def tasks_get_has_result_type_task(reply: Message, request: Message) -> None:
    if "result" in reply:
        reply["result"]["resultType"] = "task"


@on_request("xtasks.durable")
def a_new_task_is_unknown_at_first(request: Message) -> list[Message] | None:
    if request.get("method") != GET or not _knows_tasks(request):
        return None
    is_first = is_first_time("xtasks.durable", request["params"]["taskId"])
    return refuse(request, -32602, "no such task") if is_first else None


@on_reply("xtasks.get-shapes", to=GET)
def a_completed_task_has_no_result(reply: Message, request: Message) -> None:
    reply.get("result", {}).pop("result", None)


@on_reply("xtasks.failed-only-jsonrpc", to=GET)
def a_tool_that_fails_fails_its_task(reply: Message, request: Message) -> None:
    task = shown_in(reply)
    if task.get("result", {}).get("isError"):
        task["status"] = "failed"
        task["error"] = {"code": -32603, "message": "it stumbled"}
        del task["result"]


@on_reply("xtasks.id-entropy", to=CALL)
def ids_are_sequential(reply: Message, request: Message) -> None:
    if task := shown_in(reply):
        task["taskId"] = f"task-{next(_counter)}"


@on_reply("xtasks.keys-unique", to=GET)
def a_key_is_reused(reply: Message, request: Message) -> None:
    task = shown_in(reply)
    if "inputRequests" in task:
        _asked[task["taskId"]] = task["inputRequests"]
    elif asked := _asked.pop(task.get("taskId"), None):
        for question in asked.values():
            question["params"]["message"] = "And who else?"
        task |= {"status": "input_required", "inputRequests": asked}


@on_reply("xtasks.update-ack", to=CANCEL)
def tasks_cancel_returns_the_task(reply: Message, request: Message) -> None:
    if "result" in reply:
        reply["result"]["status"] = "cancelled"


@on_reply("xtasks.unknown-id-get", to=GET)
def an_unknown_task_gets_an_internal_error(reply: Message, request: Message) -> None:
    if request["params"]["taskId"] == NO_SUCH_TASK and "error" in reply:
        reply["error"]["code"] = -32603


@on_request("xtasks.header-name")
def headers_are_not_read(request: Message) -> list[Message] | None:
    if request.get("method") != GET or request["params"]["taskId"] == NO_SUCH_TASK:
        return None
    shown = {"resultType": "complete", **TASK, "taskId": request["params"]["taskId"]}
    return answer(request, shown) if _knows_tasks(request) else None


@on_reply("xtasks.no-progress-on-listen", to="subscriptions/listen")
def progress_where_a_task_is_listened_to(reply: Message, request: Message) -> list[Message] | None:
    if reply.get("method") != "notifications/subscriptions/acknowledged":
        return None
    params = {
        "progressToken": "dovetail-check-x0",
        "progress": 1,
        "_meta": reply["params"]["_meta"],
    }
    return [reply, {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}]

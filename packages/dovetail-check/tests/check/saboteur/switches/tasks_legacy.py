from __future__ import annotations

import time
from itertools import count
from typing import Any

from dovetail_check.task_traffic import NO_SUCH_TASK
from tests.check.saboteur.switch import (
    HttpRequest,
    HttpResponse,
    Message,
    on_reply,
    on_request,
    on_response,
    tuned,
)

RELATED = "io.modelcontextprotocol/related-task"
CALL, GET, RESULT, CANCEL = "tools/call", "tasks/get", "tasks/result", "tasks/cancel"
# Ids of tasks that each switch has seen.
_met: dict[str, set[str]] = {}
_counter = count(1)

tuned("tasks.tool.no-request-capability", probes=("ping",))
# Over stdio the client receives notifications at any time.
tuned("tasks.notify-no-related-meta", transport="stdio")


def is_first_time(switch: str, id: Any) -> bool:
    """Whether a switch sees a task for the first time."""
    known = _met.setdefault(switch, set())
    is_new = str(id) not in known
    known.add(str(id))
    return is_new


def shown_in(reply: Message) -> Message:
    """The task in a reply, or an empty dict if there is none."""
    result = reply.get("result", {})
    task = result.get("task", result)
    return task if "taskId" in task else {}


def refuse(request: Message, code: int = -32603, text: str = "no") -> list[Message]:
    return [{"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": text}}]


def answer(request: Message, result: Message) -> list[Message]:
    return [{"jsonrpc": "2.0", "id": request["id"], "result": result}]


def task_id(request: Message) -> str:
    return str(request["params"]["taskId"])


# -- what is declared ------------------------------------------------------------------------------


@on_reply("tasks.capability", "tasks.undeclared-ignored", to="initialize")
def nothing_is_declared(reply: Message, request: Message) -> None:
    reply["result"]["capabilities"].pop("tasks", None)


@on_reply("tasks.tool.no-request-capability", to="initialize")
def calls_are_not_declared(reply: Message, request: Message) -> None:
    reply["result"]["capabilities"]["tasks"] = {"cancel": {}}


@on_request("tasks.tool.required-32601")
def a_task_tool_accepts_plain_calls(request: Message) -> list[Message] | None:
    params = request.get("params", {})
    if request.get("method") == CALL and params["name"] == "survey" and "task" not in params:
        return answer(request, {"content": [{"type": "text", "text": "surveyed"}]})
    return None


@on_reply("tasks.tool.forbidden-32601", to=CALL)
def a_plain_tool_runs_as_a_task(reply: Message, request: Message) -> list[Message] | None:
    if reply.get("error", {}).get("code") == -32601 and "task" in request["params"]:
        return answer(request, {"content": []})
    return None


# -- ids and states --------------------------------------------------------------------------------


@on_reply("tasks.id.string", to=CALL)
def an_id_is_a_number(reply: Message, request: Message) -> None:
    if task := shown_in(reply):
        task["taskId"] = 7


@on_reply("tasks.id.by-receiver", to=CALL)
def the_id_is_the_clients(reply: Message, request: Message) -> None:
    wanted = request["params"].get("task", {})
    if "taskId" in wanted and (task := shown_in(reply)):
        task["taskId"] = wanted["taskId"]


@on_reply("tasks.id.unique", to=CALL)
def all_ids_are_equal(reply: Message, request: Message) -> None:
    if task := shown_in(reply):
        task["taskId"] = "the-task"


@on_reply("tasks.id.entropy", to=CALL)
def ids_are_sequential(reply: Message, request: Message) -> None:
    if task := shown_in(reply):
        task["taskId"] = f"task-{next(_counter)}"


@on_reply("tasks.starts-working", to=CALL)
def tasks_begin_as_queued(reply: Message, request: Message) -> None:
    if task := shown_in(reply):
        task["status"] = "queued"


@on_reply("tasks.transitions", to=GET)
def tasks_begin_as_completed(reply: Message, request: Message) -> None:
    task = shown_in(reply)
    if task and is_first_time("tasks.transitions", task["taskId"]):
        task["status"] = "completed"
    elif task:
        task["status"] = "working"


@on_reply("tasks.terminal-final", to=GET)
def terminal_status_changes(reply: Message, request: Message) -> None:
    task = shown_in(reply)
    if task.get("status") == "completed" and not is_first_time(
        "tasks.terminal-final", task["taskId"]
    ):
        task["status"] = "failed"


@on_reply("tasks.created-at", to=GET)
def created_at_is_a_number(reply: Message, request: Message) -> None:
    if task := shown_in(reply):
        task["createdAt"] = 1_764_000_000


@on_reply("tasks.updated-at", to=GET)
def last_updated_at_is_missing(reply: Message, request: Message) -> None:
    shown_in(reply).pop("lastUpdatedAt", None)


@on_reply("tasks.ttl-reported", to=GET)
def ttl_is_missing(reply: Message, request: Message) -> None:
    shown_in(reply).pop("ttl", None)


# -- results ---------------------------------------------------------------------------------------


@on_reply("tasks.create-result", to=CALL)
def a_task_is_not_nested(reply: Message, request: Message) -> list[Message] | None:
    task = shown_in(reply)
    return answer(request, {**task, "content": []}) if task else None


@on_reply("tasks.create-fast", to=CALL)
def creation_blocks(reply: Message, request: Message) -> None:
    if request["params"]["name"] == "survey" and shown_in(reply):
        # The delay is the violation.
        time.sleep(1.2)


@on_request("tasks.result-blocks")
def tasks_result_does_not_block(request: Message) -> list[Message] | None:
    if request.get("method") == RESULT and is_first_time("tasks.result-blocks", task_id(request)):
        return refuse(request, -32602, "not ready")
    return None


@on_reply("tasks.result-terminal", to=RESULT)
def a_result_is_wrapped(reply: Message, request: Message) -> None:
    if "result" in reply:
        meta = reply["result"].pop("_meta", {})
        reply["result"] = {"result": reply["result"], "_meta": meta}


@on_reply("tasks.failed-error-same", to=RESULT)
def a_failure_becomes_an_error(reply: Message, request: Message) -> list[Message] | None:
    return refuse(request) if reply.get("result", {}).get("isError") else None


@on_reply("tasks.failed-message", to=GET)
def a_failure_has_no_reason(reply: Message, request: Message) -> None:
    shown_in(reply).pop("statusMessage", None)


# -- which task a message belongs to ---------------------------------------------------------------


@on_reply("tasks.result-related-meta", to=RESULT)
def a_result_without_its_task(reply: Message, request: Message) -> None:
    reply.get("result", {}).pop("_meta", None)


@on_reply("tasks.get-no-related-meta", to=GET)
def task_result_has_related_task(reply: Message, request: Message) -> None:
    if task := shown_in(reply):
        task["_meta"] = {RELATED: {"taskId": task["taskId"]}}


@on_reply("tasks.notify-no-related-meta")
def notification_has_related_task(reply: Message, request: Message) -> None:
    if reply.get("method") == "notifications/tasks/status":
        reply["params"]["_meta"] = {RELATED: {"taskId": reply["params"]["taskId"]}}


@on_request("tasks.ignore-related-meta")
def meta_decides_which_task(request: Message) -> list[Message] | None:
    params = request.get("params", {})
    related = params.get("_meta", {}).get(RELATED, {}).get("taskId")
    if request.get("method") == GET and related == NO_SUCH_TASK:
        return refuse(request, -32602, "no such task")
    return None


@on_reply("tasks.related-meta-on-requests")
def a_request_without_its_task(reply: Message, request: Message) -> None:
    if reply.get("method") == "elicitation/create":
        reply["params"].pop("_meta", None)


@on_reply("tasks.input-required-state", to=GET)
def waiting_task_has_status_working(reply: Message, request: Message) -> None:
    task = shown_in(reply)
    if task.get("status") == "input_required":
        task["status"] = "working"


@on_reply("tasks.leave-input-required", to=GET)
def answered_task_stays_input_required(reply: Message, request: Message) -> None:
    task = shown_in(reply)
    if task.get("status") == "input_required":
        is_first_time("tasks.leave-input-required", task["taskId"])
    elif task.get("taskId") in _met.get("tasks.leave-input-required", ()):
        task["status"] = "input_required"


# -- refusals, cancellation ------------------------------------------------------------------------


@on_reply("tasks.unknown-id-32602", to=GET)
def an_unknown_task_gets_an_internal_error(reply: Message, request: Message) -> None:
    if "error" in reply:
        reply["error"]["code"] = -32603


@on_response("tasks.get-no-sse")
def tasks_get_is_a_stream(response: HttpResponse, request: HttpRequest) -> None:
    if request.message.get("method") == GET and not response.is_stream:
        response.headers["content-type"] = "text/event-stream"
        response.body = b"event: message\ndata: " + response.body + b"\n\n"


@on_reply("tasks.cancel-terminal-32602", to=CANCEL)
def ended_tasks_can_be_cancelled(reply: Message, request: Message) -> list[Message] | None:
    task = {
        "taskId": task_id(request),
        "status": "completed",
        "createdAt": "2025-11-25T10:30:00Z",
        "lastUpdatedAt": "2025-11-25T10:30:00Z",
        "ttl": None,
    }
    return answer(request, task) if "error" in reply else None


@on_reply("tasks.cancel-status", to=CANCEL)
def a_cancelled_task_stays_working(reply: Message, request: Message) -> None:
    if task := shown_in(reply):
        task["status"] = "working"


# -- lists -----------------------------------------------------------------------------------------

_LISTS = (
    "tasks.bad-cursor-32602",
    "tasks.list-next-cursor",
    "tasks.list-complete",
    "tasks.list-not-anonymous",
)


@on_reply(*_LISTS, to="initialize")
def lists_are_declared(reply: Message, request: Message) -> None:
    reply["result"]["capabilities"]["tasks"]["list"] = {}


@on_request("tasks.bad-cursor-32602", "tasks.list-complete")
def nothing_is_listed(request: Message) -> list[Message] | None:
    return answer(request, {"tasks": []}) if request.get("method") == "tasks/list" else None


@on_request("tasks.list-next-cursor")
def pages_without_end(request: Message) -> list[Message] | None:
    if request.get("method") != "tasks/list":
        return None
    return answer(request, {"tasks": [], "nextCursor": "the same again"})


@on_reply("tasks.list-not-anonymous", to=CALL)
def tasks_are_remembered(reply: Message, request: Message) -> None:
    if task := shown_in(reply):
        is_first_time("tasks.list-not-anonymous", task["taskId"])


@on_request("tasks.list-not-anonymous")
def all_clients_see_all_tasks(request: Message) -> list[Message] | None:
    if request.get("method") != "tasks/list":
        return None
    task = {
        "status": "completed",
        "createdAt": "2025-11-25T10:30:00Z",
        "lastUpdatedAt": "2025-11-25T10:30:00Z",
        "ttl": None,
    }
    ids = sorted(_met.get("tasks.list-not-anonymous", ()))
    return answer(request, {"tasks": [{**task, "taskId": id} for id in ids]})

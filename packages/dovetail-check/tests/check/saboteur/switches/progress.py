from __future__ import annotations

from typing import Any

from tests.check.saboteur.switch import Message, on_reply, on_request, tuned

PROGRESS = "notifications/progress"


def _with(member: str, value: Any) -> Any:
    def put(reply: Message, request: Message) -> None:
        if reply.get("method") == PROGRESS:
            reply["params"][member] = value

    return put


on_reply("progress.token-known")(_with("progressToken", "never given"))
on_reply("progress.increasing")(_with("progress", 1))
on_reply("progress.message")(_with("message", ""))
tuned("progress.stop", "progress.rate-limit", transport="stdio")


@on_reply("progress.token-type", to="tools/call")
def numbers_become_strings(reply: Message, request: Message) -> None:
    if reply.get("method") == PROGRESS:
        reply["params"]["progressToken"] = str(reply["params"]["progressToken"])


def tell(request: Message, progress: int) -> Message:
    token = request["params"]["_meta"]["progressToken"]
    params = {"progressToken": token, "progress": progress}
    return {"jsonrpc": "2.0", "method": PROGRESS, "params": params}


def has_token(request: Message) -> bool:
    return "progressToken" in request.get("params", {}).get("_meta", {})


@on_reply("progress.stop", to="tools/call")
def progress_after_the_response(reply: Message, request: Message) -> list[Message] | None:
    return [reply, tell(request, 100)] if "result" in reply and has_token(request) else None


@on_reply("progress.rate-limit", to="tools/call")
def flood(reply: Message, request: Message) -> list[Message] | None:
    if "result" not in reply or not has_token(request):
        return None
    return [*(tell(request, 100 + step) for step in range(150)), reply]


# -- tasks -----------------------------------------------------------------------------------------

TASKS = ("progress.task-same-token", "progress.task-stop")
TOKEN = "dovetail-check-task"
tuned(*TASKS, transport="stdio")


@on_reply(*TASKS, to="initialize")
def tasks_are_declared(reply: Message, request: Message) -> None:
    reply["result"]["capabilities"]["tasks"] = {"requests": {"tools": {"call": {}}}}


@on_reply(*TASKS, to="tools/list")
def every_tool_may_be_a_task(reply: Message, request: Message) -> None:
    for tool in reply["result"]["tools"]:
        tool["execution"] = {"taskSupport": "optional"}


def task(status: str) -> Message:
    times = {"createdAt": "2025-01-01T00:00:00Z", "lastUpdatedAt": "2025-01-01T00:00:00Z"}
    return {"taskId": "t", "status": status, "ttl": None, **times}


def tell_of_task(token: str) -> Message:
    related = {"io.modelcontextprotocol/related-task": {"taskId": "t"}}
    params = {"progressToken": token, "progress": 1, "_meta": related}
    return {"jsonrpc": "2.0", "method": PROGRESS, "params": params}


def serve_tasks(token: str) -> Any:
    def answer(request: Message) -> list[Message] | None:
        reply = {"jsonrpc": "2.0", "id": request.get("id")}
        if request.get("method") == "tools/call" and "task" in request["params"]:
            return [{**reply, "result": {"task": task("working")}}]
        if request.get("method") == "tasks/get":
            return [{**reply, "result": task("completed")}, tell_of_task(token)]
        return None

    return answer


on_request("progress.task-same-token")(serve_tasks("another token"))
on_request("progress.task-stop")(serve_tasks(TOKEN))

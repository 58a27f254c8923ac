from __future__ import annotations

import os
import time
from typing import Any

from dovetail_check.probes.tool_calls import SLOW
from tests.check.saboteur.switch import Message, on_reply, on_request, tuned

tuned("cancel.own-direction", "cancel.task-uses-tasks-cancel", probes=("ping",), transport="stdio")
tuned("cancel.server-only-listen", probes=("ids",), transport="stdio")
tuned("cancel.race", transport="stdio")


def cancel(id: Any) -> Message:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}


@on_reply("cancel.own-direction", to="ping")
@on_reply("cancel.server-only-listen", to="server/discover")
def cancel_a_request_of_the_client(reply: Message, request: Message) -> list[Message]:
    return [cancel(request["id"]), reply]


@on_reply("cancel.task-uses-tasks-cancel", to="ping")
def cancel_a_task(reply: Message, request: Message) -> list[Message]:
    asked = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}, "task": {}}
    task = {"jsonrpc": "2.0", "id": "task", "method": "elicitation/create", "params": asked}
    return [task, cancel("task"), reply]


@on_request("cancel.race")
def exit_after_a_late_cancellation(request: Message) -> None:
    if request.get("method") == "notifications/cancelled" and "reason" in request["params"]:
        os._exit(3)


@on_request("cancel.invalid-ignored")
def cancellation_gets_an_error(request: Message) -> list[Message] | None:
    if request.get("method") != "notifications/cancelled":
        return None
    return [{"jsonrpc": "2.0", "error": {"code": -32602, "message": "No such request."}}]


tuned("cancel.no-response", transport="stdio")
_called: list[str] = []
# The ids of calls that are not answered yet.
_held: list[Any] = []


@on_request("cancel.no-response")
def a_cancelled_call_is_answered_after_a_later_request(request: Message) -> list[Message] | None:
    method = request.get("method")
    if method == "tools/call":
        name = request["params"]["name"]
        if name in _called:
            _held.append(request["id"])
            return []
        _called.append(name)
        if name == "count":
            time.sleep(1.5 * SLOW)
    if method in ("ping", "server/discover") and _held:
        result = {"content": [], "resultType": "complete"}
        later = {"jsonrpc": "2.0", "id": request["id"], "result": {}}
        return [later, {"jsonrpc": "2.0", "id": _held.pop(), "result": result}]
    return None

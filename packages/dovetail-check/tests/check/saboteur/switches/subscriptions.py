from __future__ import annotations

import json

from tests.check.saboteur.messages import answer, refuse
from tests.check.saboteur.switch import (
    HttpRequest,
    HttpResponse,
    Message,
    on_http,
    on_reply,
    on_request,
)

LISTEN = "subscriptions/listen"
ID = "io.modelcontextprotocol/subscriptionId"


def changed(request: Message) -> Message:
    params = {"_meta": {ID: request["id"]}}
    method = "notifications/tools/list_changed"
    return {"jsonrpc": "2.0", "method": method, "params": params}


@on_reply("subs.ack-first", "subs.nothing-before-ack", to=LISTEN)
def a_change_comes_first(reply: Message, request: Message) -> list[Message]:
    return [changed(request), reply]


@on_reply("subs.ack-subset", to=LISTEN)
def more_is_acknowledged(reply: Message, request: Message) -> None:
    if "notifications" in reply.get("params", {}):
        reply["params"]["notifications"]["toolsListChanged"] = True


@on_reply("subs.id-on-all", to=LISTEN)
def the_id_is_a_text(reply: Message, request: Message) -> None:
    reply["params"]["_meta"][ID] = str(reply["params"]["_meta"][ID])


@on_reply("subs.only-requested", to=LISTEN)
def unrequested_notifications_are_sent(reply: Message, request: Message) -> list[Message]:
    return [reply, changed(request)]


@on_request("subs.concurrent")
def second_subscription_is_rejected(request: Message) -> list[Message] | None:
    is_second = request.get("method") == LISTEN and isinstance(request["id"], str)
    return refuse(request, -32603) if is_second else None


@on_http("subs.graceful-result")
def a_stream_ends_without_result(request: HttpRequest) -> HttpResponse | None:
    if request.message.get("method") != LISTEN:
        return None
    acknowledged = changed(request.message)
    acknowledged["method"] = "notifications/subscriptions/acknowledged"
    acknowledged["params"]["notifications"] = {}
    body = b"data: " + json.dumps(acknowledged).encode() + b"\n\n"
    return HttpResponse(200, {"content-type": "text/event-stream"}, body)


@on_request("subs.removed-subscribe")
def legacy_subscribe_still_works(request: Message) -> list[Message] | None:
    return answer(request, {}) if request.get("method") == "resources/subscribe" else None

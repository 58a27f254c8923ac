from __future__ import annotations

import os

from tests.check.saboteur.switch import (
    HttpRequest,
    HttpResponse,
    Message,
    on_http,
    on_reply,
    tuned,
)

tuned("batch.removed", transport="stdio", revision="2025-11-25")


@on_http("batch.receive")
def no_arrays(request: HttpRequest) -> HttpResponse | None:
    return HttpResponse(400) if request.body.startswith(b"[") else None


@on_reply("batch.http.all-answered")
def only_the_first_answer(reply: Message, request: Message) -> None:
    if isinstance(reply, list):
        del reply[1:]


@on_http("batch.http.notifications-202")
def a_body_for_notifications_in_a_batch(request: HttpRequest) -> HttpResponse | None:
    if request.body.startswith(b"[") and b'"id"' not in request.body:
        return HttpResponse(200, {"content-type": "application/json"}, b"[]")
    return None


@on_reply("batch.removed")
def exit_after_an_array(reply: Message, request: Message) -> None:
    # The error for an array has no matching request.
    if not request and "error" in reply:
        os._exit(3)

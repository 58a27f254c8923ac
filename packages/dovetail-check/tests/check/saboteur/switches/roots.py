from __future__ import annotations

from tests.check.saboteur.asking import answers_in, asks, declared_by
from tests.check.saboteur.messages import refuse
from tests.check.saboteur.switch import Message, on_reply, on_request


@on_reply("roots.capability", "roots.deprecated", to="tools/call")
def undeclared_roots_are_requested(reply: Message, request: Message) -> list[Message] | None:
    return None if declared_by(request) else asks(request, folders={"method": "roots/list"})


@on_request("roots.unavailable")
def missing_folders_get_an_internal_error(request: Message) -> list[Message] | None:
    return refuse(request, -32603) if "file:///" in answers_in(request) else None


@on_request("roots.changes")
def roots_changed_gets_an_error(request: Message) -> list[Message] | None:
    is_change = request.get("method") == "notifications/roots/list_changed"
    return refuse(request, -32601) if is_change else None

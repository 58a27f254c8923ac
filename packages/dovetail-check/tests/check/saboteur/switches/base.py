from __future__ import annotations

from typing import Any

from tests.check.saboteur.switch import Message, on_reply, on_request, tuned

# The first id of the `ids` probe, which no opening request uses.
ONE = 9_000_001


def refuse(request: Message, code: int = -32603) -> list[Message]:
    error = {"code": code, "message": "No."}
    return [{"jsonrpc": "2.0", "id": request.get("id"), "error": error}]


@on_request("base.core-components")
def silence_after_the_opening(request: Message) -> list[Message] | None:
    id = request.get("id")
    is_of_the_probe = isinstance(id, str) or (isinstance(id, int) and abs(id) >= ONE)
    return [] if is_of_the_probe else None


tuned("base.jsonrpc.valid", probes=("ids",))
tuned("base.response.result-or-error", probes=("ids",))
tuned("base.result.is-object", probes=("ids",))


@on_reply("base.jsonrpc.valid", to="server/discover")
def no_version(reply: Message, request: Message) -> None:
    del reply["jsonrpc"]


@on_reply("base.response.id-echo", to="server/discover")
def number_becomes_string(reply: Message, request: Message) -> None:
    reply["id"] = str(reply["id"])


@on_reply("base.response.result-or-error", to="server/discover")
def both(reply: Message, request: Message) -> None:
    if request["id"] == ONE:
        reply["error"] = {"code": 1, "message": "And an error."}


@on_reply("base.result.is-object", to="server/discover")
def result_is_a_list(reply: Message, request: Message) -> None:
    if request["id"] == ONE:
        reply["result"] = []


# -- server requests and notifications; over stdio they can be sent beside the response ------------

for row in ("id-present", "id-not-null", "id-unique"):
    tuned(f"base.request.{row}", probes=("ping",), transport="stdio")
tuned("base.notification.no-id", probes=("ids",), transport="stdio")


def ask(id: Any, method: str = "ping") -> Message:
    return {"jsonrpc": "2.0", "id": id, "method": method}


@on_reply("base.request.id-present", to="ping")
def a_fraction_for_an_id(reply: Message, request: Message) -> list[Message]:
    return [ask(1.5), reply]


@on_reply("base.request.id-not-null", to="ping")
def null_for_an_id(reply: Message, request: Message) -> list[Message]:
    return [ask(None), reply]


@on_reply("base.request.id-unique", to="ping")
def an_id_twice(reply: Message, request: Message) -> list[Message]:
    return [ask("again"), ask("again"), reply]


@on_reply("base.notification.no-id", to="server/discover")
def a_notification_with_an_id(reply: Message, request: Message) -> list[Message]:
    return [ask("told", "notifications/tools/list_changed"), reply]


@on_request("base.notification.no-reply")
def answer_a_notification(request: Message) -> list[Message] | None:
    if request.get("method") != "notifications/dovetail-check-unknown":
        return None
    return [{"jsonrpc": "2.0", "error": {"code": -32601, "message": "Unknown."}}]


tuned("base.error.id-omitted-if-unreadable", probes=("errors",))


@on_reply("base.error.id-omitted-if-unreadable", to="dovetail-check/unknown")
def no_id_although_it_was_read(reply: Message, request: Message) -> None:
    del reply["id"]


# -- _meta -----------------------------------------------------------------------------------------

KEYS = {
    "base.meta.key-prefix-grammar": ("1bad..prefix/x", 1),
    "base.meta.key-name-grammar": ("_bad", 1),
    "base.meta.reserved-prefix": ("com.mcp.tools/x", 1),
    "base.meta.reverse-dns": ("example.com/x", 1),
    "base.meta.trace-context": ("traceparent", "no trace"),
}


def _with_key(key: str, value: Any) -> Any:
    def put(reply: Message, request: Message) -> None:
        reply["result"].setdefault("_meta", {})[key] = value

    return put


for row, (key, value) in KEYS.items():
    on_reply(row, to="server/discover")(_with_key(key, value))
    tuned(row, probes=("ids",))


@on_request("base.meta.no-assumptions")
def unknown_keys_are_rejected(request: Message) -> list[Message] | None:
    meta = request.get("params", {}).get("_meta", {})
    return refuse(request) if "com.example.dovetail-check/note" in meta else None


# -- schemas and icons -----------------------------------------------------------------------------


@on_reply("base.jsonschema.2020-12-default", "base.jsonschema.valid", to="tools/list")
def no_such_type(reply: Message, request: Message) -> None:
    for tool in reply["result"]["tools"]:
        tool["inputSchema"]["properties"] = {"a": {"type": "nonsense"}}


@on_reply("base.jsonschema.recommended-2020-12", to="tools/list")
def an_older_dialect(reply: Message, request: Message) -> None:
    for tool in reply["result"]["tools"]:
        tool["inputSchema"]["$schema"] = "http://json-schema.org/draft-07/schema#"


@on_reply("base.icons.src", to="tools/list")
def an_icon_with_javascript(reply: Message, request: Message) -> None:
    for tool in reply["result"]["tools"]:
        tool["icons"] = [{"src": "javascript:alert(1)"}]

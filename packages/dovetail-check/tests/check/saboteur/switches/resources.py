from __future__ import annotations

from tests.check.saboteur.messages import answer, first, refuse, result_of
from tests.check.saboteur.switch import Message, on_reply, on_request, tuned

CONTENTS = [{"uri": "note://sabotage", "text": "something"}]


def is_read_of(request: Message, *parts: str) -> bool:
    uri = str(request.get("params", {}).get("uri"))
    return request.get("method") == "resources/read" and any(part in uri for part in parts)


@on_reply("resources.schema.shape", to="resources/list")
def a_resource_has_no_name(reply: Message, request: Message) -> None:
    first(reply, "resources").pop("name", None)


@on_reply("resources.template.shape", to="resources/templates/list")
def a_template_has_an_unclosed_brace(reply: Message, request: Message) -> None:
    first(reply, "resourceTemplates")["uriTemplate"] = "note://{id"


@on_reply("resources.uri.rfc3986", to="resources/list")
def a_uri_has_a_space(reply: Message, request: Message) -> None:
    first(reply, "resources")["uri"] = "note://first note"


@on_reply("resources.uri.https-fetchable", "resources.uri.prefer-other", to="resources/list")
def a_resource_has_an_https_uri(reply: Message, request: Message) -> None:
    first(reply, "resources")["uri"] = "https://example.com/note"


@on_reply("resources.annotations", to="resources/list")
def a_priority_is_beyond_one(reply: Message, request: Message) -> None:
    first(reply, "resources")["annotations"] = {"priority": 7}


@on_reply("resources.read.contents", to="resources/read")
def contents_have_neither_text_nor_blob(reply: Message, request: Message) -> None:
    first(reply, "contents").pop("text", None)


@on_reply("resources.read.blob-base64", to="resources/read")
def a_blob_is_not_base64(reply: Message, request: Message) -> None:
    if "blob" in first(reply, "contents"):
        first(reply, "contents")["blob"] = "<binary>"


@on_reply("resources.read.mime-consistent", to="resources/read")
def contents_have_another_type_than_listed(reply: Message, request: Message) -> None:
    first(reply, "contents")["mimeType"] = "application/x-sabotage"


@on_request("resources.notfound.32002", "resources.notfound.32602")
def missing_resources_are_an_internal_error(request: Message) -> list[Message] | None:
    return refuse(request, -32603) if is_read_of(request, "no/such/resource") else None


@on_request("resources.notfound.no-empty")
def missing_resources_are_empty(request: Message) -> list[Message] | None:
    return answer(request, {"contents": []}) if is_read_of(request, "no/such/resource") else None


@on_request("resources.security.validate-uri")
def every_uri_can_be_read(request: Message) -> list[Message] | None:
    if is_read_of(request, "dovetail check"):
        return answer(request, {"contents": CONTENTS})
    return None


@on_request("resources.security.traversal")
def path_traversal_works(request: Message) -> list[Message] | None:
    if is_read_of(request, "../", "%2e%2e"):
        return answer(request, {"contents": CONTENTS})
    return None


@on_request("resources.subscribe")
def nobody_can_subscribe(request: Message) -> list[Message] | None:
    return refuse(request, -32601) if request.get("method") == "resources/subscribe" else None


@on_reply("resources.subscribe-undeclared", to="initialize")
def subscriptions_are_not_declared(reply: Message, request: Message) -> None:
    result_of(reply).get("capabilities", {}).get("resources", {}).pop("subscribe", None)


# Only over stdio can the server send a message after the response on the same connection.
tuned("resources.updated-only-subscribed", transport="stdio", revision="2025-11-25")


@on_reply("resources.updated-only-subscribed", to="resources/subscribe")
def another_resource_is_updated(reply: Message, request: Message) -> list[Message]:
    told = {"method": "notifications/resources/updated", "params": {"uri": "note://other"}}
    return [reply, {"jsonrpc": "2.0", **told}]

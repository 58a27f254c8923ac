from __future__ import annotations

from typing import Any

from tests.check.saboteur.messages import answer, first, refuse, result_of
from tests.check.saboteur.switch import Message, on_reply, on_request

DONE: dict[str, Any] = {"content": [{"type": "text", "text": "done"}]}


def is_error(reply: Message) -> bool:
    return result_of(reply).get("isError") is True


@on_reply("tools.call.unknown", to="tools/call")
def an_unknown_tool_has_a_result(reply: Message, request: Message) -> list[Message] | None:
    if "no-such-tool" in str(request["params"].get("name")):
        return answer(request, {**DONE, "isError": True})
    return None


@on_reply("tools.call.malformed", to="tools/call")
def a_call_without_a_name_has_a_result(reply: Message, request: Message) -> list[Message] | None:
    return None if isinstance(request["params"].get("name"), str) else answer(request, DONE)


@on_reply("tools.call.input-error-is-result", to="tools/call")
def wrong_arguments_are_an_error(reply: Message, request: Message) -> list[Message] | None:
    return refuse(request, -32602) if is_error(reply) else None


@on_reply("tools.call.errors-in-result", to="tools/call")
def tools_fail_with_an_internal_error(reply: Message, request: Message) -> list[Message] | None:
    return refuse(request, -32603) if "result" in reply else None


@on_reply("tools.security.validate", to="tools/call")
def wrong_arguments_are_accepted(reply: Message, request: Message) -> list[Message] | None:
    return answer(request, DONE) if is_error(reply) else None


@on_request("tools.name.case")
def names_are_not_case_sensitive(request: Message) -> list[Message] | None:
    is_call = request.get("method") == "tools/call"
    if is_call and str(request["params"].get("name")).isupper():
        return answer(request, DONE)
    return None


@on_reply("tools.call.result-shape", to="tools/call")
def content_is_a_text(reply: Message, request: Message) -> None:
    result_of(reply)["content"] = "done"


@on_reply("tools.call.image-audio", to="tools/call")
def an_image_is_not_base64(reply: Message, request: Message) -> None:
    if first(reply, "content").get("type") == "image":
        first(reply, "content")["data"] = "<binary>"


@on_reply("tools.call.resource-link", to="tools/call")
def a_link_is_not_a_uri(reply: Message, request: Message) -> None:
    if first(reply, "content").get("type") == "resource_link":
        first(reply, "content")["uri"] = "first note"


@on_reply("tools.call.embedded", to="tools/call")
def an_embedded_resource_has_no_uri(reply: Message, request: Message) -> None:
    for block in result_of(reply).get("content", []):
        if block.get("type") == "resource":
            block["resource"]["uri"] = ""


@on_reply("tools.call.embedded-capability", to="server/discover")
def resources_are_not_declared(reply: Message, request: Message) -> None:
    result_of(reply).get("capabilities", {}).pop("resources", None)


@on_reply("tools.call.structured-object", to="tools/call")
def structured_content_is_an_array(reply: Message, request: Message) -> None:
    result_of(reply)["structuredContent"] = [1, 2]


@on_reply("tools.call.structured-text", to="tools/call")
def the_text_says_something_else(reply: Message, request: Message) -> None:
    if "structuredContent" in result_of(reply):
        result_of(reply)["content"] = [{"type": "text", "text": "see the structured content"}]


@on_reply("tools.call.output-conforms", to="tools/call")
def structured_content_breaks_its_schema(reply: Message, request: Message) -> None:
    if "structuredContent" in result_of(reply):
        result_of(reply)["structuredContent"] = {"total": "two"}


@on_reply("tools.call.output-present", to="tools/call")
def structured_content_is_missing(reply: Message, request: Message) -> None:
    result_of(reply).pop("structuredContent", None)

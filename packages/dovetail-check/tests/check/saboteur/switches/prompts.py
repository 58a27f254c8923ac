from __future__ import annotations

from typing import Any

from tests.check.saboteur.messages import answer, first, refuse, result_of
from tests.check.saboteur.switch import Message, on_reply

DONE: dict[str, Any] = {"messages": [{"role": "user", "content": {"type": "text", "text": "done"}}]}


def content(reply: Message, kind: str) -> dict[str, Any]:
    """The content of one type, or an empty dict if there is none."""
    for message in result_of(reply).get("messages", []):
        block: dict[str, Any] = message["content"]
        if block["type"] == kind:
            return block
    return {"resource": {}}


@on_reply("prompts.schema.shape", to="prompts/list")
def an_argument_has_no_name(reply: Message, request: Message) -> None:
    first(reply, "prompts")["arguments"] = [{"required": True}]


@on_reply("prompts.get.shape", to="prompts/get")
def a_role_is_unknown(reply: Message, request: Message) -> None:
    first(reply, "messages")["role"] = "system"


@on_reply("prompts.get.image", to="prompts/get")
def an_image_is_not_base64(reply: Message, request: Message) -> None:
    content(reply, "image")["data"] = "<binary>"


@on_reply("prompts.get.audio", to="prompts/get")
def audio_has_no_mime_type(reply: Message, request: Message) -> None:
    content(reply, "audio")["mimeType"] = "sound"


@on_reply("prompts.get.embedded-uri", to="prompts/get")
def an_embedded_resource_has_a_strange_uri(reply: Message, request: Message) -> None:
    content(reply, "resource")["resource"]["uri"] = "first note"


@on_reply("prompts.get.embedded-mime", to="prompts/get")
def an_embedded_resource_has_no_mime_type(reply: Message, request: Message) -> None:
    content(reply, "resource")["resource"].pop("mimeType", None)


@on_reply("prompts.get.embedded-content", to="prompts/get")
def an_embedded_resource_is_empty(reply: Message, request: Message) -> None:
    content(reply, "resource")["resource"].pop("text", None)


@on_reply("prompts.get.unknown-32602", "prompts.get.missing-args-32602", to="prompts/get")
def rejections_have_another_code(reply: Message, request: Message) -> list[Message] | None:
    return refuse(request, -32000) if "error" in reply else None


@on_reply("prompts.validate-args", to="prompts/get")
def every_argument_is_accepted(reply: Message, request: Message) -> list[Message] | None:
    return answer(request, DONE) if "error" in reply else None

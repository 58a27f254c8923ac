from __future__ import annotations

from typing import Any

from tests.check.saboteur.messages import answer, refuse, result_of
from tests.check.saboteur.switch import Message, on_reply, on_request, tuned

LOG = "notifications/message"


def message(level: str, data: Any = "sabotage", **more: Any) -> Message:
    return {"jsonrpc": "2.0", "method": LOG, "params": {"level": level, "data": data, **more}}


@on_reply("logging.capability", to="server/discover")
def logging_is_not_declared(reply: Message, request: Message) -> None:
    result_of(reply).get("capabilities", {}).pop("logging", None)


# Over HTTP a plain JSON response has no stream for log messages.
tuned(
    "logging.capability",
    "logging2.opt-in",
    "logging2.level",
    "logging.min-level",
    "logging.rate-limit",
    transport="stdio",
    probes=("tool-calls", "set-levels"),
)


@on_reply("logging.capability", "logging2.opt-in", "logging.min-level", to="tools/call")
def tools_log_without_declaration(reply: Message, request: Message) -> list[Message] | None:
    return [message("debug"), reply] if "result" in reply else None


@on_reply("logging.rate-limit", to="tools/call")
def tools_log_without_end(reply: Message, request: Message) -> list[Message] | None:
    return [*([message("error")] * 150), reply] if "result" in reply else None


@on_reply("logging.shape", to="tools/call")
def a_message_has_no_data(reply: Message, request: Message) -> None:
    if reply.get("method") == LOG:
        del reply["params"]["data"]


@on_reply("logging2.level", to="tools/call")
def a_message_is_below_the_level(reply: Message, request: Message) -> list[Message] | None:
    level = request["params"]["_meta"].get("io.modelcontextprotocol/logLevel")
    return [message("debug"), reply] if "result" in reply and level == "error" else None


@on_reply("logging.setlevel", to="logging/setLevel")
def setting_a_level_has_a_result(reply: Message, request: Message) -> None:
    if "result" in reply:
        reply["result"] = {"level": "set"}


@on_reply("logging.invalid-level-32602", to="logging/setLevel")
def every_level_is_accepted(reply: Message, request: Message) -> list[Message] | None:
    return answer(request, {}) if "error" in reply else None


@on_request("logging2.invalid-level-32602")
def an_unknown_level_has_another_code(request: Message) -> list[Message] | None:
    return refuse(request, -32600) if "check-loud" in str(request.get("params")) else None


@on_reply("logging2.scoped", to="subscriptions/listen")
def messages_come_on_the_stream_of_changes(
    reply: Message, request: Message
) -> list[Message] | None:
    return [reply, message("error")] if "method" in reply else None


@on_reply("logging2.setlevel-removed", to="logging/setLevel")
def set_level_still_works(reply: Message, request: Message) -> list[Message]:
    return answer(request, {})


@on_reply("logging2.deprecated", to="server/discover")
def logging_is_declared(reply: Message, request: Message) -> None:
    result_of(reply).get("capabilities", {})["logging"] = {}

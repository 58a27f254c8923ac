from __future__ import annotations

from typing import Any

from tests.check.saboteur.switch import Message, on_reply, tuned

for row in ("shape", "code-integer", "message-concise"):
    tuned(f"base.error.{row}", probes=("errors",))


@on_reply("base.error.shape", to="dovetail-check/unknown")
def no_message(reply: Message, request: Message) -> None:
    del reply["error"]["message"]


@on_reply("base.error.code-integer", to="dovetail-check/unknown")
def a_string_as_code(reply: Message, request: Message) -> None:
    reply["error"]["code"] = "METHOD_NOT_FOUND"


@on_reply("base.error.message-concise", to="dovetail-check/unknown")
def a_stack_trace(reply: Message, request: Message) -> None:
    reply["error"]["message"] = "Traceback (most recent call last):\n  File ...\nKeyError: 1"


@on_reply("base.error.invalid-params", to="prompts/get")
@on_reply("base.error.method-not-found", to="dovetail-check/unknown")
def internal_error(reply: Message, request: Message) -> None:
    reply["error"]["code"] = -32603


def _replaced(old: int, new: int) -> Any:
    # The answer to a batch is a list.
    def put(reply: Any, request: Message) -> None:
        if isinstance(reply, dict) and reply.get("error", {}).get("code") == old:
            reply["error"]["code"] = new

    return put


on_reply("base.error.parse-error")(_replaced(-32700, -32600))
on_reply("base.error.invalid-request")(_replaced(-32600, -32603))

CODES = {
    "no-new-legacy": -32001,
    "avoid-legacy": -32001,
    "reserved-undefined": -32050,
    "no-32002": -32002,
    "no-32042": -32042,
    "own-codes-outside": -32500,
    "reserved-meaning": -32022,
}
for row, code in CODES.items():
    on_reply(f"base.errcode.{row}", to="dovetail-check/unknown")(_replaced(-32601, code))

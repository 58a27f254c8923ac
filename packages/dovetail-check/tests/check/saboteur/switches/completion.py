from __future__ import annotations

from typing import Any

from tests.check.saboteur.messages import answer, refuse, result_of
from tests.check.saboteur.switch import Message, on_reply

SOME: dict[str, Any] = {"completion": {"values": ["something"]}}


@on_reply("completion.capability", "completion.unsupported-32601", to="server/discover")
def completions_are_not_declared(reply: Message, request: Message) -> None:
    result_of(reply).get("capabilities", {}).pop("completions", None)


@on_reply("completion.shape", to="completion/complete")
def values_are_numbers(reply: Message, request: Message) -> None:
    result_of(reply)["completion"] = {"values": [1, 2]}


@on_reply("completion.max-100", to="completion/complete")
def there_are_too_many_values(reply: Message, request: Message) -> None:
    result_of(reply)["completion"] = {"values": [str(n) for n in range(101)]}


@on_reply(
    "completion.unknown-prompt-32602", "completion.missing-args-32602", to="completion/complete"
)
def rejections_have_another_code(reply: Message, request: Message) -> list[Message] | None:
    return refuse(request, -32603) if "error" in reply else None


@on_reply("completion.validate", to="completion/complete")
def anything_is_completed(reply: Message, request: Message) -> list[Message] | None:
    return answer(request, SOME) if "error" in reply else None

from __future__ import annotations

import os
from typing import Any

from tests.check.saboteur.switch import Message, on_reply, on_request, tuned
from tests.check.saboteur.switches.base import ask

tuned("lifecycle.init.first", transport="stdio")
tuned("lifecycle.init.no-early-requests", transport="stdio")
tuned("lifecycle.operation.capabilities", probes=("ping",), transport="stdio")
tuned("lifecycle.errors.prepared", transport="stdio", revision="all")
for row in ("echo", "counter-offer", "latest"):
    tuned(f"lifecycle.version.{row}", revision="all")


_seen: list[Any] = []


@on_request("lifecycle.init.first")
def exit_before_initialize(request: Message) -> None:
    _seen.append(request.get("method"))
    if _seen[0] == "tools/list":
        os._exit(3)


@on_reply("lifecycle.init.result", to="initialize")
def no_capabilities(reply: Message, request: Message) -> None:
    del reply["result"]["capabilities"]


@on_reply("lifecycle.init.serverinfo-fields", to="initialize")
def no_version(reply: Message, request: Message) -> None:
    del reply["result"]["serverInfo"]["version"]


@on_reply("lifecycle.init.no-early-requests", to="initialize")
def ask_at_once(reply: Message, request: Message) -> list[Message]:
    return [reply, ask("early", "roots/list")]


def offer_of(request: Message) -> str:
    return str(request["params"]["protocolVersion"])


@on_reply("lifecycle.version.echo", to="initialize")
def reject_a_supported_version(reply: Message, request: Message) -> None:
    answers = {"2025-06-18": "2025-11-25", "1999-01-01": "2025-06-18"}
    if offer_of(request) in answers:
        reply["result"]["protocolVersion"] = answers[offer_of(request)]


@on_reply("lifecycle.version.counter-offer", to="initialize")
def accept_every_version(reply: Message, request: Message) -> None:
    reply["result"]["protocolVersion"] = offer_of(request)


@on_reply("lifecycle.version.latest", to="initialize")
def counter_with_the_oldest(reply: Message, request: Message) -> None:
    if offer_of(request) == "1999-01-01":
        reply["result"]["protocolVersion"] = "2024-11-05"


@on_request("lifecycle.errors.prepared")
def exit_after_an_unknown_version(request: Message) -> None:
    if request.get("method") == "initialize" and offer_of(request) == "2099-01-01":
        os._exit(3)


@on_reply("lifecycle.operation.version", to="tools/list")
def no_schema(reply: Message, request: Message) -> None:
    for tool in reply["result"]["tools"]:
        del tool["inputSchema"]


@on_reply("lifecycle.operation.capabilities", to="ping")
def ask_for_roots(reply: Message, request: Message) -> list[Message]:
    return [ask("roots", "roots/list"), reply]


@on_reply("lifecycle.capability.truthful", to="initialize")
def prompts_are_not_declared(reply: Message, request: Message) -> None:
    del reply["result"]["capabilities"]["prompts"]

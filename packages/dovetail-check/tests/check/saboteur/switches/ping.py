from __future__ import annotations

from tests.check.saboteur.switch import Message, on_reply, tuned
from tests.check.saboteur.switches.base import ask

tuned("ping.not-excessive", probes=("ping",), transport="stdio")


@on_reply("ping.empty-result", to="ping")
def members_in_the_result_of_ping(reply: Message, request: Message) -> None:
    reply["result"]["surprise"] = True


@on_reply("ping.removed", to="ping")
def ping_still_works(reply: Message, request: Message) -> list[Message]:
    return [{"jsonrpc": "2.0", "id": request["id"], "result": {"resultType": "complete"}}]


@on_reply("ping.not-excessive", to="ping")
def a_dozen_pings(reply: Message, request: Message) -> list[Message]:
    return [*(ask(f"ping {n}") for n in range(12)), reply]

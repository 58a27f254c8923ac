from __future__ import annotations

import json
import time

from dovetail_check.probes.stdio import CANCELLED_ID, NON_ASCII_ID
from tests.check.saboteur.switch import Message, on_reply, on_request, on_start, on_stop


@on_start("stdio.stdout-pure")
def a_banner() -> bytes:
    return b"The server is starting ...\n"


@on_reply("stdio.no-embedded-newline", to="tools/list")
def pretty_printing(reply: Message, request: Message) -> bytes:
    return json.dumps(reply, indent=2).encode()


@on_reply("stdio.utf8")
def another_encoding(reply: Message, request: Message) -> None:
    if reply.get("id") == NON_ASCII_ID:
        reply["id"] = NON_ASCII_ID.encode().decode("latin-1")


@on_reply("stdio.no-server-requests", to="tools/list")
def a_request_on_stdout(reply: Message, request: Message) -> list[Message]:
    return [{"jsonrpc": "2.0", "id": "q", "method": "roots/list"}, reply]


@on_request("stdio.cancel-silence")
def an_answer_after_the_cancellation(request: Message) -> list[Message] | None:
    if request.get("method") != "notifications/cancelled":
        return None
    return [{"jsonrpc": "2.0", "id": CANCELLED_ID, "result": {"resultType": "complete"}}]


@on_stop("lifecycle.shutdown.stdin-eof")
def keep_running_after_stdin_is_closed() -> bytes:
    time.sleep(60)
    return b""

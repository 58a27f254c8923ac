from __future__ import annotations

from itertools import cycle

from tests.check.saboteur.switch import Message, on_reply

LOG = "notifications/message"
_names = cycle(["db.main", "DB-Main"])


def say(reply: Message, data: str) -> None:
    if reply.get("method") == LOG:
        reply["params"]["data"] = data


@on_reply("logging.no-secrets", "logging.remove-sensitive", to="tools/call")
def a_password_is_logged(reply: Message, request: Message) -> None:
    say(reply, "connected with password=hunter22")


@on_reply("logging.no-pii", to="tools/call")
def an_address_is_logged(reply: Message, request: Message) -> None:
    say(reply, "mail to jane.doe@mail.invalid.org")


@on_reply("logging.no-internals", to="tools/call")
def a_stack_trace_is_logged(reply: Message, request: Message) -> None:
    say(reply, 'Traceback (most recent call last):\n  File "x.py", line 1')


@on_reply("logging.logger-name", to="tools/call")
def a_logger_has_two_names(reply: Message, request: Message) -> None:
    if reply.get("method") == LOG:
        reply["params"]["logger"] = next(_names)

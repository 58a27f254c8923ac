from __future__ import annotations

import json

from tests.check.saboteur.asking import (
    DONE,
    NAME_FORM,
    answers_in,
    asks,
    declared_by,
    is_call_of,
)
from tests.check.saboteur.messages import answer, refuse, result_of
from tests.check.saboteur.switch import Message, on_reply, on_request


def is_asking(reply: Message) -> bool:
    return result_of(reply).get("resultType") == "input_required"


@on_reply("mrtr.only-mrtr", to="tools/call")
def the_server_sends_a_request(reply: Message, request: Message) -> list[Message] | None:
    return [{"jsonrpc": "2.0", "id": 1, **NAME_FORM}] if is_asking(reply) else None


@on_reply("mrtr.other-methods", to="prompts/list")
def a_list_needs_input(reply: Message, request: Message) -> list[Message]:
    return asks(request, name=NAME_FORM)


@on_reply("mrtr.has-content", to="tools/call")
def input_required_without_content(reply: Message, request: Message) -> None:
    if is_asking(reply):
        result_of(reply).pop("inputRequests")
        result_of(reply).pop("requestState")


@on_reply("mrtr.keys-unique", to="tools/call")
def a_key_comes_twice(reply: Message, request: Message) -> bytes | None:
    if not is_asking(reply):
        return None
    text = json.dumps(reply)
    return text.replace('"inputRequests": {', '"inputRequests": {"name": {}, "name": {}, ').encode()


@on_reply("mrtr.request-types", to="tools/call")
def a_ping_is_required(reply: Message, request: Message) -> None:
    for one in result_of(reply).get("inputRequests", {}).values():
        one["method"] = "ping"


@on_reply("mrtr.respects-capabilities", "elicit.capability", to="tools/call")
def undeclared_input_is_requested(reply: Message, request: Message) -> list[Message] | None:
    return None if declared_by(request) else asks(request, name=NAME_FORM)


@on_request("mrtr.state-untrusted")
def long_states_get_no_response(request: Message) -> bytes | None:
    params = request.get("params")
    state = params.get("requestState", "") if isinstance(params, dict) else ""
    return b"" if len(state) > 100_000 else None


@on_reply("mrtr.state-integrity", to="tools/call")
def every_state_is_accepted(reply: Message, request: Message) -> list[Message] | None:
    is_refused = "error" in reply and "requestState" in request["params"]
    return answer(request, DONE) if is_refused else None


@on_reply("mrtr.state-request-bound", to="tools/call")
def state_of_another_tool_is_accepted(reply: Message, request: Message) -> list[Message] | None:
    given = answers_in(request)
    keys = json.loads(given) if given.startswith("{") else {}
    is_elsewhere = is_call_of(request, "consult") and {"name", "page"} <= keys.keys()
    return answer(request, DONE) if is_elsewhere else None


_abandoned: list[Message] = []


@on_reply("mrtr.no-assume-retry", to="tools/call")
def wait_for_a_retry(reply: Message, request: Message) -> None:
    if is_asking(reply):
        _abandoned.append(request)


@on_request("mrtr.no-assume-retry")
def nothing_is_answered_while_waiting(request: Message) -> bytes | None:
    return b"" if _abandoned and request.get("method") == "server/discover" else None


@on_reply("mrtr.validate-responses", to="tools/call")
def every_answer_is_accepted(reply: Message, request: Message) -> list[Message] | None:
    return answer(request, DONE) if "dovetail-check-misfit" in answers_in(request) else None


@on_reply("mrtr.protocol-errors", to="tools/call")
def malformed_answers_get_a_tool_error(reply: Message, request: Message) -> list[Message] | None:
    if "error" in reply and "dovetail-check-misfit" in answers_in(request):
        return answer(request, {**DONE, "isError": True})
    return None


@on_request("mrtr.ignore-extra")
def extra_answers_get_an_error(request: Message) -> list[Message] | None:
    return refuse(request, -32602) if "dovetail-check-extra" in answers_in(request) else None


@on_request("mrtr.missing-reasks")
def missing_answers_get_an_error(request: Message) -> list[Message] | None:
    return refuse(request, -32602) if answers_in(request) == "{}" else None

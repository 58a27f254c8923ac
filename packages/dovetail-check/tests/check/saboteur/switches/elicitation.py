from __future__ import annotations

import json
from typing import Any

from tests.check.saboteur.asking import DONE, answers_in, is_call_of, question, says
from tests.check.saboteur.messages import answer, refuse, result_of
from tests.check.saboteur.switch import Message, on_reply, on_request


@on_reply("elicit.params", to="tools/call")
def a_form_has_no_message(reply: Message, request: Message) -> None:
    question(reply, "name").pop("message", None)


@on_reply("elicit.form.schema", to="tools/call")
def a_form_is_nested(reply: Message, request: Message) -> None:
    schema = question(reply, "name").get("requestedSchema", {})
    schema["properties"] = {"name": {"type": "object", "properties": {}}}


@on_reply("elicit.form.mode", to="tools/call")
def a_form_has_an_unknown_mode(reply: Message, request: Message) -> None:
    question(reply, "name")["mode"] = "sheet"


@on_reply("elicit.form.no-sensitive", "elicit.sensitive-by-url", to="tools/call")
def a_form_asks_for_a_password(reply: Message, request: Message) -> None:
    schema = question(reply, "name").get("requestedSchema", {})
    schema["properties"] = {"userPassword": {"type": "string"}}


@on_reply("elicit.form.no-clickable", to="tools/call")
def a_form_has_a_link(reply: Message, request: Message) -> None:
    question(reply, "name")["message"] = "See https://example.org/names and say your name."


@on_reply("elicit.url.mode", to="tools/call")
def url_elicitation_without_message(reply: Message, request: Message) -> None:
    question(reply, "page").pop("message", None)


@on_reply("elicit.url.valid", to="tools/call")
def url_elicitation_with_invalid_url(reply: Message, request: Message) -> None:
    question(reply, "page")["url"] = "the usual page"


@on_reply("elicit.url.https", to="tools/call")
def url_elicitation_over_http(reply: Message, request: Message) -> None:
    question(reply, "page")["url"] = "http://example.org/page"


@on_reply("elicit.url.no-user-data", to="tools/call")
def url_elicitation_with_password(reply: Message, request: Message) -> None:
    question(reply, "page")["url"] = "https://example.org/page?access_token=abc"


@on_reply("elicit.complete.id", to="tools/call")
def completion_of_an_unknown_elicitation(reply: Message, request: Message) -> list[Message] | None:
    if reply.get("method") != "elicitation/create":
        return None
    told = {"method": "notifications/elicitation/complete", "params": {"elicitationId": "other"}}
    return [{"jsonrpc": "2.0", **told}, reply]


def required(reply: Message) -> dict[str, Any]:
    """The data of a URLElicitationRequired error, or a placeholder if there is none."""
    data: dict[str, Any] = reply.get("error", {}).get("data") or {}
    return data if "elicitations" in data else {"elicitations": [{}]}


@on_reply("elicit.required-error.only", "elicit.required-error.list", to="tools/call")
def nothing_is_required(reply: Message, request: Message) -> None:
    required(reply)["elicitations"] = []


@on_reply("elicit.required-error.url-mode", to="tools/call")
def url_elicitation_without_id(reply: Message, request: Message) -> None:
    required(reply)["elicitations"][0].pop("elicitationId", None)


@on_reply("elicit.oauth.no-credentials-to-client", to="tools/call")
def a_result_has_a_token(reply: Message, request: Message) -> list[Message] | None:
    return answer(request, says("ghp_" + "a" * 36)) if is_call_of(request, "add") else None


@on_request("elicit.handle-decline")
def decline_gets_an_internal_error(request: Message) -> list[Message] | None:
    return refuse(request, -32603) if '"decline"' in answers_in(request) else None


@on_reply("elicit.not-assume-success", to="tools/call")
def decline_is_treated_as_accept(reply: Message, request: Message) -> list[Message] | None:
    is_done = result_of(reply).get("resultType") == "complete"
    return answer(request, DONE) if is_done and is_call_of(request, "greet") else None


@on_request("elicit.validate-response", "sampling.validate")
def invalid_content_is_used(request: Message) -> list[Message] | None:
    given = answers_in(request)
    if "dovetail-check-misfit" not in given or not isinstance(json.loads(given), dict):
        return None
    return answer(request, says(given))

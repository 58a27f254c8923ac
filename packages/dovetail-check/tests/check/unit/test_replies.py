from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail_check.json_schemas import validation_errors
from dovetail_check.replies import MISFIT, REPLIES, answer_input, answer_request

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "sure": {"type": "boolean"},
        "colours": {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}},
    },
    "required": ["name", "age", "sure", "colours"],
}
ELICIT = "elicitation/create"
SAMPLE = "sampling/createMessage"


def respond(message: Any, variant: str = "accept") -> Any:
    return json.loads(answer_request(message, REPLIES[variant]) or b"null")


def test_a_form_is_filled_in_as_it_asks() -> None:
    answer = answer_input(ELICIT, {"requestedSchema": FORM})
    assert answer is not None
    assert answer["action"] == "accept"
    assert validation_errors(FORM, answer["content"]) == []


def test_a_form_that_nothing_fits_is_declined() -> None:
    impossible = {"type": "object", "properties": {"x": False}, "required": ["x"]}
    assert answer_input(ELICIT, {"requestedSchema": impossible}) == {"action": "decline"}


def test_a_page_is_accepted_without_content() -> None:
    assert answer_input(ELICIT, {"mode": "url"}) == {"action": "accept"}


def test_a_misfit_fits_no_field() -> None:
    answer = answer_input(ELICIT, {"requestedSchema": FORM}, REPLIES["misfit"])
    assert answer is not None
    assert len(validation_errors(FORM, answer["content"]) or []) > 0
    for name, value in answer["content"].items():
        assert validation_errors(FORM["properties"][name], value), name  # type: ignore[index]
        assert MISFIT in json.dumps(value)


def test_where_everything_fits_there_is_no_misfit() -> None:
    params = {"requestedSchema": {"type": "object", "properties": {}}}
    assert answer_input(ELICIT, params, REPLIES["misfit"]) == answer_input(ELICIT, params)


@pytest.mark.parametrize("variant", ["decline", "cancel"])
def test_only_elicitations_are_declined(variant: str) -> None:
    assert answer_input(ELICIT, {}, REPLIES[variant]) == {"action": variant}
    assert answer_input("roots/list", {}, REPLIES[variant]) == answer_input("roots/list", {})


def test_a_model_uses_the_first_of_its_tools() -> None:
    tools = [{"name": "add", "inputSchema": {"type": "object", "required": ["a"]}}]
    answer = answer_input(SAMPLE, {"tools": tools}, REPLIES["tool-use"])
    assert answer is not None
    assert answer["stopReason"] == "toolUse"
    assert answer["content"][0]["name"] == "add"
    assert "a" in answer["content"][0]["input"]


def test_a_model_without_tools_uses_none() -> None:
    answer = answer_input(SAMPLE, {}, REPLIES["tool-use"])
    assert answer is not None
    assert answer["stopReason"] == "endTurn"


def test_an_answer_has_the_id_of_its_request() -> None:
    assert respond({"id": "x", "method": "ping"}) == {"jsonrpc": "2.0", "id": "x", "result": {}}


def test_an_unknown_method_is_not_found() -> None:
    assert respond({"id": 1, "method": "no/such"})["error"]["code"] == -32601


def test_a_failing_client_answers_with_an_error_but_lives() -> None:
    assert respond({"id": 1, "method": ELICIT}, "fail")["error"]["code"] == -1
    assert respond({"id": 1, "method": "ping"}, "fail")["result"] == {}


@pytest.mark.parametrize("variant", REPLIES)
@pytest.mark.parametrize("method", [None, 5, [], {}, ELICIT, SAMPLE, "roots/list"])
@pytest.mark.parametrize("params", [None, [], "x", {"requestedSchema": []}, {"tools": [5]}])
def test_there_is_an_answer_to_everything(variant: str, method: Any, params: Any) -> None:
    assert respond({"id": 1, "method": method, "params": params}, variant)["id"] == 1

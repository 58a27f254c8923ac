"""The modern era: every result says its type and who made it, and how long it may be kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from dovetail.core.call import Ask
from dovetail.core.era import CacheHint
from dovetail.eras.modern.era import ModernEra
from dovetail.eras.modern.mrtr import InputRounds
from dovetail.eras.modern.sealing import Sealer
from dovetail.errors import InvalidParamsError, MissingCapabilityError
from dovetail.spec.keys import SERVER_INFO
from dovetail.spec.models import (
    CallToolResult,
    CompleteResult,
    Completion,
    Implementation,
    Prompt,
    TextContent,
)
from dovetail.spec.revisions import V2026_07_28
from tests.unit.fakes import drive, make_call

SERVER = Implementation(name="s", version="1", title='S "1"')
INFO = {"name": "s", "version": "1", "title": 'S "1"'}
ERA = ModernEra(V2026_07_28, SERVER, InputRounds(Sealer(), 60, SERVER))
STAMP = {"resultType": "complete", "_meta": {SERVER_INFO: INFO}}


def complete(result: Any, hint: CacheHint | None = None) -> Any:
    """The result; members that come twice would be noticed."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len(dict(pairs)) == len(pairs), pairs
        return dict(pairs)

    return json.loads(ERA.complete(result, hint), object_pairs_hook=unique)


@pytest.mark.parametrize(
    ("result", "members"),
    [
        ({}, {}),
        ({"tools": []}, {"tools": []}),
        (
            CallToolResult(content=[TextContent(text="a")]),
            {"content": [{"type": "text", "text": "a"}]},
        ),
        (
            CallToolResult(content=[], structured_content=Raw(b'{"a":1}'), is_error=True),
            {"content": [], "structuredContent": {"a": 1}, "isError": True},
        ),
        (
            CompleteResult(completion=Completion(values=["a"])),
            {"completion": {"values": ["a"]}},
        ),
    ],
)
def test_every_result_is_stamped(result: Any, members: dict[str, Any]) -> None:
    assert complete(result) == {**STAMP, **members}


@pytest.mark.parametrize("scope", ["public", "private"])
def test_a_cacheable_result_says_how_long_and_for_whom(scope: Any) -> None:
    assert complete({"tools": []}, CacheHint(60_000, scope)) == {
        **STAMP,
        "ttlMs": 60_000,
        "cacheScope": scope,
        "tools": [],
    }
    assert complete({}, CacheHint(0, scope)) == {**STAMP, "ttlMs": 0, "cacheScope": scope}


@pytest.mark.parametrize(
    ("own", "merged"),
    [
        ({"a": [1]}, {"a": [1], SERVER_INFO: INFO}),
        ({}, {SERVER_INFO: INFO}),
        ({SERVER_INFO: {"name": "forged"}}, {SERVER_INFO: INFO}),
    ],
    ids=["own", "empty", "reserved"],
)
@pytest.mark.parametrize("hint", [None, CacheHint(1)])
def test_a_results_own_meta_is_merged_and_cannot_pretend_to_be_another_server(
    own: dict[str, Any], merged: dict[str, Any], hint: CacheHint | None
) -> None:
    result = CallToolResult(content=[], meta=own)
    found = complete(result, hint)
    assert found["_meta"] == merged
    assert found["content"] == []
    assert result.meta == own


def test_a_stamp_of_one_result_leaves_the_next_alone() -> None:
    complete(CallToolResult(content=[], meta={"a": 1}), CacheHint(5))
    assert complete({}) == STAMP
    assert complete(Prompt(name="p")) == {**STAMP, "name": "p"}


def test_what_a_client_lacks_is_an_error_of_the_protocol() -> None:
    error = ERA.undeclared(make_call(era=ERA), {"elicitation": {"url": {}}})
    assert isinstance(error, MissingCapabilityError)
    assert error.code == -32021
    assert error.data == {"requiredCapabilities": {"elicitation": {"url": {}}}}


def test_an_answer_that_cannot_be_used_is_an_error_of_the_request_that_carries_it() -> None:
    error = ERA.bad_answer("no form")
    assert isinstance(error, InvalidParamsError)
    assert error.message == "no form"


def test_a_question_that_is_answered_already_returns_at_once() -> None:
    call = make_call(era=ERA)
    question = Ask("k", "elicitation/create", b"{}")
    call.record.keep_answer(question, Raw(b'{"action":"accept"}'))
    answer = drive(ERA.ask(call, question))
    assert bytes(answer) == b'{"action":"accept"}'

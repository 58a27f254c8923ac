"""Results of the upstream in the form of the caller's revision."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from dovetail import Server
from dovetail.core.call import Call
from dovetail.core.era import Era
from dovetail.errors import PeerError
from dovetail.spec.keys import SERVER_INFO
from dovetail.spec.revisions import LATEST_LEGACY, LEGACY, MODERN, Revision
from dovetail.wire import codec
from dovetail_gateway.results import find_next, fit_result, read_head, read_members
from tests.unit.fakes import make_call

OLDEST, LATEST = LEGACY[0], MODERN[-1]


def caller_at(revision: Revision) -> Call:
    eras = Server("p", version="1").engine.eras
    found = eras.reopen(revision.date, "tools/call", b'{"name":"t"}')
    assert found is not None
    era: Era = found[1]
    return make_call(era=era)


def fitted(method: str, result: Any, upstream: Revision, caller: Revision) -> Any:
    raw = Raw(codec.encode(result))
    return json.loads(fit_result(caller_at(caller), method, raw, upstream).body)


def test_bytes_of_the_same_era_pass_unchanged() -> None:
    for revision in (LATEST_LEGACY, LATEST):
        odd = Raw(b'{ "content":[ ],"unknown":1.50}')
        assert fit_result(caller_at(revision), "tools/call", odd, revision).body == bytes(odd)


def test_a_legacy_result_gets_the_envelope_of_a_modern_caller() -> None:
    plain = fitted("tools/call", {"content": []}, LATEST_LEGACY, LATEST)
    assert plain.pop("_meta")[SERVER_INFO]["name"] == "p"
    assert plain == {"resultType": "complete", "content": []}
    own = {"contents": [], "_meta": {"a": 1}, "resultType": "odd"}
    read = fitted("resources/read", own, LATEST_LEGACY, LATEST)
    assert read["_meta"]["a"] == 1
    assert SERVER_INFO in read["_meta"]
    assert (read["resultType"], read["ttlMs"], read["cacheScope"]) == ("complete", 0, "private")
    assert fitted("ping", {"_meta": {"a": 1}}, LATEST_LEGACY, LATEST)["_meta"]["a"] == 1
    assert fitted("ping", {}, LATEST_LEGACY, LATEST)["resultType"] == "complete"


def test_a_modern_result_loses_its_envelope_for_a_legacy_caller() -> None:
    given = {"resultType": "complete", "ttlMs": 1, "cacheScope": "public", "contents": []}
    assert fitted("resources/read", given, LATEST, LATEST_LEGACY) == {"contents": []}
    with_info = {**given, "_meta": {SERVER_INFO: {}}}
    assert fitted("resources/read", with_info, LATEST, LATEST_LEGACY) == {"contents": []}
    with_more = {**given, "_meta": {SERVER_INFO: {}, "a": 1}}
    assert fitted("resources/read", with_more, LATEST, LATEST_LEGACY)["_meta"] == {"a": 1}


def test_listings_lose_what_the_caller_does_not_know() -> None:
    tool = {"name": "t", "inputSchema": {}, "title": "T", "outputSchema": {"type": "integer"}}
    listed = {"tools": [{**tool, "execution": {}}]}
    [old] = fitted("tools/list", listed, LATEST_LEGACY, OLDEST)["tools"]
    assert old == {"name": "t", "inputSchema": {}}
    [wrapped] = fitted("tools/list", listed, LATEST, LATEST_LEGACY)["tools"]
    assert wrapped["outputSchema"]["properties"] == {"result": {"type": "integer"}}
    [modern] = fitted("tools/list", listed, LATEST_LEGACY, LATEST)["tools"]
    assert modern == tool
    assert "tools" not in fitted("tools/list", {"odd": 1}, LATEST, LATEST_LEGACY)


def test_results_are_replaced_by_what_the_caller_knows() -> None:
    audio = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
    embedded = {"type": "resource", "resource": {"uri": "a://b", "text": "t"}}
    called = {"content": [audio, embedded], "structuredContent": [1]}
    old = fitted("tools/call", called, LATEST, OLDEST)
    assert [block["type"] for block in old["content"]] == ["resource", "resource"]
    assert "structuredContent" not in old
    newer = fitted("tools/call", called, LATEST, LATEST_LEGACY)
    assert newer["structuredContent"] == {"result": [1]}
    assert newer["content"] == called["content"]
    prompt = {"messages": [{"role": "user", "content": audio}]}
    [message] = fitted("prompts/get", prompt, LATEST, OLDEST)["messages"]
    assert message["content"]["type"] == "resource"


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("tools/list", {"tools": 7}),
        ("tools/call", {"content": [{"type": "smell"}]}),
        ("prompts/get", {"messages": [{}]}),
        ("tools/call", [1]),
    ],
)
def test_a_result_that_is_none_is_reported(method: str, result: Any) -> None:
    with pytest.raises(PeerError, match=f"the result of {method} is invalid"):
        fitted(method, result, LATEST, OLDEST)


def test_the_head_of_a_result() -> None:
    assert read_head(Raw(b'{"content":[]}'), "tools/call").result_type == "complete"
    with pytest.raises(PeerError):
        read_head(Raw(b"[]"), "tools/call")
    with pytest.raises(PeerError):
        read_members(b"[]", "tools/call")


def test_the_cursor_of_the_next_page() -> None:
    assert find_next(Raw(b'{"tools":[],"nextCursor":"x"}')) == "x"
    assert find_next(Raw(b'{"tools":[]}')) is None
    assert find_next(Raw(b'{"nextCursor":7}')) is None

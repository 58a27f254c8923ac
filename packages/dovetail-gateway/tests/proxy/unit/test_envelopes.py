"""`_meta` and capabilities of forwarded requests."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace

from dovetail.core.call import Peer
from dovetail.errors import InvalidRequestError
from dovetail.spec.keys import CLIENT_CAPABILITIES, LOG_LEVEL, PROTOCOL_VERSION, TASKS
from dovetail.spec.revisions import LATEST_LEGACY, LEGACY, MODERN
from dovetail.wire import codec
from dovetail_gateway.envelopes import (
    HOPS,
    MAX_HOPS,
    count_hops,
    declared_by,
    fit_capabilities,
    make_meta,
    stamp_modern,
)
from tests.unit.fakes import make_call

OLDEST, LATEST = LEGACY[0], MODERN[-1]


def call_with(meta: dict[str, Any], peer: Peer | None = None) -> Any:
    params = codec.encode({"name": "t", "_meta": meta})
    return make_call(params=params, peer=peer or Peer(None, {}, None))


def test_trace_context_and_other_members_pass_and_the_own_do_not() -> None:
    given = {"traceparent": "00-1", "com.example/x": 1, "progressToken": 5, LOG_LEVEL: "info"}
    assert make_meta(call_with(given), 0) == {"traceparent": "00-1", "com.example/x": 1, HOPS: 1}


def test_the_current_span_continues_a_trace_but_does_not_replace_another() -> None:
    ours, theirs = "a".zfill(32), "b".zfill(32)
    current = trace.SpanContext(0xA, 0xC, is_remote=False)
    with trace.use_span(trace.NonRecordingSpan(current)):
        for trace_id, passed in ((ours, "c"), (theirs, "d")):
            received = {"traceparent": f"00-{trace_id}-{'d'.zfill(16)}-00"}
            expected = f"00-{trace_id}-{passed.zfill(16)}-00"
            assert make_meta(call_with(received), 0)["traceparent"] == expected


def test_hops_are_counted_and_limited() -> None:
    assert make_meta(call_with({HOPS: 3}), 3)[HOPS] == 4
    for hops in (MAX_HOPS, "many"):
        call = call_with({HOPS: hops})
        assert count_hops(call) == MAX_HOPS
        with pytest.raises(InvalidRequestError, match="forward to each other"):
            make_meta(call, count_hops(call))


def test_what_a_client_declares_is_brought_into_one_form() -> None:
    given = {"elicitation": {}, "sampling": {"tools": {}}, "roots": {"listChanged": True}, "x": {}}
    declared = declared_by(given)
    assert declared == {"elicitation": {"form": {}}, "sampling": {"tools": {}}, "roots": {}}
    assert fit_capabilities(declared, OLDEST) == {"sampling": {}, "roots": {}}
    assert fit_capabilities(declared, LEGACY[2])["elicitation"] == {}
    assert fit_capabilities(declared, LATEST_LEGACY) == declared
    assert declared_by({"elicitation": None}) == {}


def test_a_modern_request_is_stamped_for_its_caller() -> None:
    meta: dict[str, Any] = {HOPS: 1}
    call = call_with({}, Peer(None, {"roots": {}}, 4))
    stamp_modern(meta, call, LATEST, {"name": "p", "version": "1"}, {"roots": {}}, tasks=True)
    assert meta[PROTOCOL_VERSION] == LATEST.date
    assert meta[CLIENT_CAPABILITIES] == {"roots": {}, "extensions": {TASKS: {}}}
    assert meta[LOG_LEVEL] == "error"

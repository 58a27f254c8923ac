"""Progress rises, keeps its token, and a flood is thinned out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from dovetail.core.call import Call, Peer
from dovetail.core.link import Outgoing
from dovetail.eras.legacy.era import era_of
from dovetail.features.context import ProgressReporter
from dovetail.runtime.link import NullLink
from dovetail.spec.models import Params
from dovetail.spec.revisions import V2024_11_05, V2025_11_25, Revision


class Progress(NullLink):
    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def send(self, message: Outgoing) -> None:
        assert message.params is not None
        self.sent.append(json.loads(bytes(message.params)))


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def call_with(meta: bytes | None, revision: Revision = V2025_11_25) -> tuple[Call, Progress]:
    params = Params() if meta is None else Params(meta=Raw(meta))
    call = Call(b"1", "tools/call", params, era_of(revision), Peer(None, {}, None))
    call.link = outbox = Progress()
    return call, outbox


def values(outbox: Progress) -> list[float]:
    return [params["progress"] for params in outbox.sent]


@pytest.mark.parametrize("token", ["t", "", 0, -5, 2**60])
def test_the_token_comes_back_as_it_came(token: str | int) -> None:
    call, outbox = call_with(json.dumps({"progressToken": token}).encode())
    ProgressReporter(call).report(1, 2, "half")
    assert outbox.sent == [{"progressToken": token, "progress": 1, "total": 2, "message": "half"}]


@pytest.mark.parametrize("meta", [None, b"{}", b'{"progressToken":true}', b'{"progressToken":1.5}'])
def test_without_a_token_nothing_is_sent(meta: bytes | None) -> None:
    call, outbox = call_with(meta)
    ProgressReporter(call).report(1, None, None)
    assert outbox.sent == []


def test_values_only_ever_rise() -> None:
    call, outbox = call_with(b'{"progressToken":1}')
    reporter = ProgressReporter(call)
    for done in (0, 0, 2, 1, 2, 2.5, -1, 3):
        reporter.report(done, None, None)
    assert values(outbox) == [0, 2, 2.5, 3]


@pytest.mark.parametrize("done", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_of_json_is_not_sent(done: float) -> None:
    call, outbox = call_with(b'{"progressToken":1}')
    reporter = ProgressReporter(call)
    reporter.report(done, None, None)
    reporter.report(1, done, None)
    reporter.report(2, None, None)
    assert outbox.sent == [
        {"progressToken": 1, "progress": 1},
        {"progressToken": 1, "progress": 2},
    ]


def test_a_message_is_left_out_where_the_revision_has_none() -> None:
    call, outbox = call_with(b'{"progressToken":1}', V2024_11_05)
    ProgressReporter(call).report(1, None, "half")
    assert outbox.sent == [{"progressToken": 1, "progress": 1}]


def test_a_flood_is_thinned_to_fifty_at_once_then_fifty_a_second_and_the_last() -> None:
    call, outbox = call_with(b'{"progressToken":1}')
    clock = Clock()
    reporter = ProgressReporter(call, clock)
    for done in range(60):
        reporter.report(done, 1000, None)
    assert values(outbox) == list(range(50))
    clock.now += 0.03
    reporter.report(60, 1000, None)
    reporter.report(61, 1000, None)
    assert values(outbox)[50:] == [60]
    reporter.report(1000, 1000, None)
    assert values(outbox)[51:] == [1000]


def test_time_without_progress_saves_up_no_more_than_one_burst() -> None:
    call, outbox = call_with(b'{"progressToken":1}')
    clock = Clock()
    reporter = ProgressReporter(call, clock)
    clock.now += 3600
    for done in range(100):
        reporter.report(done, None, None)
    assert len(outbox.sent) == 50


def test_any_report_is_a_sign_of_life() -> None:
    call, _ = call_with(None)
    signs: list[int] = []
    call.on_activity = lambda: signs.append(1)
    reporter = ProgressReporter(call)
    reporter.report(1, None, None)
    reporter.report(1, None, None)
    assert signs == [1, 1]

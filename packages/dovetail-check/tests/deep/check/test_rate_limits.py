"""A server that limits the rate gets no false failure: the checker waits and slows down."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest

from dovetail.spec.revisions import REVISIONS, Revision
from dovetail_check.audit import Audit, AuditOptions
from dovetail_check.connections import throttle
from dovetail_check.judging import judge_recording
from dovetail_check.recording import Recording
from dovetail_check.rules import tasks_results
from dovetail_check.targets import CheckTarget
from dovetail_check.verdicts import Verdict
from tests.check.saboteur.over_http import app
from tests.deep.check.test_matrix import show
from tests.deep.check.test_safety import served
from tests.patience import CAP


class Limited:
    """The healthy server behind a token bucket."""

    def __init__(self, rate: float, burst: float, reject: Callable[[], tuple[int, Any]]) -> None:
        self._rate, self._burst = rate, burst
        self._tokens, self._at = burst, time.monotonic()
        self._reject = reject
        self.rejected = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not self._take():
            self.rejected += 1
            status, headers = self._reject()
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": b"too many requests"})
            return
        await app(scope, receive, send)

    def _take(self) -> bool:
        now = time.monotonic()
        self._tokens = min(self._tokens + (now - self._at) * self._rate, self._burst) - 1
        self._at = now
        if self._tokens >= 0:
            return True
        self._tokens += 1
        return False


def plain() -> tuple[int, Any]:
    return 429, [(b"content-type", b"text/plain"), (b"retry-after", b"1")]


def dated() -> tuple[int, Any]:
    """Retry-After may be a date, and 503 with it means the same."""
    return 503, [(b"retry-after", formatdate(time.time() + 1, usegmt=True).encode())]


def never() -> tuple[int, Any]:
    return 429, [(b"retry-after", b"3600")]


def check(limited: Limited, revision: Revision) -> Recording:
    with served(limited) as url:
        target = CheckTarget(transport="http", url=f"{url}/healthy/mcp")
        options = AuditOptions(revisions=(revision,), timeout=60.0)
        return asyncio.run(Audit(target, options).run())


def deviations(recording: Recording) -> list[str]:
    return [
        show(report)
        for report in judge_recording(recording)
        if report.verdict in (Verdict.FAIL, Verdict.WARN)
    ]


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine every answer is slow."""
    monkeypatch.setattr(tasks_results, "SLOW", CAP)


@pytest.mark.parametrize(("revision", "reject"), [(REVISIONS[-1], plain), (REVISIONS[-2], dated)])
def test_the_checker_honours_retry_after(
    revision: Revision, reject: Callable[[], tuple[int, Any]]
) -> None:
    limited = Limited(40, 20, reject)
    recording = check(limited, revision)
    assert limited.rejected
    assert deviations(recording) == []
    # The requests were sent again, so that the rows were observed.
    [report] = judge_recording(recording, only=["base.error.method-not-found"])
    assert report.verdict is Verdict.PASS


def test_what_could_not_be_observed_is_not_observed() -> None:
    limited = Limited(0, 25, never)
    recording = check(limited, REVISIONS[-1])
    assert limited.rejected
    assert deviations(recording) == []
    [report] = judge_recording(recording, only=["http2.method.unknown-404"])
    assert report.verdict is Verdict.NOT_OBSERVED


def test_a_server_that_is_always_busy_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "_MAX_TOTAL", 0.5)
    limited = Limited(0, 25, lambda: (429, []))
    assert deviations(check(limited, REVISIONS[-2])) == []

from __future__ import annotations

import time
from email.utils import formatdate
from typing import Any

import pytest

from dovetail_check.connections import throttle
from dovetail_check.connections.throttle import Throttle
from dovetail_check.exchanges import Exchange
from dovetail_check.frames import Frame


def busy(status: int = 429, after: str | None = "1") -> Exchange:
    place: dict[str, Any] = {"session": "http test", "connection": "main"}
    headers = () if after is None else (("Retry-After", after),)
    head = Frame(n=1, at=0.0, kind="received", of=0, status=status, headers=headers, **place)
    return Exchange(Frame(n=0, at=0.0, kind="sent", **place), [head])


@pytest.mark.parametrize(
    ("exchange", "is_retried"),
    [
        (busy(), True),
        (busy(after=None), True),
        (busy(after="soon"), True),
        (busy(after=formatdate(time.time() + 5, usegmt=True)), True),
        (busy(503), True),
        (busy(503, None), False),
        (busy(200), False),
        (busy(after="3600"), False),
    ],
)
def test_a_busy_server_is_asked_again(exchange: Exchange, is_retried: bool) -> None:
    assert Throttle().should_retry(exchange) is is_retried


def test_the_total_wait_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "_MAX_TOTAL", 0.0)
    limited = Throttle()
    assert limited.should_retry(busy())
    assert not limited.should_retry(busy())

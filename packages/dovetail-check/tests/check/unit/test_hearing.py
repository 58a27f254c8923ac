"""What counts as heard: messages, and each of them once."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.spec.revisions import LATEST_LEGACY
from dovetail_check.exchanges import NO_JSON, Exchange
from dovetail_check.frames import Frame
from dovetail_check.probe_sessions import ProbeSession

TOLD = '{"jsonrpc":"2.0","method":"notifications/message"}'


def frame(n: int, kind: Any, **more: Any) -> Frame:
    return Frame(n=n, at=0.0, session="http test", line="main", kind=kind, **more)


@pytest.mark.parametrize(
    ("reply", "heard"),
    [
        ({"kind": "received", "text": "{}", "status": 200}, [{}]),
        # JSON that says it is something else is still heard; the rules say what was wrong.
        (
            {
                "kind": "received",
                "text": "{}",
                "status": 200,
                "headers": (("content-type", "text/plain"),),
            },
            [{}],
        ),
        (
            {
                "kind": "received",
                "text": "{",
                "status": 200,
                "headers": (("content-type", "application/json"),),
            },
            [NO_JSON],
        ),
        ({"kind": "received", "text": "Accepted", "status": 202}, []),
        ({"kind": "received", "text": "a line"}, [NO_JSON]),
        ({"kind": "event", "text": "/messages", "event": "endpoint"}, []),
        ({"kind": "event", "text": "a word", "event": "message"}, [NO_JSON]),
        ({"kind": "event", "text": ""}, []),
    ],
)
def test_what_does_not_claim_to_be_a_message_is_not_heard(
    reply: dict[str, Any], heard: list[Any]
) -> None:
    exchange = Exchange(frame(0, "sent"), [frame(1, of=0, **reply)])
    assert [one.value for one in exchange.heard] == heard


@pytest.mark.parametrize(("headers", "is_heard"), [((), True), ((("Last-Event-ID", "1"),), False)])
def test_what_comes_again_is_heard_once(
    headers: tuple[tuple[str, str], ...], is_heard: bool
) -> None:
    frames = [
        frame(0, "sent", method="GET", headers=headers),
        frame(1, "event", of=0, text=TOLD),
    ]
    session = ProbeSession("http", LATEST_LEGACY, frames)
    assert len(session.exchanges[0].heard) == 1
    assert bool(session.heard) is is_heard

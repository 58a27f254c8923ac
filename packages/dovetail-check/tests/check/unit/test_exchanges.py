"""Which values of a reply are messages."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.spec.revisions import LATEST_LEGACY
from dovetail_check.exchanges import NO_JSON, Exchange
from dovetail_check.frames import Frame
from dovetail_check.probe_sessions import ProbeSession

NOTIFICATION = '{"jsonrpc":"2.0","method":"notifications/message"}'


def frame(n: int, kind: Any, **more: Any) -> Frame:
    return Frame(n=n, at=0.0, session="http test", connection="main", kind=kind, **more)


@pytest.mark.parametrize(
    ("reply", "incoming"),
    [
        ({"kind": "received", "text": "{}", "status": 200}, [{}]),
        # JSON with another content type is still a message; a rule reports the content type.
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
def test_text_that_is_not_a_message_is_left_out(reply: dict[str, Any], incoming: list[Any]) -> None:
    exchange = Exchange(frame(0, "sent"), [frame(1, of=0, **reply)])
    assert [one.value for one in exchange.incoming] == incoming


@pytest.mark.parametrize(("headers", "is_listed"), [((), True), ((("Last-Event-ID", "1"),), False)])
def test_repeated_events_of_a_resumed_stream_are_left_out(
    headers: tuple[tuple[str, str], ...], is_listed: bool
) -> None:
    frames = [
        frame(0, "sent", method="GET", headers=headers),
        frame(1, "event", of=0, text=NOTIFICATION),
    ]
    session = ProbeSession("http", LATEST_LEGACY, frames)
    assert len(session.exchanges[0].incoming) == 1
    assert bool(session.incoming) is is_listed
